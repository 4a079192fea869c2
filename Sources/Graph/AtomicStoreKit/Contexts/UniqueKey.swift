import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination

/// The values of a uniqueness constraint: numbers compare by value, strings by Unicode scalars, objects by identity.
struct UniqueKey: Hashable {
  enum Part: Hashable {
    case value(StoredValue)
    /// An object that has a reference, in the hierarchy of that root entity.
    case reference(root: Int, ReferenceObject)
    case new(ObjectIdentifier)

    init(_ value: StoredValue) { self = .value(value) }

    init(_ object: ManagedObject) {
      if let reference = object.reference, !object.flags.contains(.inserted) || object.flags.contains(.permanent) {
        self = .reference(root: object.plan.root, reference)
      } else {
        self = .new(ObjectIdentifier(object))
      }
    }
  }

  private let first: Part
  /// Empty for a constraint of one property, which then needs no allocation.
  private let rest: [Part]

  /// Returns nil if a part is nil: null is not equal to anything.
  init?(_ properties: [Int], _ part: (Int) -> Part?) {
    guard let leading = properties.first, let first = part(leading) else { return nil }
    self.first = first
    var rest: [Part] = []
    for p in properties.dropFirst() {
      guard let next = part(p) else { return nil }
      rest.append(next)
    }
    self.rest = rest
  }

  /// The key of a constraint of one attribute.
  init(_ value: StoredValue) {
    first = Part(value)
    rest = []
  }

  /// The value, if the constraint is of one attribute.
  var single: StoredValue? {
    guard rest.isEmpty, case .value(let value) = first else { return nil }
    return value
  }

  /// The key of an object as it is in its context.
  init?(_ properties: [Int], of object: ManagedObject) {
    self.init(properties) { p in
      if object.plan.properties[p].kind == .toOne { return object.toOneObject(p).map { Part($0) } }
      let value = object.storedValue(p)
      return value.isNull ? nil : Part(value)
    }
  }

  /// The key of a row of a store.
  init?(_ properties: [Int], of node: NodeHandle, in version: NodeVersion, _ cache: StoreCache) {
    let plan = cache.plan.entities[node.entity]
    self.init(properties) { p in
      let property = plan.properties[p]
      guard property.slot >= 0 else { return nil }
      if property.kind == .toOne {
        return version.toOne(slot: property.slot, of: node).map { other in
          .reference(root: cache.plan.entities[other.entity].root, version.reference(of: other))
        }
      }
      guard case .attribute(let type) = property.kind else { return nil }
      let value: StoredValue
      if version.hasDeferredValues(entity: node.entity, slot: property.slot),
        version.nodes.isDeferred(slot: property.slot, of: node)
      {
        // A value that cannot be read is reported by its next reader: the save itself.
        value = (try? cache.store.value(slot: property.slot, of: node)) ?? .null
      } else {
        value = version.attribute(slot: property.slot, type: type, of: node)
      }
      return value.isNull ? nil : Part(value)
    }
  }
}
