package import AtomicStoreSPI
package import ModelFiles
package import StoreCoordination

/// How the objects of one model become those of another: for each entity and property where its values come from, and
/// what prevents it.
///
/// It is made by inference from the two models (`init(from:to:options:)`), perhaps with a ``MappingFile``, and
/// applied to a node table.
public struct ModelMapping: Sendable {
  /// Where the values of a property come from.
  package enum Origin: Sendable, Hashable {
    /// From a stored property of the source, as they are.
    case kept(String)
    /// From a stored property of the source, each value converted exactly.
    case converted(String)
    /// The same value for all objects; null for a property that is optional and new.
    case constant(StoredValue)
    /// From an expression over the source's object.
    case expression(String)
    /// From the other end of a relationship.
    case inverse
    /// What the objects that an expression over the source's object leads to become, by mappings that are numbered as
    /// in ``ModelMapping/entities``.
    case objects(String, by: [Int])
  }
  /// How a stored property is filled.
  package struct Property: Sendable, Hashable {
    /// The name in the destination.
    package var name: String
    /// Where its values come from.
    package var origin: Origin
    /// The value for objects whose source has none; nil for null.
    var replacementForNull: StoredValue?
    /// The property of the source that it was, if its kind or type is another and its values are not taken.
    package var mismatchedSource: String?
  }
  /// How the objects of an entity are made.
  package struct EntityMapping: Sendable, Hashable {
    /// The name in the destination.
    package var name: String
    /// The entity of the source whose objects become objects of this one; nil for a new entity.
    package var sourceName: String?
    /// The stored properties, inherited ones included, in the order of the destination's slots.
    package var properties: [Property]
    /// Stored properties of the source that no property takes its values from, in the order of its slots.
    package var removedProperties: [String]
    /// The condition, as text, that objects of the source fulfil; nil for all of them.
    var filter: String? = nil
  }

  /// What a mapping may do beyond what Core Data infers.
  public struct Options: Sendable {
    /// Convert values to another type, where every one of them converts exactly: numbers to wider ones, anything to
    /// text, texts to URIs, UUIDs, dates and numbers.
    public var convertsTypes = false
    /// What a file says of entities and properties; it overrides inference.
    public var file: MappingFile?
    /// Leave properties null that inference cannot fill, instead of refusing: for a handler, which fills them.
    public var leavesGaps = false
    /// Xcode's mapping models, of which the one for the two models replaces inference; empty for inference.
    package var mappingModels: [(path: String, model: MappingModel)] = []

    /// Creates options for what Core Data infers, and nothing else.
    public init() {}
  }

  /// The model of the objects that are mapped.
  let source: ManagedObjectModel
  /// The model of what they become.
  let destination: ManagedObjectModel
  /// The entities of the destination: at least one mapping for each, in its order; from a mapping model perhaps
  /// several.
  package internal(set) var entities: [EntityMapping]
  /// Entities of the source that become none of the destination, in its order.
  package internal(set) var removedEntities: [String]
  /// Why the mapping cannot be applied; empty if it can.
  package internal(set) var obstacles: [MappingObstacle]
  /// The path of the mapping model that it was read from; nil for an inferred one.
  var mappingModelPath: String?
  /// Entities of the source that a mapping model removes: the loss of their objects is intended.
  var droppedEntities: Set<String> = []

  /// What an entity of the destination is made of; nil if a mapping model says so, which may make it of several.
  func mapping(of entity: Entity) -> EntityMapping? {
    mappingModelPath == nil ? entities[entity.index] : nil
  }

  /// Names of the destination that the source has under another name, `Author.fullName` with `Author.name`, in the
  /// destination's order; entities before their properties.
  package var renamings: [(new: String, old: String)] {
    var result: [(String, String)] = []
    for entity in entities {
      guard let sourceName = entity.sourceName else { continue }
      if sourceName != entity.name { result.append((entity.name, sourceName)) }
      for property in entity.properties {
        switch property.origin {
        case .kept(let name), .converted(let name):
          if name != property.name { result.append(("\(entity.name).\(property.name)", "\(sourceName).\(name)")) }
        case .constant, .expression, .inverse, .objects: break
        }
      }
    }
    return result
  }
}

/// Why objects of one model cannot become those of another.
public struct MappingObstacle: Sendable, Hashable, CustomStringConvertible {
  /// The entity of the destination, or of the source where the destination has none.
  public var entityName: String
  /// The property; nil for the entity as a whole.
  public var propertyName: String?
  /// What is in the way, such as `String → URI` or `new, required, no default`.
  public var reason: String
  /// How many objects are concerned; nil where no one counted.
  package var objectCount: Int?

  public var description: String {
    let subject = propertyName.map { "\(entityName).\($0)" } ?? entityName
    return "\(subject): \(reason)" + (objectCount.map { " (\($0) object\($0 == 1 ? "" : "s"))" } ?? "")
  }
}

/// A migration that cannot be done. Nothing was changed.
public struct MigrationError: Error, Sendable, CustomStringConvertible {
  /// What is in the way: all of it.
  public var obstacles: [MappingObstacle]
  /// What would be lost, where that was not allowed.
  package var losses: [Loss]
  /// The names of the models of the step, for messages.
  public var step: String?
  /// The path of the mapping model that was followed; nil for none.
  var mappingModelPath: String?

  public var description: String {
    func list(_ title: String, _ lines: [some CustomStringConvertible]) -> String? {
      lines.isEmpty ? nil : title + ":\n" + lines.map { "  \($0)" }.joined(separator: "\n")
    }
    let title = mappingModelPath.map { "the mapping model \($0) cannot be followed" }
    let parts = [
      list(title ?? "the migration cannot be inferred", obstacles), list("the migration would lose values", losses),
    ]
    return (step.map { "\($0): " } ?? "") + parts.compactMap(\.self).joined(separator: "\n")
  }
}
