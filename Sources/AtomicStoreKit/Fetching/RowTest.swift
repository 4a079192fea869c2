import AtomicStoreSPI
import FoundationEssentials

/// A predicate compiled against the slots of one entity: run over columns, without making an object.
///
/// What cannot be compiled is run on objects by ``PredicateEvaluator``; both give the same answers, which a test holds
/// them to.
indirect enum RowTest {
  case constant(Bool)
  case and([RowTest])
  case or([RowTest])
  case not(RowTest)
  /// Null, or not.
  case null(slot: Int, Bool)
  /// An integer within bounds, or outside them; what null gives.
  case integers(slot: Int, low: Int64, high: Int64, isOutside: Bool, null: Bool)
  case integerSet(slot: Int, Set<Int64>, null: Bool)
  case doubles(slot: Int, Order, Double, null: Bool)
  case boolean(slot: Int, Bool, null: Bool)
  case text(slot: Int, TextTest, null: Bool)
  /// A to-one that leads to a node, or not to it.
  case destination(slot: Int, UInt64, isOther: Bool)
  /// The test of the object that a to-one leads to, by entity; what no object gives.
  case through(slot: Int, [Int: RowTest], null: Bool)
  /// One object of a to-many at least, or every one.
  case some(slot: Int, [Int: RowTest])
  case every(slot: Int, [Int: RowTest])
  /// How many objects a to-many has.
  case count(slot: Int, low: Int64, high: Int64, isOutside: Bool)

  enum Order { case less, lessOrEqual, equal, notEqual, greaterOrEqual, greater }

  // MARK: Running

  /// A byte for each row of the entity: 1 where the test holds.
  func run(_ version: NodeVersion, entity: Int) -> [UInt8] {
    let rows = version.rowCount(of: entity)
    switch self {
    case .constant(let flag): return [UInt8](repeating: flag ? 1 : 0, count: rows)
    case .and(let parts):
      guard var mask = parts.first?.run(version, entity: entity) else { return [UInt8](repeating: 1, count: rows) }
      for part in parts.dropFirst() {
        let next = part.run(version, entity: entity)
        for row in 0..<rows { mask[row] &= next[row] }
      }
      return mask
    case .or(let parts):
      guard var mask = parts.first?.run(version, entity: entity) else { return [UInt8](repeating: 0, count: rows) }
      for part in parts.dropFirst() {
        let next = part.run(version, entity: entity)
        for row in 0..<rows { mask[row] |= next[row] }
      }
      return mask
    case .not(let part):
      var mask = part.run(version, entity: entity)
      for row in 0..<rows { mask[row] ^= 1 }
      return mask
    default: return leaf(version, entity, rows)
    }
  }

  private func leaf(_ version: NodeVersion, _ entity: Int, _ rows: Int) -> [UInt8] {
    func column(_ slot: Int) -> ColumnView { version.column(entity: entity, slot: slot) }
    func fill(_ body: (Int) -> Bool) -> [UInt8] {
      [UInt8](unsafeUninitializedCapacity: rows) { buffer, count in
        for row in 0..<rows { buffer[row] = body(row) ? 1 : 0 }
        count = rows
      }
    }
    return withExtendedLifetime(version) {
      switch self {
      case .constant, .and, .or, .not: return []
      case .null(let slot, let wanted):
        let column = column(slot)
        switch column.layout {
        case .bytes: return fill { (column.bytes($0) == nil) == wanted }
        case .toOne: return fill { (column.handle($0) == .max) == wanted }
        case .toMany: return fill { column.handles($0).isEmpty == wanted }
        default: return fill { column.isPresent($0) != wanted }
        }
      case .integers(let slot, let low, let high, let isOutside, let null):
        let column = column(slot)
        func test<Value: FixedWidthInteger & BitwiseCopyable>(_: Value.Type) -> [UInt8] {
          fill { row in
            guard column.isPresent(row) else { return null }
            let value = Int64(column.cells.load(fromByteOffset: row &* MemoryLayout<Value>.size, as: Value.self))
            return (value >= low && value <= high) != isOutside
          }
        }
        switch column.layout {
        case .integer16: return test(Int16.self)
        case .integer32: return test(Int32.self)
        default: return test(Int64.self)
        }
      case .integerSet(let slot, let set, let null):
        let column = column(slot)
        return fill { row in
          guard column.isPresent(row) else { return null }
          switch column.layout {
          case .integer16: return set.contains(Int64(column.cells.load(fromByteOffset: row &* 2, as: Int16.self)))
          case .integer32: return set.contains(Int64(column.cells.load(fromByteOffset: row &* 4, as: Int32.self)))
          default: return set.contains(column.cells.load(fromByteOffset: row &* 8, as: Int64.self))
          }
        }
      case .doubles(let slot, let order, let bound, let null):
        let column = column(slot)
        func value(_ row: Int) -> Double {
          column.layout == .float
            ? Double(column.cells.load(fromByteOffset: row &* 4, as: Float.self))
            : column.cells.load(fromByteOffset: row &* 8, as: Double.self)
        }
        switch order {
        case .less: return fill { column.isPresent($0) ? value($0) < bound : null }
        case .lessOrEqual: return fill { column.isPresent($0) ? value($0) <= bound : null }
        case .equal: return fill { column.isPresent($0) ? value($0) == bound : null }
        case .notEqual: return fill { column.isPresent($0) ? value($0) != bound : null }
        case .greaterOrEqual: return fill { column.isPresent($0) ? value($0) >= bound : null }
        case .greater: return fill { column.isPresent($0) ? value($0) > bound : null }
        }
      case .boolean(let slot, let wanted, let null):
        let column = column(slot)
        return fill { row in
          column.isPresent(row) ? (column.cells.load(fromByteOffset: row, as: UInt8.self) != 0) == wanted : null
        }
      case .text(let slot, let test, let null):
        let column = column(slot)
        return fill { row in column.bytes(row).map { test.holds($0) } ?? null }
      case .destination(let slot, let bits, let isOther):
        let column = column(slot)
        return fill { (column.handle($0) == bits) != isOther }
      case .through(let slot, let tests, let null):
        let column = column(slot)
        let masks = Self.masks(tests, version)
        return fill { row in
          let bits = column.handle(row)
          guard bits != .max else { return null }
          return Self.holds(masks, bits)
        }
      case .some(let slot, let tests), .every(let slot, let tests):
        let column = column(slot)
        let masks = Self.masks(tests, version)
        let isSome = if case .some = self { true } else { false }
        return fill { row in
          for bits in column.handles(row) where Self.holds(masks, bits) == isSome { return isSome }
          return !isSome
        }
      case .count(let slot, let low, let high, let isOutside):
        let column = column(slot)
        return fill { row in
          let count = Int64(column.handles(row).count)
          return (count >= low && count <= high) != isOutside
        }
      }
    }
  }

  @inline(__always) private static func holds(_ masks: [[UInt8]], _ bits: UInt64) -> Bool {
    let mask = masks[Int(bits >> 32)]
    let row = Int(bits & 0xFFFF_FFFF)
    return row < mask.count && mask[row] != 0
  }

  private static func masks(_ tests: [Int: RowTest], _ version: NodeVersion) -> [[UInt8]] {
    var masks = [[UInt8]](repeating: [], count: version.nodes.model.entityCount)
    for (entity, test) in tests { masks[entity] = test.run(version, entity: entity) }
    return masks
  }
}

/// A test of a text's bytes.
struct TextTest {
  let comparator: FetchPredicate.Comparator
  let options: FetchPredicate.Options
  /// The other text; folded where the options ask for it.
  let other: [UInt8]
  private let original: String
  /// For IN.
  let others: [[UInt8]]

  init(_ comparator: FetchPredicate.Comparator, _ options: FetchPredicate.Options, _ text: String) {
    self.comparator = comparator
    self.options = options
    original = text
    other = Array(StringComparison.folded(text, options).utf8)
    others = []
  }
  init(in texts: [String], _ options: FetchPredicate.Options) {
    comparator = .isIn
    self.options = options
    original = ""
    other = []
    others = texts.map { Array(StringComparison.folded($0, options).utf8) }
  }

  func holds(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    if comparator == .like || comparator == .matches { return slowly(bytes) }
    if options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) { return compare(bytes) }
    // Plain letters are folded on the fly; everything else by the tables.
    let isPlain = bytes.allSatisfy { $0 < 0x80 }
    if isPlain, !options.contains(.caseInsensitive) { return compare(bytes) }
    if isPlain, bytes.count <= 256 {
      return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: max(bytes.count, 1)) { buffer in
        for (place, byte) in bytes.enumerated() { buffer[place] = byte &- 0x41 < 26 ? byte | 0x20 : byte }
        return compare(UnsafeBufferPointer(rebasing: UnsafeBufferPointer(buffer)[0..<bytes.count]))
      }
    }
    return Array(StringComparison.folded(String(decoding: bytes, as: UTF8.self), options).utf8)
      .withUnsafeBufferPointer { compare($0) }
  }

  private func compare(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    switch comparator {
    case .equal: return bytes.count == other.count && bytes.elementsEqual(other)
    case .notEqual: return bytes.count != other.count || !bytes.elementsEqual(other)
    case .less: return bytes.lexicographicallyPrecedes(other)
    case .greaterOrEqual: return !bytes.lexicographicallyPrecedes(other)
    case .greater: return other.lexicographicallyPrecedes(bytes)
    case .lessOrEqual: return !other.lexicographicallyPrecedes(bytes)
    case .beginsWith: return bytes.count >= other.count && bytes.prefix(other.count).elementsEqual(other)
    case .endsWith: return bytes.count >= other.count && bytes.suffix(other.count).elementsEqual(other)
    case .contains: return other.withUnsafeBufferPointer { StringComparison.contains(bytes, $0) }
    case .isIn: return others.contains { $0.count == bytes.count && $0.elementsEqual(bytes) }
    default: return false
    }
  }

  private func slowly(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    let text = String(decoding: bytes, as: UTF8.self)
    if comparator == .like { return StringComparison.isLike(text, original, options) }
    return PatternCache.matches(text, original, options) ?? false
  }
}
