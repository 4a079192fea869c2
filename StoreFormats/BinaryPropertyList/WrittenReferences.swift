import AtomicStoreSPI
import StoreCodecs

/// The references of nodes that were written as objects of the file, so that each text is searched for once.
struct WrittenReferences {
  private let readers: [EntityReader]
  /// By entity and row; an entity's array is empty until it is needed.
  private var written: [[BinaryPropertyListWriter.Reference?]]

  init(_ nodes: NodeTable) {
    readers = nodes.model.entities.map { nodes.reader(of: $0.index) }
    written = Array(repeating: [], count: readers.count)
  }

  mutating func reference(
    of node: NodeHandle, _ writer: inout BinaryPropertyListWriter
  ) throws(PersistentStoreError) -> BinaryPropertyListWriter.Reference {
    let entity = node.entity
    if written[entity].isEmpty { written[entity] = Array(repeating: nil, count: readers[entity].count) }
    if let known = written[entity][node.row] { return known }
    let reader = readers[entity]
    let reference: BinaryPropertyListWriter.Reference
    if let text = reader.textReference(row: node.row) {
      reference = try writer.string(utf8: text)
    } else {
      reference = try writer.integer(Int128(reader.integerReference(row: node.row) ?? 0))
    }
    written[entity][node.row] = reference
    return reference
  }
}

/// The integer references of all nodes, in one array, 0 for string references: using an entity's reader for each would
/// retain and release all parts of its table, which took longer than the rest of a save.
///
/// `@unchecked Sendable`: each element is written once, by the thread that has its rows, and only read after
/// initialisation.
final class ReferenceNumbers: @unchecked Sendable {
  private let all: UnsafeMutablePointer<Int64>
  /// The start of each entity's part, with one more at the end.
  private let starts: [Int]

  init(of nodes: NodeTable, in pieces: RowPieces) {
    var starts = [0]
    let readers = nodes.model.entities.map { nodes.reader(of: $0.index) }
    for reader in readers { starts.append((starts.last ?? 0) + reader.count) }
    self.starts = starts
    all = .allocate(capacity: max(starts.last ?? 0, 1))
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
  subscript(node: NodeHandle) -> Int64 {
    let place = starts[node.entity] + node.row
    return place >= 0 && place < starts[starts.count - 1] ? all[place] : 0
  }

  /// The references of an entity's rows, in memory that is there as long as this object.
  func numbers(ofEntity index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(UnsafeBufferPointer(start: all + starts[index], count: starts[index + 1] - starts[index]))
  }
}
