import AtomicStoreSPI
import FoundationEssentials
import StorePrimitives

/// Sorts rows by keys in their own columns or in those of the destination of a to-one.
struct RowSort {
  /// Where the values of a sort key are stored.
  private struct Key {
    let isAscending: Bool
    let form: Form
    /// The key's column for each entity that rows come from; if the path begins with a to-one, the column of the
    /// to-one.
    var own: [Int: ColumnView] = [:]
    var through: [Int: ColumnView] = [:]
    /// For texts that are not compared byte by byte, by entity.
    var texts: [Int: SortTexts] = [:]

    init?(_ sortKey: SortKey, _ type: AttributeType) {
      guard let form = Form(sortKey, type) else { return nil }
      isAscending = sortKey.isAscending
      self.form = form
    }
  }

  /// How values become numbers.
  private enum Form {
    case boolean, integer, integer64, float, double, bytes, uuid, decimal
    case texts(SortTexts.Form)

    /// Returns nil for types whose values are not sorted as cells.
    init?(_ key: SortKey, _ type: AttributeType) {
      switch type.valueKind {
      case .boolean: self = .boolean
      case .integer: self = type.integerBits == 64 ? .integer64 : .integer
      case .float: self = .float
      case .double, .date: self = .double
      case .decimal: self = .decimal
      case .uuid: self = .uuid
      case .data where type != .transformable, .uri: self = .bytes
      case .string where key.textOrder == .localizedStandard: self = .texts(.standard)
      case .string:
        let isPlain =
          key.options.contains(.normalized) || key.options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive])
        self = isPlain ? .bytes : .texts(.folded(key.options))
      default: return nil
      }
    }
  }
  private var keys: [Key] = []

  /// Returns nil if a key is not an attribute's: the fetch then sorts objects.
  init?(_ sortKeys: [SortKey], entities: [EntityPlan], _ plan: ModelPlan, _ version: NodeVersion) {
    for sortKey in sortKeys {
      guard sortKey.comparator == nil else { return nil }
      let path = FetchExpression.keys(of: sortKey.keyPath)
      let name = path.joined(separator: ".")
      var key: Key?
      for entity in entities {
        if let p = entity.property(named: name), entity.properties[p].slot >= 0,
          case .attribute(let type) = entity.properties[p].kind
        {
          guard !version.hasDeferredValues(entity: entity.index, slot: entity.properties[p].slot) else { return nil }
          if key == nil { key = Key(sortKey, type) }
          key?.own[entity.index] = version.column(entity: entity.index, slot: entity.properties[p].slot)
        } else if path.count == 2, let p = entity.property(named: path[0]), entity.properties[p].kind == .toOne,
          entity.properties[p].slot >= 0
        {
          for destination in plan.entities[entity.properties[p].destination].entity.hierarchy
          where !destination.isAbstract {
            let plan = plan.entities[destination.index]
            guard let q = plan.property(named: path[1]), plan.properties[q].slot >= 0,
              case .attribute(let type) = plan.properties[q].kind,
              !version.hasDeferredValues(entity: destination.index, slot: plan.properties[q].slot)
            else { return nil }
            if key == nil { key = Key(sortKey, type) }
            key?.own[destination.index] = version.column(entity: destination.index, slot: plan.properties[q].slot)
          }
          key?.through[entity.index] = version.column(entity: entity.index, slot: entity.properties[p].slot)
        } else {
          return nil
        }
      }
      guard let key else { return nil }
      keys.append(key)
    }
  }

  /// A node and its key, or the part of the key that is compared at the moment.
  private struct Entry {
    var key: UInt64
    var node: NodeHandle
  }

  /// Entries that are equal in all parts compared so far, and what to compare next: which part of which key.
  private struct Group {
    var start: Int
    var end: Int
    var key: Int
    var piece: Int
  }

  /// Returns the nodes in order; the sort is stable. With a limit, only that many nodes at the beginning are guaranteed
  /// to be in order.
  ///
  /// Keys are numbers in the order of their values; a string has one for each seven bytes. Entries equal in one number
  /// are ordered by the next. So each string is read once for each of its parts that decides something, and the rest is
  /// sorting numbers.
  func sorted(_ nodes: [NodeHandle], limit: Int = .max) -> [NodeHandle] {
    guard !keys.isEmpty, nodes.count > 1 else { return nodes }
    let entries = UnsafeMutableBufferPointer<Entry>.allocate(capacity: nodes.count)
    let scratch = UnsafeMutableBufferPointer<Entry>.allocate(capacity: nodes.count)
    defer {
      entries.deallocate()
      scratch.deallocate()
    }
    for place in nodes.indices { entries.initializeElement(at: place, to: Entry(key: 0, node: nodes[place])) }
    scratch.initialize(repeating: Entry(key: 0, node: nodes[0]))
    var groups = [Group(start: 0, end: nodes.count, key: 0, piece: 0)]
    let keys = keysWithTexts
    while let group = groups.popLast() {
      Self.fill(entries, group, keys[group.key])
      Self.sort(UnsafeMutableBufferPointer(rebasing: entries[group.start..<group.end]), scratch)
      var start = group.start
      while start < group.end, start < limit {
        var end = start + 1
        while end < group.end, entries[end].key == entries[start].key { end += 1 }
        if end - start > 1, let (key, piece) = next(after: group, entries[start].key) {
          groups.append(Group(start: start, end: end, key: key, piece: piece))
        }
        start = end
      }
    }
    return entries.prefix(min(limit, nodes.count)).map(\.node)
  }

  /// Returns what to compare next for entries that are equal so far; nil if nothing is left.
  private func next(after group: Group, _ number: UInt64) -> (key: Int, piece: Int)? {
    let key = keys[group.key]
    let number = key.isAscending ? number : ~number
    switch key.form {
    // The last byte says whether the bytes continue.
    case .bytes where number & 0xFF == Self.goesOn, .uuid where number & 0xFF == Self.goesOn,
      .texts where number & 0xFF == Self.goesOn:
      return (group.key, group.piece + 1)
    case .decimal where DecimalKey.continues(number, group.piece): return (group.key, group.piece + 1)
    // The least integer has the same number as null.
    case .integer64 where number == 0 && group.piece == 0: return (group.key, 1)
    default: return group.key + 1 < keys.count ? (group.key + 1, 0) : nil
    }
  }

  /// The keys, with tables for texts that this sort computes.
  private var keysWithTexts: [Key] {
    keys.map { key in
      guard case .texts(let form) = key.form else { return key }
      var key = key
      key.texts = key.own.mapValues { SortTexts($0, form) }
      return key
    }
  }

  private static func fill(_ entries: UnsafeMutableBufferPointer<Entry>, _ group: Group, _ key: Key) {
    let flip: UInt64 = key.isAscending ? 0 : .max
    // Usually all rows are of one entity and the key is in the row itself.
    if key.through.isEmpty, key.own.count == 1, let (entity, column) = key.own.first,
      entries[group.start].node.entity == entity
    {
      let texts = key.texts[entity]
      for place in group.start..<group.end {
        entries[place].key = number(key.form, column, texts, entries[place].node.row, group.piece) ^ flip
      }
      return
    }
    for place in group.start..<group.end {
      let node = entries[place].node
      var value: UInt64 = 0
      if let through = key.through[node.entity] {
        let bits = through.handle(node.row)
        if bits != .max, let column = key.own[Int(bits >> 32)] {
          value = number(key.form, column, key.texts[Int(bits >> 32)], Int(bits & 0xFFFF_FFFF), group.piece)
        }
      } else if let column = key.own[node.entity] {
        value = number(key.form, column, key.texts[node.entity], node.row, group.piece)
      }
      entries[place].key = value ^ flip
    }
  }

  private static let goesOn: UInt64 = 9

  /// Maps values to numbers in the same order; null is 0.
  @inline(__always) private static func number(
    _ form: Form, _ column: ColumnView, _ texts: SortTexts?, _ row: Int, _ piece: Int
  ) -> UInt64 {
    switch form {
    case .bytes: return column.bytes(row).map { SortTexts.number($0, piece) } ?? 0
    case .texts: return texts?.number(row, piece) ?? 0
    case .decimal:
      guard let bytes = column.bytes(row) else { return DecimalKey.null }
      return (piece == 0 ? DecimalKey.first(bytes) : DecimalKey(bytes)?.number(piece)) ?? DecimalKey.null
    default: break
    }
    guard column.isPresent(row) else { return 0 }
    switch form {
    case .boolean: return 1 + UInt64(column.cell(row, as: UInt8.self))
    case .integer: return Self.ordered(column.integer(row))
    case .integer64: return piece > 0 ? 1 : Self.ordered(column.cell(row, as: Int64.self))
    case .float: return Self.ordered(Double(column.cell(row, as: Float.self)))
    case .uuid:
      let start = (column.cells + column.place(row) &* 16).assumingMemoryBound(to: UInt8.self)
      return SortTexts.number(UnsafeBufferPointer(start: start, count: 16), piece)
    default: return Self.ordered(column.cell(row, as: Double.self))
    }
  }

  private static func ordered(_ value: Int64) -> UInt64 { UInt64(bitPattern: value) ^ 1 << 63 }
  /// Not-a-number sorts after null and before all other values; -0 and 0 are equal.
  private static func ordered(_ value: Double) -> UInt64 {
    if value.isNaN { return 1 }
    let bits = (value == 0 ? 0.0 : value).bitPattern
    return bits >> 63 == 1 ? ~bits : bits | 1 << 63
  }

  /// Sorts by key, stably: few entries by insertion, more by merging, many by radix from the last byte to the first,
  /// skipping bytes in which all are equal.
  private static func sort(_ entries: UnsafeMutableBufferPointer<Entry>, _ scratch: UnsafeMutableBufferPointer<Entry>) {
    let count = entries.count
    if count <= 24 {
      for place in 1..<max(count, 1) {
        let entry = entries[place]
        var hole = place
        while hole > 0, entry.key < entries[hole - 1].key {
          entries[hole] = entries[hole - 1]
          hole -= 1
        }
        entries[hole] = entry
      }
      return
    }
    var different: UInt64 = 0
    for place in 1..<count { different |= entries[place].key ^ entries[0].key }
    let bytes = (0..<8).filter { different >> UInt64($0 * 8) & 0xFF != 0 }
    // For few entries, a pass over 256 counters costs more than it saves.
    if count < 256 * bytes.count / 4 {
      mergeSort(entries, scratch)
      return
    }
    var from = entries
    var to = UnsafeMutableBufferPointer(rebasing: scratch[..<count])
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { places in
      for byte in bytes {
        let shift = UInt64(byte * 8)
        places.initialize(repeating: 0)
        for place in 0..<count { places[Int(truncatingIfNeeded: from[place].key >> shift & 0xFF)] += 1 }
        var sum = 0
        for value in 0..<256 {
          let next = sum + places[value]
          places[value] = sum
          sum = next
        }
        for place in 0..<count {
          let value = Int(truncatingIfNeeded: from[place].key >> shift & 0xFF)
          to[places[value]] = from[place]
          places[value] &+= 1
        }
        swap(&from, &to)
      }
    }
    if from.baseAddress != entries.baseAddress { _ = entries.update(fromContentsOf: from) }
  }

  /// Merges runs of two, four, eight and so on.
  private static func mergeSort(
    _ entries: UnsafeMutableBufferPointer<Entry>, _ scratch: UnsafeMutableBufferPointer<Entry>
  ) {
    let count = entries.count
    var from = entries
    var to = UnsafeMutableBufferPointer(rebasing: scratch[..<count])
    var width = 1
    while width < count {
      var start = 0
      while start < count {
        let middle = min(start + width, count)
        let end = min(middle + width, count)
        var one = start
        var other = middle
        for place in start..<end {
          if one < middle, other >= end || from[one].key <= from[other].key {
            to[place] = from[one]
            one += 1
          } else {
            to[place] = from[other]
            other += 1
          }
        }
        start = end
      }
      swap(&from, &to)
      width *= 2
    }
    if from.baseAddress != entries.baseAddress { _ = entries.update(fromContentsOf: from) }
  }
}
