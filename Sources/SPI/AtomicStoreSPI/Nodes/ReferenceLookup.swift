import Synchronization

/// Maps references to nodes, for one entity hierarchy.
struct ReferenceLookup: Sendable {
  /// The references of a store that was loaded, if they are consecutive and none was removed since.
  private var runs = ReferenceRuns()
  /// An array, starting at the least reference, for references that are close together, as consecutive numbers are.
  private var base: Int64 = 0
  private var dense: [UInt64] = []
  private var sparse = SparseNodes()
  private var texts = TextNumbers()
  /// By the number of the text; null where no node has it.
  private var textNodes: [UInt64] = []
  /// The string references, until one of them changes; nil if they are in ``texts``.
  private var columns: ReferenceColumns?
  private(set) var count = 0

  init() {}

  init(_ runs: ReferenceRuns) {
    self.runs = runs
    count = runs.count
  }

  /// Reserves room for `count` integer references from `least` to `greatest`: in the array if little of it is wasted.
  init(expecting count: Int, least: Int64, greatest: Int64) {
    guard count > 0 else { return }
    let (spread, overflow) = greatest.subtractingReportingOverflow(least)
    if !overflow, spread < Self.greatestSpread(count) {
      base = least
      dense = [UInt64](repeating: NodeHandle.nullBits, count: Int(spread) + 1)
    } else {
      sparse = SparseNodes(expecting: count)
    }
  }

  /// Finds the string references of tables by their columns, instead of a table that is made now. They are unique, and
  /// no row that has one is deleted.
  mutating func findTexts(in tables: [(entity: Int, column: Column, rows: Int)]) {
    if !tables.isEmpty { columns = ReferenceColumns(tables) }
  }

  /// How long the array may be for that many references.
  private static func greatestSpread(_ count: Int) -> Int64 { Int64(count) * 4 + 64 }

  @inline(__always) subscript(number: Int64) -> NodeHandle? {
    if !runs.isEmpty, let node = runs[number] { return node }
    let (place, overflow) = number.subtractingReportingOverflow(base)
    if !overflow, place >= 0, place < Int64(dense.count) {
      let bits = dense[Int(place)]
      if bits != NodeHandle.nullBits { return NodeHandle(bits: bits) }
    }
    return sparse.isEmpty ? nil : sparse[number].map { NodeHandle(bits: $0) }
  }

  /// What most references to objects of an entity are found in.
  func cellRun(of entity: Int, model: ManagedObjectModel) -> ReferenceCellRun {
    ReferenceCellRun(of: entity, in: runs, model: model)
  }

  /// The node with the text that has this number.
  @inline(__always) private subscript(textNumber number: Int) -> NodeHandle? {
    guard number < textNodes.count, textNodes[number] != NodeHandle.nullBits else { return nil }
    return NodeHandle(bits: textNodes[number])
  }

  subscript(reference: ReferenceObject) -> NodeHandle? {
    switch reference {
    case .integer(let number): self[number]
    case .string(let text):
      text.withBytes { bytes in
        columns.map { $0.node(bytes) } ?? texts.number(of: bytes).flatMap { self[textNumber: $0] }
      }
    }
  }

  /// Whether the text of a number is a string reference.
  func hasText(of number: Int64) -> Bool {
    if let columns { return columns.hasText(of: number) }
    return !textNodes.isEmpty && self[.string(String(number))] != nil
  }

  /// Moves the references of runs to the array, from which one can be removed.
  private mutating func takeRuns() {
    let all = runs.all
    guard let first = all.first, let last = all.last else { return }
    var table = Self(expecting: runs.count, least: first.first, greatest: last.first + Int64(last.count - 1))
    for run in all {
      for place in 0..<run.count {
        _ = table.insert(run.first + Int64(place), NodeHandle(entity: run.node.entity, row: run.node.row + place))
      }
    }
    // What was added since.
    for (place, bits) in dense.enumerated() where bits != NodeHandle.nullBits {
      _ = table.insert(base + Int64(place), NodeHandle(bits: bits))
    }
    for (number, bits) in sparse.all { _ = table.insert(number, NodeHandle(bits: bits)) }
    (runs, base, dense, sparse) = (ReferenceRuns(), table.base, table.dense, table.sparse)
  }

  /// Makes the table of string references that can change.
  private mutating func takeTexts() {
    guard let columns else { return }
    (texts, textNodes) = columns.table
    self.columns = nil
  }

  /// Adds a node. If another node has the reference, returns that one and adds nothing.
  mutating func insert(_ number: Int64, _ handle: NodeHandle) -> NodeHandle? {
    if let taken = self[number] { return taken }
    // A table that starts empty starts at its first reference.
    if dense.isEmpty { base = number }
    count += 1
    let (place, overflow) = number.subtractingReportingOverflow(base)
    if !overflow, place >= 0, place < Int64(dense.count) {
      dense[Int(place)] = handle.bits
    } else if !overflow, place >= 0, place < Self.greatestSpread(count - runs.count) {
      // Some numbers that are not used take less room than a dictionary.
      while Int64(dense.count) < place { dense.append(NodeHandle.nullBits) }
      dense.append(handle.bits)
    } else {
      sparse[number] = handle.bits
    }
    return nil
  }

  /// Adds the nodes of an entity's rows, up to the first whose number is not within the array, or is that of another
  /// node. Returns how many were added.
  mutating func insert(_ numbers: UnsafePointer<Int64>, rows: Int, entity: Int) -> Int {
    guard sparse.isEmpty else { return 0 }
    let base = base
    let added = dense.withUnsafeMutableBufferPointer { dense in
      for row in 0..<rows {
        let (place, overflow) = numbers[row].subtractingReportingOverflow(base)
        guard !overflow, place >= 0, place < Int64(dense.count), dense[Int(place)] == NodeHandle.nullBits else {
          return row
        }
        dense[Int(place)] = NodeHandle(entity: entity, row: row).bits
      }
      return rows
    }
    count += added
    return added
  }

  /// Adds a node with the text that has this number.
  private mutating func insert(textNumber number: Int, _ handle: NodeHandle) -> NodeHandle? {
    while textNodes.count <= number { textNodes.append(NodeHandle.nullBits) }
    if let taken = self[textNumber: number] { return taken }
    count += 1
    textNodes[number] = handle.bits
    return nil
  }

  mutating func insert(_ text: UnsafeBufferPointer<UInt8>, _ handle: NodeHandle) -> NodeHandle? {
    takeTexts()
    return insert(textNumber: texts.add(text), handle)
  }

  mutating func insert(_ reference: ReferenceObject, _ handle: NodeHandle) -> NodeHandle? {
    switch reference {
    case .integer(let number): insert(number, handle)
    case .string(let text): text.withBytes { insert($0, handle) }
    }
  }

  mutating func remove(_ reference: ReferenceObject) {
    guard self[reference] != nil else { return }
    count -= 1
    switch reference {
    case .integer(let number):
      if !runs.isEmpty, runs[number] != nil { takeRuns() }
      let (place, overflow) = number.subtractingReportingOverflow(base)
      if !overflow, place >= 0, place < Int64(dense.count), dense[Int(place)] != NodeHandle.nullBits {
        dense[Int(place)] = NodeHandle.nullBits
      } else {
        sparse[number] = nil
      }
    case .string(let text):
      takeTexts()
      // The text keeps its number, for when an object has it again.
      if let number = text.withBytes({ texts.number(of: $0) }) { textNodes[number] = NodeHandle.nullBits }
    }
  }
}

/// String references that are in columns of tables. The hash table that finds them is made when one is searched for:
/// a store that is only converted or listed needs none.
private final class ReferenceColumns: Sendable {
  private let tables: [(entity: Int, column: Column, rows: Int)]
  private let found = AtomicLazyReference<Found>()
  private let numbers = AtomicLazyReference<Numbers>()
  private final class Found: Sendable {
    let texts: TextNumbers
    let nodes: [UInt64]

    init(_ tables: [(entity: Int, column: Column, rows: Int)]) {
      var texts = TextNumbers()
      var nodes: [UInt64] = []
      var batch = TextBatch()
      var waiting: [UInt64] = []
      func take() {
        // The first object with a text has it, should a second one be there.
        for (number, bits) in zip(batch.takeNumbers(from: &texts), waiting) where number == nodes.count {
          nodes.append(bits)
        }
        waiting.removeAll(keepingCapacity: true)
      }
      texts.reserve(tables.reduce(0) { $0 + $1.rows })
      for (entity, column, rows) in tables {
        for row in 0..<min(rows, column.header.pointee.capacity) where column.header.pointee.isPresent(row) {
          batch.append(column.header.pointee.bytes(row))
          waiting.append(NodeHandle(entity: entity, row: row).bits)
          if batch.isFull { take() }
        }
      }
      take()
      self.texts = texts
      self.nodes = nodes
    }
  }

  /// The numbers that are the text of a reference, ascending. Few stores have any; a table of all texts is not needed
  /// to find them.
  private final class Numbers: Sendable {
    let ascending: [Int64]

    init(_ tables: [(entity: Int, column: Column, rows: Int)]) {
      var numbers: [Int64] = []
      for (_, column, rows) in tables {
        for row in 0..<min(rows, column.header.pointee.capacity) where column.header.pointee.isPresent(row) {
          if let number = Self.number(column.header.pointee.bytes(row)) { numbers.append(number) }
        }
      }
      ascending = numbers.sorted()
    }

    /// The number that is written exactly like this.
    private static func number(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
      // Most texts end here.
      guard let first = text.first, first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") < 10, text.count <= 20
      else {
        return nil
      }
      let written = String(decoding: text, as: UTF8.self)
      guard let number = Int64(written), String(number) == written else { return nil }
      return number
    }

    func contains(_ number: Int64) -> Bool {
      var (first, end) = (0, ascending.count)
      while first < end {
        let middle = first + (end - first) / 2
        if ascending[middle] < number { first = middle + 1 } else { end = middle }
      }
      return first < ascending.count && ascending[first] == number
    }
  }

  init(_ tables: [(entity: Int, column: Column, rows: Int)]) { self.tables = tables }

  func hasText(of number: Int64) -> Bool {
    (numbers.load() ?? numbers.storeIfNil(Numbers(tables))).contains(number)
  }

  private var all: Found { found.load() ?? found.storeIfNil(Found(tables)) }

  func node(_ text: UnsafeBufferPointer<UInt8>) -> NodeHandle? {
    let all = all
    return all.texts.number(of: text).map { NodeHandle(bits: all.nodes[$0]) }
  }

  var table: (texts: TextNumbers, nodes: [UInt64]) { (all.texts, all.nodes) }
}
