import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StoreJSON
import StorePredicates

/// Writes objects as JSON: stored attributes by name, related objects inside down to a depth, and beyond it, or where
/// an object occurs again, as references.
struct ObjectJSONWriter {
  static let idKey = "$id"
  static let entityKey = "$entity"
  static let referenceKey = "$ref"

  /// How far relationships are followed; 0 writes references only.
  let depth: Int
  /// Whether IDs, entities and references are written.
  let includesIDs: Bool
  private var written: Set<ObjectIdentifier> = []
  /// Where an object is inside another one: at the fewest steps from the outermost, however it is reached besides.
  private struct Place: Hashable {
    let owner: ObjectIdentifier
    let slot: Int
  }
  private var places: [ObjectIdentifier: Place] = [:]
  /// Keeps the objects that have a place.
  private var placed: [ManagedObject] = []

  init(depth: Int, includesIDs: Bool) {
    // As deep as it can be read again; what is deeper is a reference.
    self.depth = max(0, min(depth, 200))
    self.includesIDs = includesIDs
  }

  mutating func json(_ objects: [ManagedObject]) throws -> JSONValue {
    // What comes later in the list is not written inside an earlier object.
    let listed = Set(objects.map { ObjectIdentifier($0) })
    return .array(try objects.map { try outermost($0, listed) })
  }

  mutating func json(_ object: ManagedObject) throws -> JSONValue { try outermost(object, []) }

  private mutating func outermost(_ object: ManagedObject, _ listed: Set<ObjectIdentifier>) throws -> JSONValue {
    guard written.insert(ObjectIdentifier(object)).inserted else { return reference(to: object) }
    try place(relatedTo: object, listed)
    return try json(object, depth)
  }

  /// Gives each object that is within the depth a place, step by step from the outermost one.
  private mutating func place(relatedTo object: ManagedObject, _ listed: Set<ObjectIdentifier>) throws {
    var next = [object]
    for _ in 0..<depth {
      var reached: [ManagedObject] = []
      for owner in next {
        for slot in owner.entity.slots where slot.isRelationship {
          for other in try owner.objects(forRelationshipNamed: slot.name, holds: false) {
            let id = ObjectIdentifier(other)
            guard !listed.contains(id), written.insert(id).inserted else { continue }
            places[id] = Place(owner: ObjectIdentifier(owner), slot: slot.index)
            reached.append(other)
          }
        }
      }
      if reached.isEmpty { return }
      placed += reached
      next = reached
    }
  }

  private func json(_ object: ManagedObject, _ depth: Int) throws -> JSONValue {
    var members: [(String, JSONValue)] = []
    if includesIDs {
      members.append((Self.idKey, .string(object.objectID.uriRepresentation)))
      members.append((Self.entityKey, .string(object.entity.name)))
    }
    for slot in object.entity.slots {
      switch slot.kind {
      case .attribute(let type):
        guard let property = object.predicateProperty(named: slot.name),
          case .value(let value) = try object.predicateValue(of: property)
        else { continue }
        members.append((slot.name, value.json(isDeclared: type != .undefined)))
      case .toOne:
        let other = try object.objects(forRelationshipNamed: slot.name, holds: false).first
        members.append((slot.name, try other.map { try related($0, object, slot, depth) } ?? .null))
      case .toMany:
        let others = try object.objects(forRelationshipNamed: slot.name, holds: false)
        members.append((slot.name, .array(try others.map { try related($0, object, slot, depth) })))
      }
    }
    if !includesIDs, depth == 0 { members.removeAll { object.entity.relationshipsByName[$0.0] != nil } }
    return .object(members)
  }

  private func related(
    _ object: ManagedObject, _ owner: ManagedObject, _ slot: Slot, _ depth: Int
  ) throws -> JSONValue {
    guard places[ObjectIdentifier(object)] == Place(owner: ObjectIdentifier(owner), slot: slot.index) else {
      return reference(to: object)
    }
    return try json(object, depth - 1)
  }

  private func reference(to object: ManagedObject) -> JSONValue {
    .object([(Self.referenceKey, .string(object.objectID.uriRepresentation))])
  }
}
