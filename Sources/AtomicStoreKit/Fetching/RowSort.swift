import AtomicStoreSPI
import FoundationEssentials

/// Rows in order, by keys in columns of their own or of the object that a to-one leads to.
struct RowSort {
  /// Where a key's values are.
  private struct Key {
    let isAscending: Bool
    let options: FetchPredicate.Options
    let type: AttributeType
    /// The column of each entity that rows come from; and where a to-one comes first, its column.
    var own: [Int: ColumnView] = [:]
    var through: [Int: ColumnView] = [:]
  }
  private var keys: [Key] = []

  /// Nil where a key is none of an attribute's: then objects are sorted.
  init?(_ sortKeys: [SortKey], entities: [EntityPlan], _ plan: ModelPlan, _ version: NodeVersion) {
    for sortKey in sortKeys {
      let path = sortKey.keyPath.split(separator: ".").map(String.init)
      guard let first = entities.first else { return nil }
      var key: Key?
      for entity in entities {
        if let p = entity.property(named: sortKey.keyPath), entity.properties[p].slot >= 0,
          case .attribute(let type) = entity.properties[p].kind
        {
          if key == nil { key = Key(isAscending: sortKey.isAscending, options: sortKey.options, type: type) }
          key?.own[entity.index] = version.column(entity: entity.index, slot: entity.properties[p].slot)
        } else if path.count == 2, let p = entity.property(named: path[0]), entity.properties[p].kind == .toOne,
          entity.properties[p].slot >= 0
        {
          for destination in plan.entities[entity.properties[p].destination].entity.hierarchy where !destination.isAbstract {
            let plan = plan.entities[destination.index]
            guard let q = plan.property(named: path[1]), plan.properties[q].slot >= 0, case .attribute(let type) = plan.properties[q].kind
            else { return nil }
            if key == nil { key = Key(isAscending: sortKey.isAscending, options: sortKey.options, type: type) }
            key?.own[destination.index] = version.column(entity: destination.index, slot: plan.properties[q].slot)
          }
          key?.through[entity.index] = version.column(entity: entity.index, slot: entity.properties[p].slot)
        } else {
          return nil
        }
      }
      _ = first
      guard let key else { return nil }
      // Types whose order is that of their cells; the others are rare as keys.
      switch key.type {
      case .integer16, .integer32, .integer64, .double, .float, .date, .boolean: break
      case .string
      where sortKey.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) && sortKey.textOrder == .scalars:
        break
      default: return nil
      }
      keys.append(key)
    }
  }

  /// A node and the first eight bytes of its first key, which decide most comparisons.
  private struct Entry {
    var prefix: UInt64
    var node: NodeHandle
    var place: UInt32
  }

  func sorted(_ nodes: [NodeHandle]) -> [NodeHandle] {
    guard let first = keys.first else { return nodes }
    var entries: [Entry] = []
    entries.reserveCapacity(nodes.count)
    for (place, node) in nodes.enumerated() {
      let prefix = prefix(first, node)
      entries.append(
        Entry(prefix: first.isAscending ? prefix : ~prefix, node: node, place: UInt32(truncatingIfNeeded: place)))
    }
    entries.sort { one, other in
      if one.prefix != other.prefix { return one.prefix < other.prefix }
      for key in keys {
        let order = compare(key, one.node, other.node)
        if order != 0 { return key.isAscending ? order < 0 : order > 0 }
      }
      return one.place < other.place
    }
    return entries.map(\.node)
  }

  /// The column and row that hold the key of a node; nil for null on the way.
  private func place(_ key: Key, _ node: NodeHandle) -> (ColumnView, Int)? {
    if let through = key.through[node.entity] {
      let bits = through.handle(node.row)
      guard bits != .max, let column = key.own[Int(bits >> 32)] else { return nil }
      return (column, Int(bits & 0xFFFF_FFFF))
    }
    return key.own[node.entity].map { ($0, node.row) }
  }

  /// Numbers in the order of their values: null is 0, and so is the least integer, which the whole comparison tells apart.
  private func prefix(_ key: Key, _ node: NodeHandle) -> UInt64 {
    guard let (column, row) = place(key, node) else { return 0 }
    if case .string = key.type {
      guard let bytes = column.bytes(row) else { return 0 }
      var value: UInt64 = 0
      for place in 0..<8 { value = value << 8 | (place < bytes.count ? UInt64(bytes[place]) : 0) }
      return value
    }
    guard column.isPresent(row) else { return 0 }
    switch key.type {
    case .boolean: return 1 + UInt64(column.cells.load(fromByteOffset: row, as: UInt8.self))
    case .integer16: return Self.ordered(Int64(column.cells.load(fromByteOffset: row &* 2, as: Int16.self)))
    case .integer32: return Self.ordered(Int64(column.cells.load(fromByteOffset: row &* 4, as: Int32.self)))
    case .integer64: return Self.ordered(column.cells.load(fromByteOffset: row &* 8, as: Int64.self))
    case .float: return Self.ordered(Double(column.cells.load(fromByteOffset: row &* 4, as: Float.self)))
    default: return Self.ordered(column.cells.load(fromByteOffset: row &* 8, as: Double.self))
    }
  }

  private static func ordered(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }
  /// Not-a-number stands after null and before everything else; -0 and 0 are one.
  private static func ordered(_ value: Double) -> UInt64 {
    if value.isNaN { return 1 }
    let bits = (value == 0 ? 0.0 : value).bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }

  private func compare(_ key: Key, _ one: NodeHandle, _ other: NodeHandle) -> Int {
    let a = place(key, one)
    let b = place(key, other)
    func isNull(_ place: (ColumnView, Int)?) -> Bool {
      guard let (column, row) = place else { return true }
      if case .string = key.type { return column.bytes(row) == nil }
      return !column.isPresent(row)
    }
    let aIsNull = isNull(a)
    let bIsNull = isNull(b)
    if aIsNull || bIsNull { return aIsNull ? (bIsNull ? 0 : -1) : 1 }
    if case .string = key.type {
      guard let (column, row) = a, let (otherColumn, otherRow) = b, let x = column.bytes(row), let y = otherColumn.bytes(otherRow) else { return 0 }
      let shared = min(x.count, y.count)
      for place in 0..<shared where x[place] != y[place] { return x[place] < y[place] ? -1 : 1 }
      return x.count < y.count ? -1 : x.count > y.count ? 1 : 0
    }
    let x = prefix(key, one)
    let y = prefix(key, other)
    return x < y ? -1 : x > y ? 1 : 0
  }
}
