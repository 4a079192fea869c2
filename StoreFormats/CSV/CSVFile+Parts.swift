import AtomicStoreSPI
import StoreCodecs
import Synchronization

/// Loading the parts of a file at the same time.
extension CSVFile {
  /// Loads a large file in parts that begin with a record.
  ///
  /// - Parameters:
  ///   - entity: As in `NodeTableBuilder.loadParts`.
  ///   - body: Reads the records of a part, and returns whether that went as expected. The header was skipped.
  /// - Returns: False if nothing was loaded: the file is small, or unusual, or there is an error, which reading it on
  ///   one thread reports.
  func loadParts(
    into nodes: NodeTableBuilder, numberingRowsOf entity: Int? = nil,
    _ body: @escaping @Sendable (inout CSVReader, _ isLast: Bool, NodeTableBuilder) throws(PersistentStoreError) -> Bool
  ) -> Bool {
    let ranges = partRanges(nodes.partCount(forInput: bytes.count))
    guard ranges.count > 1 else { return false }
    let bytes = bytes
    let dialect = dialect
    let hasHeader = hasHeader
    return nodes.loadParts(ranges.count, numberingRowsOf: entity) { part, nodes in
      bytes.withUnsafeBytes { raw in
        let text = UnsafeBufferPointer(rebasing: raw.assumingMemoryBound(to: UInt8.self)[..<ranges[part].upperBound])
        do throws(PersistentStoreError) {
          // Only the first part may have a byte-order mark.
          var reader =
            part == 0
            ? try CSVReader(text, dialect: dialect)
            : try CSVReader(text, dialect: dialect, startingAt: ranges[part].lowerBound)
          if part == 0, hasHeader { try CSVStore.skipRecord(&reader) }
          return try body(&reader, part == ranges.count - 1, nodes) ? reader.nextLine - 1 : nil
        } catch {
          return nil
        }
      }
    }
  }

  /// At most that many ranges of bytes, each but the first beginning with a record; none if it cannot be divided.
  func partRanges(_ count: Int) -> [Range<Int>] {
    // A stray quote does not begin a quoted field.
    guard count > 1, !dialect.allowsStrayQuotes else { return [] }
    let size = bytes.count
    let pieces = (0..<count).map { size * $0 / count..<size * ($0 + 1) / count }
    let counts = QuoteCounts(count)
    let bytes = bytes
    ParallelWork.forEach(count, jobs: count) { piece in
      let found = bytes.withUnsafeBytes {
        CSVParts.quoteCount($0.assumingMemoryBound(to: UInt8.self), in: pieces[piece])
      }
      counts.values.withLock { $0[piece] = found }
    }
    return bytes.withUnsafeBytes {
      CSVParts.ranges(
        $0.assumingMemoryBound(to: UInt8.self), pieces: pieces, quoteCounts: counts.values.withLock { $0 })
    }
  }
}

private final class QuoteCounts: Sendable {
  let values: Mutex<[Int]>
  init(_ count: Int) { values = Mutex(Array(repeating: 0, count: count)) }
}
