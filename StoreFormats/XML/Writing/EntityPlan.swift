import AtomicStoreSPI
import StoreCodecs

/// Bytes that are the same for many elements, in their own memory: an array would be retained and released each time
/// it is written, by several threads at the same time.
///
/// `@unchecked Sendable`: they are only read.
struct ConstantBytes: @unchecked Sendable {
  private let base: UnsafeMutablePointer<UInt8>
  private let count: Int

  /// The memory must be released.
  init(_ bytes: [UInt8]) {
    count = bytes.count
    base = .allocate(capacity: max(count, 1))
    for (index, byte) in bytes.enumerated() { (base + index).initialize(to: byte) }
  }

  func deallocate() { base.deallocate() }

  @inline(__always) func append(to writer: ByteWriter) {
    writer.append(UnsafeRawBufferPointer(start: base, count: count))
  }

  var isEmpty: Bool { count == 0 }
}

/// The constant parts of one property's elements.
struct SlotPlan: Sendable {
  let index: Int
  let kind: StoredValue.Kind
  let isToMany: Bool
  /// The open tag: complete for most attributes, otherwise up to the first part that varies.
  let head: ConstantBytes
}

/// The attributes of which few rows have a value, by row: an object is written without a look at each of them.
///
/// `@unchecked Sendable`: what is behind pointers is written at first, and only read from then on.
struct SparseAttributes: @unchecked Sendable {
  /// The positions in ``EntityPlan/attributes`` of the attributes with a value, ascending for each row.
  private let positions: UnsafeMutableBufferPointer<Int32>
  /// The end of each row's positions. Empty where no attribute is sparse.
  private let ends: UnsafeMutableBufferPointer<Int>

  /// The memory must be released.
  init(_ attributes: UnsafeBufferPointer<SlotPlan>, _ reader: EntityReader) {
    var counts: [Int] = []
    var rows: [(position: Int32, rows: [Int])] = []
    for (position, attribute) in attributes.enumerated() {
      guard let own = reader.sparseRows(slot: attribute.index) else { continue }
      if counts.isEmpty { counts = [Int](repeating: 0, count: reader.count) }
      for row in own { counts[row] += 1 }
      rows.append((Int32(position), own))
    }
    ends = .allocate(capacity: counts.count)
    var end = 0
    for row in counts.indices {
      ends.initializeElement(at: row, to: end)
      end += counts[row]
    }
    positions = .allocate(capacity: end)
    for (position, own) in rows {
      for row in own {
        positions.initializeElement(at: ends[row], to: position)
        ends[row] += 1
      }
    }
  }

  func deallocate() {
    positions.deallocate()
    ends.deallocate()
  }

  @inline(__always) func positions(_ row: Int) -> Slice<UnsafeMutableBufferPointer<Int32>> {
    guard row < ends.count else { return positions[0..<0] }
    return positions[(row > 0 ? ends[row - 1] : 0)..<ends[row]]
  }
}

/// One entity's rows and their constant parts.
///
/// `@unchecked Sendable`: what is behind pointers is written when the plan is made, and only read from then on.
final class EntityPlan: @unchecked Sendable {
  let reader: EntityReader
  /// The index of the entity.
  let entity: Int
  let count: Int
  let head: ConstantBytes
  let root: Int
  let attributes: UnsafeBufferPointer<SlotPlan>
  let relationships: UnsafeBufferPointer<SlotPlan>
  /// The positions of the attributes that are not in ``sparse``.
  let dense: UnsafeMutableBufferPointer<Int32>
  let sparse: SparseAttributes
  /// The integer references: they come first, and relationships access them in random order.
  let numbers: UnsafeMutablePointer<Int64>
  let numberCount: Int

  init(
    _ entity: Entity, _ reader: EntityReader, _ typeNames: [[UInt8]]
  ) throws(PersistentStoreError) {
    self.reader = reader
    self.entity = entity.index
    root = entity.root.index
    count = reader.count
    let written = NameFolding.property.written(entity.slots.map(\.name))
    // Bytes need memory that is released with the plan: not before names may throw.
    var heads: [(slot: Slot, bytes: [UInt8])] = []
    for (slot, name) in zip(entity.slots, written) {
      let name = try NameText.encode(name, at: StoreLocation(entity: entity.name, property: slot.name))
      switch slot.kind {
      case .attribute(let type):
        let typeName = StoreTypeName.name(of: type)
        var head = Array("        <attribute name=\"".utf8) + name + Array("\" type=\"".utf8)
        head += UnsafeBufferPointer(start: typeName.utf8Start, count: typeName.utf8CodeUnitCount)
        head += Array((type == .undefined ? "\" valuetype=\"" : "\">").utf8)
        heads.append((slot, head))
      case .toOne, .toMany:
        let counts = "\(slot.relationship?.minimumCount ?? 0)/\(slot.relationship?.maximumCount ?? 0)"
        let head =
          Array("        <relationship name=\"".utf8) + name + Array("\" type=\"\(counts)\" destination=\"".utf8)
          + (slot.destination.map { typeNames[$0] } ?? []) + [UInt8(ascii: "\"")]
        heads.append((slot, head))
      }
    }
    head = ConstantBytes(Array("    <object type=\"".utf8) + typeNames[entity.index] + Array("\" id=\"".utf8))
    let attributes = Self.memory(heads.filter { !$0.slot.isRelationship })
    self.attributes = attributes
    relationships = Self.memory(heads.filter(\.slot.isRelationship))
    let often = attributes.indices.filter { !reader.isSparse(slot: attributes[$0].index) }
    dense = .allocate(capacity: often.count)
    _ = dense.initialize(from: often.lazy.map { Int32($0) })
    sparse = SparseAttributes(attributes, reader)
    numbers = .allocate(capacity: max(count, 1))
    var numberCount = 0
    while numberCount < count, let number = reader.integerReference(row: numberCount) {
      (numbers + numberCount).initialize(to: number)
      numberCount += 1
    }
    self.numberCount = numberCount
  }

  private static func memory(_ heads: [(slot: Slot, bytes: [UInt8])]) -> UnsafeBufferPointer<SlotPlan> {
    let memory = UnsafeMutableBufferPointer<SlotPlan>.allocate(capacity: heads.count)
    for (index, head) in heads.enumerated() {
      memory.initializeElement(
        at: index,
        to: SlotPlan(
          index: head.slot.index, kind: head.slot.valueKind, isToMany: head.slot.isToMany,
          head: ConstantBytes(head.bytes)))
    }
    return UnsafeBufferPointer(memory)
  }

  deinit {
    head.deallocate()
    for slots in [attributes, relationships] {
      for slot in slots { slot.head.deallocate() }
      slots.deallocate()
    }
    dense.deallocate()
    sparse.deallocate()
    numbers.deallocate()
  }
}

/// The identifiers of all objects with integer references, by entity: relationships name objects in random order, and
/// each use of a plan would be counted, by several threads at the same time.
///
/// `@unchecked Sendable`: what is behind pointers is written at first, and only read from then on.
final class ObjectIdentifiers: @unchecked Sendable {
  struct Entry {
    let numbers: UnsafeMutablePointer<Int64>
    let count: Int
    /// What follows a number.
    let suffix: ConstantBytes
  }
  let entries: UnsafeBufferPointer<Entry>
  /// Own the numbers.
  private let plans: [EntityPlan]

  /// - Parameter suffixes: By the root of a hierarchy.
  init(_ plans: [EntityPlan], suffixes: [Int: [UInt8]]) {
    self.plans = plans
    let memory = UnsafeMutableBufferPointer<Entry>.allocate(capacity: plans.count)
    _ = memory.initialize(
      from: plans.lazy.map {
        Entry(numbers: $0.numbers, count: $0.numberCount, suffix: ConstantBytes(suffixes[$0.root] ?? []))
      })
    entries = UnsafeBufferPointer(memory)
  }

  deinit {
    for entry in entries { entry.suffix.deallocate() }
    entries.deallocate()
  }
}
