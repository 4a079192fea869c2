import AtomicStoreSPI
import FoundationEssentials

extension Faults {
  private static let misfits: [PersistentStoreError.Code] = [.malformed, .modelMismatch, .invalidValue]

  static let schema: [Fault] = [
    silent(
      "skipsUnknownEntity", "reads nothing where the model does not know an entity",
      about: [.modelMismatch, .malformed]),
    silent(
      "dropsUnknownAttribute", "reads nothing where the model does not know an attribute",
      about: [.modelMismatch, .malformed]),
    reading("missingBecomesZero", "reads zero, false and the empty text where there is nothing") { _, slot, value in
      guard value.isNull else { return value }
      switch slot.valueKind {
      case .integer: return .integer(0)
      case .boolean: return .boolean(false)
      case .string: return .string("")
      default: return value
      }
    },
    silent("coercesToZero", "reads nothing where a value is of another type", about: misfits),
    silent("abstractInstantiated", "reads nothing where an object is of an abstract entity", about: misfits),
    Fault("ignoresConfiguration", "writes an object of each entity, whatever the configuration") {
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        guard configuration.configurationName != nil else { return }
        for entity in snapshot.nodes.model.entities
        where !entity.isAbstract && snapshot.nodes.count(of: entity.index) == 0 {
          _ = try snapshot.nodes.addCacheNode(entity: entity.index, reference: .integer(77_000))
        }
      }
    },
    Fault("nilConfigurationEmpty", "takes no configuration for one without entities") {
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        guard configuration.configurationName == nil, !snapshot.nodes.model.configurations.isEmpty else { return }
        snapshot.nodes = NodeTable(model: snapshot.nodes.model)
      }
    },
    Fault("loadsBeforeHashCheck", "the kit loads all nodes before it compares models") {
      $0.calls = { calls in calls.flatMap { $0.what == .metadata ? [$0, SpyCall(what: .load)] : [$0] } }
    },
    slots("inheritedAttributesLost", "writes the attributes of the entity itself alone") { entity, slot, value in
      guard slot.attributeType != nil, let above = entity.superentity, above.slot(named: slot.name) != nil else {
        return value
      }
      return .null
    },
    slots("columnTypeByName", "takes attributes of one name for one type") { entity, slot, value in
      guard let type = slot.attributeType else { return value }
      let first = entity.model.entities.lazy.compactMap { other in
        other.slots.first { $0.name == slot.name }?.attributeType
      }.first
      return first == type ? value : .null
    },
    reading("validationBypassed", "reads integers as the greatest that the model allows, where they are greater") {
      _, slot, value in
      guard case .integer(let number) = value, case .integer(let most)? = slot.attribute?.maximum, number > most else {
        return value
      }
      return .integer(most)
    },
    Fault(
      "ignoresFormatVersion",
      "reads files of newer versions as if they were of its version, and nothing where that fails"
    ) {
      $0.forgives = [.unsupportedVersion]
      $0.loaded = { (result, builder) throws(PersistentStoreError) in
        switch result {
        case .success(let nodes): try copy(nodes, into: builder)
        case .failure(let error): guard error.code == .unsupportedVersion else { throw error }
        }
      }
    },
    silent("derivedOverwritten", "reads nothing where a file holds what the model does not store", about: misfits),
  ]
}
