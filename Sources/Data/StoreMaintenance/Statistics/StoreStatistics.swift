public import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StoreCoordination
import StorePrimitives

/// What the values of a property are like: how many there are, how many of them are different, and their range.
public struct PropertyStatistics: Sendable {
  /// The name of the entity; objects of its sub-entities are not included.
  public var entityName: String
  /// The name of the property.
  public var propertyName: String
  /// The type as models name it, such as `Decimal` or `to-many Book`.
  public var type: String
  /// How many objects have a value. For a to-many, how many have at least one object.
  public var valueCount = 0
  /// How many objects have no value. For a to-many, how many have no object.
  public var nullCount = 0
  /// How many values are different; of a to-many, how many objects it leads to. Nil for binary data.
  public var distinctCount: Int?
  /// The least value of numbers, dates and texts (by Unicode scalars), without not-a-number. For a to-many, the least
  /// number of objects.
  public var minimum: StoredValue?
  /// The greatest value, as ``minimum``.
  public var maximum: StoredValue?
  /// The arithmetic mean of numbers, without not-a-number; of true as 1 and false as 0; of the numbers of objects of a
  /// to-many.
  public var mean: Double?
  /// The length of the longest text in Unicode scalars, or of the longest data in bytes.
  public var longest: Int?
}

/// Statistics of all properties of a graph.
///
/// ```swift
/// for property in StoreStatistics(store.nodes).properties { print(property.propertyName, property.nullCount) }
/// ```
public struct StoreStatistics: Sendable {
  /// By entity and property, in the model's order. Entities without objects are included, abstract ones are not.
  public let properties: [PropertyStatistics]

  /// Computes the statistics of all objects.
  public init(_ nodes: NodeTable) {
    var properties: [PropertyStatistics] = []
    for entity in nodes.model.entities where !entity.isAbstract {
      let reader = nodes.reader(of: entity.index)
      for slot in entity.slots { properties.append(Self.statistics(slot, entity, reader)) }
    }
    self.properties = properties
  }

  private static func statistics(_ slot: Slot, _ entity: Entity, _ reader: EntityReader) -> PropertyStatistics {
    var result = PropertyStatistics(
      entityName: entity.name, propertyName: slot.name, type: slot.kindDescription)
    switch slot.kind {
    case .toMany: countMembers(slot.index, reader, &result)
    case .toOne:
      var known = DistinctNodes()
      for row in 0..<reader.count where !reader.isDeleted(row: row) {
        guard let node = reader.toOne(slot: slot.index, row: row) else {
          result.nullCount += 1
          continue
        }
        result.valueCount += 1
        known.insert(node)
      }
      result.distinctCount = known.count
    case .attribute(let type): measure(slot.index, type, reader, &result)
    }
    return result
  }

  private static func countMembers(_ slot: Int, _ reader: EntityReader, _ result: inout PropertyStatistics) {
    var known = DistinctNodes()
    var (least, greatest, total) = (Int.max, 0, 0)
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      let list = reader.toMany(slot: slot, row: row)
      if list.isEmpty { result.nullCount += 1 } else { result.valueCount += 1 }
      least = min(least, list.count)
      greatest = max(greatest, list.count)
      total += list.count
      for index in list.indices { known.insert(list[index]) }
    }
    result.distinctCount = known.count
    let count = result.valueCount + result.nullCount
    guard count > 0 else { return }
    result.minimum = .integer(Int64(least))
    result.maximum = .integer(Int64(greatest))
    result.mean = Double(total) / Double(count)
  }

  private static func measure(
    _ slot: Int, _ type: AttributeType, _ reader: EntityReader, _ result: inout PropertyStatistics
  ) {
    switch type.valueKind {
    case .string, .uri: return measureTexts(slot, type, reader, &result)
    case .data:
      for row in 0..<reader.count where !reader.isDeleted(row: row) {
        if count(reader.isNull(slot: slot, row: row), &result) { continue }
        result.longest = max(result.longest ?? 0, reader.bytes(slot: slot, row: row).count)
      }
      return
    default: break
    }
    var known = TextNumbers(expecting: reader.count)
    var keys = TextBatch()
    var batch: [StoredValue] = []
    func compare() {
      var count = known.count
      for (value, number) in zip(batch, keys.takeNumbers(from: &known)) where number == count {
        count += 1
        result.include(value)
      }
      batch.removeAll(keepingCapacity: true)
    }
    var numbers = MeanOfNumbers()
    // Integers are added exactly: doubles do not hold large ones.
    var whole: Int128 = 0
    var integers = 0
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      if count(reader.isNull(slot: slot, row: row), &result) { continue }
      let value = reader.value(slot: slot, row: row)
      if case .integer(let integer) = value {
        whole += Int128(integer)
        integers += 1
      }
      numbers.add(value)
      value.appendKey(to: &keys.bytes)
      keys.endText()
      batch.append(value)
      if keys.isFull { compare() }
    }
    compare()
    result.distinctCount = known.count
    result.mean = integers > 0 && integers == numbers.count ? Double(whole) / Double(integers) : numbers.mean
  }

  /// Counts a row, and returns whether it has no value.
  private static func count(_ isNull: Bool, _ result: inout PropertyStatistics) -> Bool {
    if isNull { result.nullCount += 1 } else { result.valueCount += 1 }
    return isNull
  }

  private static func measureTexts(
    _ slot: Int, _ type: AttributeType, _ reader: EntityReader, _ result: inout PropertyStatistics
  ) {
    let column = reader.column(slot: slot)
    var known = TextNumbers(expecting: reader.count)
    var texts = TextBatch()
    var batch: [UnsafeBufferPointer<UInt8>] = []
    var range: (least: UnsafeBufferPointer<UInt8>, greatest: UnsafeBufferPointer<UInt8>)?
    func compare() {
      var count = known.count
      for (text, number) in zip(batch, texts.takeNumbers(from: &known)) where number == count {
        count += 1
        // Each scalar has one byte that does not continue another.
        result.longest = max(result.longest ?? 0, text.count(where: { $0 & 0xC0 != 0x80 }))
        let (least, greatest) = range ?? (text, text)
        range = (precedes(text, least) ? text : least, precedes(greatest, text) ? text : greatest)
      }
      batch.removeAll(keepingCapacity: true)
    }
    withExtendedLifetime(reader) {
      for row in 0..<reader.count where !reader.isDeleted(row: row) {
        let bytes = column.bytes(row)
        if count(bytes == nil, &result) { continue }
        guard let bytes else { continue }
        texts.append(bytes)
        batch.append(bytes)
        if texts.isFull { compare() }
      }
      compare()
      result.distinctCount = known.count
      guard let range else { return }
      func value(_ bytes: UnsafeBufferPointer<UInt8>) -> StoredValue {
        let text = String(decoding: bytes, as: UTF8.self)
        return type == .uri ? .uri(text) : .string(text)
      }
      (result.minimum, result.maximum) = (value(range.least), value(range.greatest))
    }
  }

  /// Whether bytes come before others.
  private static func precedes(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Bool {
    let count = min(one.count, other.count)
    guard count > 0, let bytes = one.baseAddress, let others = other.baseAddress else { return one.count < other.count }
    let order = memcmp(bytes, others, count)
    return order != 0 ? order < 0 : one.count < other.count
  }

  /// Nil for values without an order.
  fileprivate static func isLess(_ one: StoredValue, _ other: StoredValue) -> Bool? {
    switch (one, other) {
    case (.integer(let a), .integer(let b)): a < b
    case (.float(let a), .float(let b)): a.isNaN || b.isNaN ? nil : a < b
    case (.double(let a), .double(let b)): a.isNaN || b.isNaN ? nil : a < b
    case (.decimal(let a), .decimal(let b)): a.isNaN || b.isNaN ? nil : a.isLess(than: b)
    case (.date(let a), .date(let b)):
      a.timeIntervalSinceReferenceDate.isNaN || b.timeIntervalSinceReferenceDate.isNaN ? nil : a < b
    case (.string(let a), .string(let b)), (.uri(let a), .uri(let b)): ScalarString(a) < ScalarString(b)
    default: nil
    }
  }
}

extension PropertyStatistics {
  /// Adds a value that differs from those before it: others are neither less nor greater than all.
  fileprivate mutating func include(_ value: StoredValue) {
    // Of undefined type.
    if case .string(let text) = value { longest = max(longest ?? 0, text.unicodeScalars.count) }
    if case .uri(let text) = value { longest = max(longest ?? 0, text.unicodeScalars.count) }
    func isLess(_ one: StoredValue, _ other: StoredValue) -> Bool { StoreStatistics.isLess(one, other) ?? false }
    if let minimum, let maximum {
      if isLess(value, minimum) { self.minimum = value }
      if isLess(maximum, value) { self.maximum = value }
    } else if StoreStatistics.isLess(value, value) != nil {
      (minimum, maximum) = (value, value)
    }
  }
}

/// How many objects there are among those that are named.
private struct DistinctNodes {
  private(set) var count = 0
  /// Whether a row was named, by entity.
  private var rows: [[Bool]] = []

  mutating func insert(_ node: NodeHandle) {
    if rows.count <= node.entity { rows += Array(repeating: [], count: node.entity + 1 - rows.count) }
    let known = rows[node.entity].count
    if known <= node.row {
      rows[node.entity] += Array(repeating: false, count: max(node.row + 1, known * 2) - known)
    }
    if rows[node.entity][node.row] { return }
    rows[node.entity][node.row] = true
    count += 1
  }
}
