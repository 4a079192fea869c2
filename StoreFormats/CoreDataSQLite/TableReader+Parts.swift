import AtomicStoreSPI
import CSQLite
import Synchronization

/// Reading the parts of a large table at the same time.
extension TableReader {
  /// A range of keys, and what was read of it.
  private struct Part {
    var lookup = KeyLookup()
    var lists: [MemberList]
    /// The number of thousands of steps that it took.
    var steps = 0
  }

  /// Reads a large table in parts, each with its own connection. The result is the same as that of reading it in
  /// one pass.
  ///
  /// - Returns: Nil if nothing was read: the table is small, or unusual, or there is an error, which reading it in one
  ///   pass reports.
  mutating func readParts(into lists: inout [MemberList], from firstList: Int) -> KeyLookup? {
    guard isDividable, let (ranges, count) = try? divided(), ranges.count > 1 else { return nil }
    let parts = ParallelResults<Part>(ranges.count)
    let template = Template(reader: self, lists: lists, tally: RowTally(rows: count, parts: ranges.count))
    let firstRows = nodes.model.entities.map { nodes.count(of: $0.index) }
    let steps = database.stepsLeft / ranges.count
    let isRead = nodes.loadParts(ranges.count) { [count = ranges.count] number, nodes in
      guard let part = template.read(ranges[number], into: nodes, steps: steps, of: count) else { return nil }
      parts[number] = part
      return 0
    }
    guard isRead else { return nil }
    var lookup = KeyLookup()
    lookup.reserve(parts.all.reduce(0) { $0 + $1.lookup.count })
    var rows = firstRows
    for part in parts.all {
      lookup.append(part.lookup, startingAt: &rows)
      for list in lists.indices.dropFirst(firstList) { lists[list].append(part.lists[list]) }
      database.spend(part.steps)
    }
    return lookup
  }

  /// Whether parts give all that a pass gives: nothing is read besides the table, and a range of keys is found quickly.
  private var isDividable: Bool {
    found.rowKey != nil && found.rowKey == found.column(named: "Z_PK") && sqlite3_threadsafe() != 0
      && !plans.values.contains { $0.fields.contains { $0.isExternal } }
  }

  /// Ranges of keys that together have all, and about as many rows each; and the number of rows of the table.
  ///
  /// With its own connection: which damage SQLite reports depends on what a connection read before.
  private func divided() throws(PersistentStoreError) -> (ranges: [ClosedRange<Int64>], rowCount: Int64) {
    let own = try database.twin()
    let ranges = try ranges(own)
    guard ranges.count > 1 else { return ([], 0) }
    let rows = try own.prepare(
      "SELECT count(*) FROM \(SQLiteDatabase.quoted(found.name)) NOT INDEXED", StoreLocation(file: database.file))
    return (ranges, try rows.step() ? rows.integer(0) : 0)
  }

  private func ranges(_ database: SQLiteDatabase) throws(PersistentStoreError) -> [ClosedRange<Int64>] {
    let place = StoreLocation(file: database.file)
    let name = SQLiteDatabase.quoted(found.name)
    // Each is found at an end of the tree.
    let least = try database.prepare("SELECT min(Z_PK) FROM \(name) NOT INDEXED", place)
    let greatest = try database.prepare("SELECT max(Z_PK) FROM \(name) NOT INDEXED", place)
    guard try least.step(), try greatest.step(), !least.isNull(0) else { return [] }
    let (first, last) = (least.integer(0), greatest.integer(0))
    let (width, overflow) = last.subtractingReportingOverflow(first)
    guard !overflow, width > 0, width < Int64(1) << 40 else { return [] }
    let rowSize = Int64(16 + 4 * found.columns.count)
    let count = Int64(nodes.partCount(forInput: min(database.image.count, Int(clamping: width * rowSize))))
    guard count > 1, width > count else { return [] }
    let starts = (0..<count).map { $0 == 0 ? Int64.min : first + width / count * $0 }
    return starts.indices.map { starts[$0]...($0 + 1 < starts.count ? starts[$0 + 1] - 1 : .max) }
  }

  /// Counts the rows of all parts: in a damaged tree, the search for a range can miss what a pass finds.
  private final class RowTally: Sendable {
    private let rows: Atomic<Int64>
    private let parts: Atomic<Int>

    init(rows: Int64, parts: Int) {
      self.rows = Atomic(rows)
      self.parts = Atomic(parts)
    }

    /// Takes off the rows of a part, and returns false for the last part if the parts do not have all rows together.
    func isRight(afterReading count: Int) -> Bool {
      rows.subtract(Int64(count), ordering: .acquiringAndReleasing)
      let left = parts.subtract(1, ordering: .acquiringAndReleasing).newValue
      return left > 0 || rows.load(ordering: .acquiring) == 0
    }
  }

  /// What the parts have in common.
  ///
  /// `@unchecked Sendable`: everything is constant. A part copies the reader, and gives the copy its own database and
  /// nodes before it uses it; the source and external data, which the copies share, are not used.
  private struct Template: @unchecked Sendable {
    let reader: TableReader
    let lists: [MemberList]
    let tally: RowTally

    func read(_ range: ClosedRange<Int64>, into nodes: NodeTableBuilder, steps: Int, of count: Int) -> Part? {
      do throws(PersistentStoreError) {
        var reader = reader
        let database = try SQLiteDatabase(
          reader.database.image, file: reader.database.file, limits: reader.database.limits, steps: steps)
        reader.database = database
        reader.nodes = nodes
        var part = Part(lists: lists.map { MemberList(entity: $0.entity, slot: $0.slot, isOrdered: $0.isOrdered) })
        part.lookup.reserve(reader.expectedRows / count)
        try reader.readRows(in: range, &part.lookup, &part.lists)
        // SQLite looks at the lower bound only to find where to begin, which a damaged tree can lead astray.
        guard part.lookup.firstKey.map({ $0 >= range.lowerBound }) ?? true else { return nil }
        guard reader.strays.isEmpty, tally.isRight(afterReading: part.lookup.count) else { return nil }
        part.steps = steps - database.stepsLeft
        return part
      } catch { return nil }
    }
  }
}
