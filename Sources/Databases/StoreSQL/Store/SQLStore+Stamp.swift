import AtomicStoreSPI

/// Requests of a store whose tables another process may replace, or migrate, at any time.
///
/// Numbers of entities and names of columns are those of the model that the store was opened with. So each query has
/// the condition that the tables are still the same, which costs no round trip: of other tables it finds nothing, and
/// after an empty answer the name of the tables is read.
extension SQLStore {
  /// The condition of a query, with the `AND` behind it.
  var sameTables: String {
    // Tables of the first versions have no name.
    guard !stamp.isEmpty else { return "" }
    let digits = stamp.utf8.map { byte in
      let text = String(byte, radix: 16)
      return text.utf8.count < 2 ? "0" + text : text
    }.joined()
    let literal = Self.dialect.isSQLite ? "x'\(digits)'" : "'\\x\(digits)'"
    return "(SELECT value FROM \(Self.metadataTable) WHERE key = 'stamp') = \(literal) AND"
  }

  /// Answers a request.
  ///
  /// - Parameter isDoubtful: Whether the answer may be one by other tables: it has less than could be there.
  /// - Throws: `.unavailable` if the tables are others by now, also where `body` fails because of that.
  func answering<Answer>(
    isDoubtful: (Answer) -> Bool, _ body: () throws(PersistentStoreError) -> Answer
  ) throws(PersistentStoreError) -> Answer {
    let answer: Answer
    do throws(PersistentStoreError) { answer = try body() } catch {
      // If they cannot be looked at, the first error is the one to report.
      if let now = try? Self.stamp(in: database), now != stamp { try checkStamp() }
      throw named(error)
    }
    if isDoubtful(answer) { try checkStamp() }
    return answer
  }
}
