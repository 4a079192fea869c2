import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// A graph that a check asks a store to keep: what it must give back.
struct Graph: Sendable {
  struct Object: Sendable {
    /// What the check calls it.
    var label: String
    var entity: String
    var values: [ScalarKey: StoredValue] = [:]
    /// By relationship, the labels of the objects that it leads to, in order.
    var links: [ScalarKey: [String]] = [:]
  }
  var model: ModelDescription
  var objects: [Object] = []

  init(_ model: ModelDescription, _ objects: [Object] = []) {
    self.model = model
    self.objects = objects
  }

  /// One entity with attributes, and an object for each of the values of one of them.
  static func values(_ type: AttributeType, _ values: [StoredValue], name: String = "value") -> Graph {
    var graph = Graph(Models.attributes([(name, type)]))
    for (place, value) in values.enumerated() {
      graph.objects.append(
        Object(label: "object \(place)", entity: "Sample", values: value.isNull ? [:] : [ScalarKey(name): value]))
    }
    return graph
  }

  /// Whether a value has more than a mebibyte.
  var hasLongValues: Bool {
    objects.contains { object in
      object.values.values.contains { value in
        switch value {
        case .string(let text): text.utf8.count > 1 << 20
        case .data(let data): data.count > 1 << 20
        default: false
        }
      }
    }
  }

  /// What a store that keeps the graph has, given what it calls the objects.
  func text(_ references: [String: String]) throws -> GraphText {
    var text = GraphText()
    let frozen = try Models.frozen(model)
    for object in objects {
      guard let name = references[object.label], let entity = frozen.entity(named: object.entity) else {
        throw ExpectationFailure(expected: "'\(object.label)' was given a reference", actual: "it was not saved")
      }
      var values: [GraphText.Key: String] = [:]
      for slot in entity.slots {
        if let links = object.links[slot.name], !links.isEmpty {
          let targets = try links.map { label in
            guard let target = references[label] else {
              throw ExpectationFailure(expected: "'\(label)' was given a reference", actual: "it was not saved")
            }
            return target
          }
          let list = slot.isOrdered ? targets : targets.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
          values[GraphText.Key(slot.name)] = "→ " + list.joined(separator: " | ")
        } else if let value = object.values[slot.name] ?? slot.attribute?.defaultValue,
          let shown = GraphText.value(value)
        {
          values[GraphText.Key(slot.name)] = shown
        }
      }
      text.objects[GraphText.Key(name)] = values
    }
    return text
  }
}
