import AtomicStoreSPI
import StoreCodecs

/// The constant parts of one property's elements.
struct SlotPlan: Sendable {
  let index: Int
  let type: AttributeType
  let isToMany: Bool
  /// The open tag: complete for most attributes, otherwise up to the first part that varies.
  let head: [UInt8]
}

/// One entity's rows and their constant parts.
///
/// `@unchecked Sendable`: the numbers and the suffix are written before a second thread gets the plan, and only read
/// from then on.
final class EntityPlan: @unchecked Sendable {
  let reader: EntityReader
  /// The index of the entity.
  let entity: Int
  let count: Int
  let head: [UInt8]
  let root: Int
  /// What follows a number in an identifier.
  var suffix: [UInt8] = []
  let attributes: [SlotPlan]
  let relationships: [SlotPlan]
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
    head = Array("    <object type=\"".utf8) + typeNames[entity.index] + Array("\" id=\"".utf8)
    let written = NameFolding.property.written(entity.slots.map(\.name))
    var attributes: [SlotPlan] = []
    var relationships: [SlotPlan] = []
    for (slot, name) in zip(entity.slots, written) {
      let name = try NameText.encode(name, at: StoreLocation(entity: entity.name, property: slot.name))
      switch slot.kind {
      case .attribute(let type):
        let typeName = StoreTypeName.name(of: type)
        var head = Array("        <attribute name=\"".utf8) + name + Array("\" type=\"".utf8)
        head += UnsafeBufferPointer(start: typeName.utf8Start, count: typeName.utf8CodeUnitCount)
        head += Array((type == .undefined ? "\" valuetype=\"" : "\">").utf8)
        attributes.append(SlotPlan(index: slot.index, type: type, isToMany: false, head: head))
      case .toOne, .toMany:
        let counts = "\(slot.relationship?.minimumCount ?? 0)/\(slot.relationship?.maximumCount ?? 0)"
        let head =
          Array("        <relationship name=\"".utf8) + name + Array("\" type=\"\(counts)\" destination=\"".utf8)
          + (slot.destination.map { typeNames[$0] } ?? []) + [UInt8(ascii: "\"")]
        relationships.append(SlotPlan(index: slot.index, type: .undefined, isToMany: slot.isToMany, head: head))
      }
    }
    self.attributes = attributes
    self.relationships = relationships
    numbers = .allocate(capacity: max(count, 1))
    var numberCount = 0
    while numberCount < count, let number = reader.integerReference(row: numberCount) {
      (numbers + numberCount).initialize(to: number)
      numberCount += 1
    }
    self.numberCount = numberCount
  }

  deinit { numbers.deallocate() }
}
