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

  init(depth: Int, includesIDs: Bool) {
    // As deep as it can be read again; what lies deeper is a reference.
    self.depth = max(0, min(depth, 200))
    self.includesIDs = includesIDs
  }

  mutating func json(_ objects: [ManagedObject]) throws -> JSONValue {
    // What comes later in the list is not written inside an earlier object.
    let listed = Set(objects.map { ObjectIdentifier($0) })
    return .array(try objects.map { try json($0, depth, listed) })
  }

  mutating func json(_ object: ManagedObject) throws -> JSONValue { try json(object, depth, []) }

  private mutating func json(
    _ object: ManagedObject, _ depth: Int, _ listed: Set<ObjectIdentifier>
  ) throws -> JSONValue {
    written.insert(ObjectIdentifier(object))
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
        let other = try object.objects(forRelationshipNamed: slot.name).first
        members.append((slot.name, try other.map { try related($0, depth, listed) } ?? .null))
      case .toMany:
        let others = try object.objects(forRelationshipNamed: slot.name)
        members.append((slot.name, .array(try others.map { try related($0, depth, listed) })))
      }
    }
    if !includesIDs, depth == 0 { members.removeAll { object.entity.relationshipsByName[$0.0] != nil } }
    return .object(members)
  }

  private mutating func related(
    _ object: ManagedObject, _ depth: Int, _ listed: Set<ObjectIdentifier>
  ) throws -> JSONValue {
    let id = ObjectIdentifier(object)
    guard depth > 0, !written.contains(id), !listed.contains(id) else {
      return .object([(Self.referenceKey, .string(object.objectID.uriRepresentation))])
    }
    return try json(object, depth - 1, listed)
  }
}
