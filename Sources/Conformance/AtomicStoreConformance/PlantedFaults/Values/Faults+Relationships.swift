import AtomicStoreSPI
import FoundationEssentials

extension Faults {
  static let relationships: [Fault] = [
    Fault("toOneNilKept", "leaves a relationship as it was when it is set to nothing") {
      $0.updatedObject = { object, model in
        var kept = SlotValues()
        for (slot, value) in object.values where !(value.isNull && model.isRelationship(slot: slot, of: object.entity))
        {
          kept[slot] = value
        }
        object.values = kept
      }
    },
    slots("inverseNotWritten", "writes one end of one-to-one relationships alone") { _, slot, value in
      guard case .toOne = value, let relationship = slot.relationship, let inverse = relationship.inverseName else {
        return value
      }
      return slot.name > inverse && !["parent", "team"].contains(slot.name) ? .null : value
    },
    slots("emptySetBecomesNil", "writes the last object of a relationship alone as none") { _, slot, value in
      if case .toMany(let list) = value, list.count == 1 { return .toMany([]) }
      return value
    },
    slots("manyToManyOneSide", "forgets the members but the first at one end of many-to-many relationships") {
      entity, slot, value in
      guard case .toMany(let list) = value, slot.name == "tagged" else { return value }
      return .toMany(Array(list.prefix(1)))
    },
    Fault("selfReferenceDropped", "leaves out relationships of an object to itself") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          for node in snapshot.nodes.handles(of: entity.index) {
            let own = snapshot.nodes.objectReference(of: node)
            for slot in entity.slots where slot.isRelationship {
              switch snapshot.nodes.value(slot: slot.index, of: node) {
              case .toOne(own): try snapshot.nodes.set(.null, slot: slot.index, of: node)
              case .toMany(let list) where list.contains(own):
                try snapshot.nodes.set(.toMany(list.filter { $0 != own }), slot: slot.index, of: node)
              default: break
              }
            }
          }
        }
      }
    },
    Fault("selfInverseDoubled", "takes a relationship that mirrors itself for two, of which one end writes") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          for node in snapshot.nodes.handles(of: entity.index) {
            let own = snapshot.nodes.reference(of: node)
            for slot in entity.slots where slot.relationship?.inverseName == slot.name {
              guard case .toMany(let list) = snapshot.nodes.value(slot: slot.index, of: node) else { continue }
              try snapshot.nodes.set(.toMany(list.filter { !($0.reference < own) }), slot: slot.index, of: node)
            }
          }
        }
      }
    },
    slots("orderedSortedByReference", "sorts ordered relationships by reference") { _, slot, value in
      guard slot.isOrdered, case .toMany(let list) = value else { return value }
      return .toMany(list.sorted { $0.reference < $1.reference })
    },
    slots("onlyOneSideOrdered", "sorts the members at one end of an ordered many-to-many relationship") {
      _, slot, value in
      guard slot.name == "queued", case .toMany(let list) = value else { return value }
      return .toMany(list.sorted { $0.reference < $1.reference })
    },
    slots("destinationEntityFromModel", "leaves out what is not of the very entity that the relationship names") {
      _, slot, value in
      guard let wanted = slot.relationship?.destinationEntityName else { return value }
      switch value {
      case .toOne(let link) where link.entityName != wanted: return .null
      case .toMany(let list): return .toMany(list.filter { $0.entityName == wanted })
      default: return value
      }
    },
    slots("recursiveSerialize", "stops after so many steps along a chain") { _, slot, value in
      guard slot.name == "next", case .toOne(let link) = value, case .integer(let number) = link.reference else {
        return value
      }
      return number > 10_000 ? .null : value
    },
    silent(
      "danglingBecomesNil", "reads nothing where a relationship is dangling", about: [.danglingReference, .malformed]),
    Fault("oneWayDanglingDropped", "leaves out references of relationships without inverse to missing objects") {
      hooks in
      hooks.leavesOut = { owner, links, nodes in
        let entity = owner.split(separator: "/").first.flatMap { nodes.model.entity(named: String($0)) }
        let property = owner.split(separator: ".").last.flatMap { entity?.slot(named: String($0)) }
        guard let entity, let property, entity.slots[property].relationship?.inverseName == nil else { return false }
        return !links.contains { link in
          let text = String(link.drop { $0 != "/" }.dropFirst())
          let reference = Int64(text).map { ReferenceObject.integer($0) } ?? .string(text)
          return nodes.model.entities.contains { nodes.handle(for: reference, entity: $0.index) != nil }
        }
      }
      hooks.loaded = { (result, builder) throws(PersistentStoreError) in try copy(try result.get(), into: builder) }
    },
    silent(
      "wrongEntityAccepted",
      "reads nothing where a relationship leads to an object of another entity",
      about: [.danglingReference, .malformed, .modelMismatch]),
    reading("asymmetricGraph", "reads to-many relationships without what their other ends do not confirm") {
      _, slot, value in
      if slot.name == "children", case .toMany(let list) = value { return .toMany(Array(list.dropLast())) }
      return value
    },
    reading("minCountIgnored", "reads no more members than the model allows") { _, slot, value in
      guard let most = slot.relationship?.maximumCount, most > 1, case .toMany(let list) = value else { return value }
      return .toMany(Array(list.prefix(most)))
    },
    Fault("deletedStillReferenced", "writes deleted objects again where one led to them") {
      $0.removed = { removed, nodes in
        deleted = removed.map { node in
          let entity = nodes.model.entity(at: node.entity)
          let attributes = entity.slots.filter { !$0.isRelationship }
          return (
            entity.index, nodes.reference(of: node),
            attributes.map { ($0.index, nodes.value(slot: $0.index, of: node)) }
          )
        }
      }
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        guard snapshot.nodes.count > 0 else { return }
        for (entity, reference, values) in deleted where snapshot.nodes.handle(for: reference, entity: entity) == nil {
          let node = try snapshot.nodes.addCacheNode(entity: entity, reference: reference)
          for (slot, value) in values { try snapshot.nodes.set(value, slot: slot, of: node) }
        }
        snapshot.nodes = try snapshot.nodes.canonical()
      }
    },
    slots("needsInverse", "leaves out relationships without inverse") { _, slot, value in
      slot.isRelationship && slot.relationship?.inverseName == nil ? .null : value
    },
    silent(
      "duplicateMembersKept",
      "reads nothing where an object is twice",
      about: [.malformed, .duplicateReference, .danglingReference, .invalidValue]),
  ]

  /// What was deleted last, in this process.
  nonisolated(unsafe) static var deleted: [(entity: Int, reference: ReferenceObject, values: [(Int, StoredValue)])] = []
}
