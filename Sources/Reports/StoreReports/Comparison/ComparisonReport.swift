package import AtomicStoreSPI
package import StoreCoordination

/// A page about what differs between two stores: counts by entity, each changed property with both values, objects
/// that only one store has, models and metadata.
///
/// Like the page of ``StoreReport`` it is one file that loads nothing, and what the stores contain is shown as text.
/// Everything is there without scripts; a script filters.
package struct ComparisonReport: Sendable {
  /// One of the two stores.
  package struct Side: Sendable {
    var name: String
    var type: String
    /// Its objects, by the names and types of the other store's model where the two were made comparable.
    var nodes: NodeTable
    /// The model that it was saved with.
    var model: ManagedObjectModel

    package init(name: String, type: String, nodes: NodeTable, model: ManagedObjectModel) {
      self.name = name
      self.type = type
      self.nodes = nodes
      self.model = model
    }
  }

  /// The maximum number of objects of each entity that are listed as changed, as added, and as removed.
  package var maximumRowCount = 1_000
  /// How many characters of a value are on the page, at most.
  var maximumValueLength = 400
  /// How many members that a to-many gained or lost are on the page, at most.
  var maximumMemberCount = 50

  let first: Side
  let second: Side
  /// What only concerns the stores as a whole: models, metadata, UUIDs.
  let general: [GraphDifference]
  /// What was not compared, and why.
  let remarks: [String]
  let entities: [EntityChanges]
  /// How many differences there are, each property of an object counted.
  package let differenceCount: Int

  /// What differs in the objects of an entity, sub-entities apart.
  struct EntityChanges: Sendable {
    var name: String
    /// How many objects each store has.
    var counts: (first: Int, second: Int)
    var added: [ObjectReference] = []
    var removed: [ObjectReference] = []
    /// The objects that both have, each with its differences.
    var changed: [(object: ObjectReference, differences: [GraphDifference])] = []

    var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
  }

  /// Sorts what a comparison found.
  ///
  /// - Parameters:
  ///   - differences: In the order in which a comparison finds them: those of an object beside each other.
  ///   - remarks: What was not compared.
  package init(_ first: Side, _ second: Side, differences: [GraphDifference], remarks: [String] = []) {
    self.first = first
    self.second = second
    self.remarks = remarks
    differenceCount = differences.count
    general = differences.filter { $0.object == nil }
    var found: [EntityChanges] = []
    var places: [ScalarString: Int] = [:]
    func place(_ name: String) -> Int {
      if let place = places[ScalarString(name)] { return place }
      func count(_ nodes: NodeTable) -> Int { nodes.model.entity(named: name).map { nodes.count(of: $0.index) } ?? 0 }
      found.append(EntityChanges(name: name, counts: (count(first.nodes), count(second.nodes))))
      places[ScalarString(name)] = found.count - 1
      return found.count - 1
    }
    for entity in second.nodes.model.entities + first.nodes.model.entities where !entity.isAbstract {
      _ = place(entity.name)
    }
    for difference in differences {
      guard let object = difference.object else { continue }
      let place = place(object.entityName)
      switch difference.kind {
      case .inserted: found[place].added.append(object)
      case .deleted: found[place].removed.append(object)
      default:
        if let last = found[place].changed.last, last.object == object {
          found[place].changed[found[place].changed.count - 1].differences.append(difference)
        } else {
          found[place].changed.append((object, [difference]))
        }
      }
    }
    entities = found
  }

  /// How many objects only the second store has, only the first, and both with different values.
  package var counts: (added: Int, removed: Int, changed: Int) {
    entities.reduce((0, 0, 0)) { ($0.0 + $1.added.count, $0.1 + $1.removed.count, $0.2 + $1.changed.count) }
  }
}
