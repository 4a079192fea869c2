import AtomicStoreSPI

/// The numbers by which relationships name objects in a file.
protocol NodeNumbers: Sendable {
  /// Of as many bytes as each number has in the file.
  associatedtype Number: FixedWidthInteger & BitwiseCopyable & Sendable
  func number(_ node: NodeHandle) -> Number
}

/// The integer references of all nodes, in one array, 0 for string references: using an entity's reader for each would
/// retain and release all parts of its table, which took longer than the rest of a save.
///
/// `@unchecked Sendable`: each element is written once, by the thread that has its rows, and only read after
/// initialization.
final class ReferenceNumbers: NodeNumbers, @unchecked Sendable {
  private let all: UnsafeMutablePointer<Int64>
  /// The start of each entity's part, with one more at the end.
  private let starts: [Int]
  private let count: Int

  init(of nodes: NodeTable, in pieces: RowPieces) {
    var starts = [0]
    let readers = nodes.model.entities.map { nodes.reader(of: $0.index) }
    for reader in readers { starts.append((starts.last ?? 0) + reader.count) }
    self.starts = starts
    count = starts.last ?? 0
    all = .allocate(capacity: max(count, 1))
    for (reader, start) in zip(readers, starts) where reader.count > 0 {
      let place = Place(start: all + start)
      let ranges = pieces.ranges(0..<reader.count)
      ParallelWork.forEach(ranges.count, jobs: pieces.jobs(reader.count)) { number in
        for row in ranges[number] {
          (place.start + row).initialize(to: reader.integerReference(row: row) ?? 0)
        }
      }
    }
  }

  deinit { all.deallocate() }

  /// Where the numbers of an entity go.
  ///
  /// `@unchecked Sendable`: see above.
  private struct Place: @unchecked Sendable {
    let start: UnsafeMutablePointer<Int64>
  }

  /// The reference of a node; 0 if there is no such node.
  func number(_ node: NodeHandle) -> Int64 {
    let place = starts[node.entity] + node.row
    return place >= 0 && place < count ? all[place] : 0
  }

  /// The references of an entity's rows, in memory that is there as long as this object.
  func numbers(ofEntity index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(UnsafeBufferPointer(start: all + starts[index], count: starts[index + 1] - starts[index]))
  }
}
