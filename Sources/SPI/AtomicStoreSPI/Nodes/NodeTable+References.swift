extension NodeTable {
  /// The greatest integer reference of any node, or 0.
  public var greatestIntegerReference: Int64 {
    var greatest: Int64 = 0
    for table in entities {
      let numbers = table.referenceNumbers.header
      for row in 0..<table.count where table.referenceTexts.map({ !$0.header.pointee.isPresent(row) }) ?? true {
        greatest = max(greatest, numbers.pointee.cell(row, as: Int64.self))
      }
    }
    return greatest
  }

  /// Returns the first integer after a number that no string reference of an entity's hierarchy is the text of. `1` and
  /// `"1"` are different references, but people, and tables to import, cannot tell them apart.
  ///
  /// - Parameters:
  ///   - last: The last number that was given out.
  ///   - entity: An entity of the hierarchy.
  /// - Throws: `.limitExceeded` after the greatest number.
  public func nextIntegerReference(after last: Int64, entity: Int) throws(PersistentStoreError) -> Int64 {
    let lookup = lookups[model.records[entity].root]
    var number = last
    repeat {
      let (next, overflow) = number.addingReportingOverflow(1)
      guard !overflow else { throw PersistentStoreError(.limitExceeded, "all integer references are used up") }
      number = next
    } while lookup.hasText(of: number)
    return number
  }
}
