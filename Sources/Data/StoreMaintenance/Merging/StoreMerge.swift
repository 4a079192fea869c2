public import AtomicStoreSPI

/// Merges the objects of several stores of one model into one graph.
///
/// ```swift
/// var merge = StoreMerge()
/// merge.matching = .properties(["Author": ["name"]])
/// merge.conflictRule = .last
/// let result = try merge.merge([old, new])
/// ```
///
/// References are kept where they do not collide, and reassigned where they do. Two objects that are the same, by
/// ``matching``, become one, property by property; where both have other values, ``conflictRule`` decides.
///
/// With a base, the version that two stores come from, ``merge(base:_:_:)`` merges their changes: what only one side
/// changed is taken, as git does with lines. ``merge(_:base:)`` merges metadata, too.
///
/// A result in which objects would break a rule of the model or a uniqueness constraint, which they do not break in one
/// of the merged stores, is refused as a conflict.
public struct StoreMerge: Sendable {
  /// Which objects of two stores are the same.
  public enum Matching: Sendable, Hashable {
    /// None: all objects of all stores are in the result.
    case nothing
    /// Those of the same hierarchy and reference: for parts and versions of one store.
    case references
    /// Those with the same values of these properties, by entity. Objects of other entities are not matched.
    case properties([String: [String]])
    /// Those with the same values of a uniqueness constraint.
    case uniquenessConstraints
  }
  /// Whose value an object has where two stores differ.
  public enum ConflictRule: Sendable, Hashable {
    /// Neither: it is an error.
    case refuse
    /// That of the store that comes first.
    case first
    /// That of the store that comes last.
    case last
    /// That of the object whose value of this property is greater: a date, a number. An object without the property, or
    /// with the same value, makes it an error.
    case newest(String)
  }

  /// Which objects are the same. With a base they are always those of the same reference.
  public var matching = Matching.references
  /// What happens where two stores have other values.
  public var conflictRule = ConflictRule.refuse
  /// The greatest of the last references that the stores have given out, from their metadata: those that objects get
  /// again follow on from it, or from the greatest one that an object has.
  package var lastReference: Int64 = 0
  /// Whether the merge may leave a to-many empty that is not optional and has no minimum count, as arrays of SwiftData
  /// are. False by default; what is empty in one of the stores is kept all the same.
  package var allowsEmptyNonOptionalToMany = false

  /// Creates a merge that matches by reference and refuses conflicts.
  public init() {}

  /// What two stores have other values of.
  public struct Conflict: Sendable, Hashable, CustomStringConvertible {
    /// The object, by its reference in the result; nil for metadata.
    public var object: ObjectReference?
    /// The property, or the metadata key; nil where one side deleted the object and the other changed it.
    public var property: String?
    /// The value of the store that comes first, as text; for an object that it deleted `deleted`.
    public var first: String
    /// The value of the other.
    public var second: String
    /// Another object of the result that has the same values of a uniqueness constraint, which ``property`` lists. No
    /// rule settles such a conflict. Nil for all others.
    public var sameAs: ObjectReference?
    /// The rule of the model that the object would break in the result, in one sentence; ``first`` and ``second`` are
    /// empty. No rule of the merge settles such a conflict. Nil for all others.
    public var rule: String?

    init(object: ObjectReference, property: String?, first: String, second: String) {
      self.object = object
      self.property = property
      self.first = first
      self.second = second
    }

    init(metadataKey: String, first: String, second: String) {
      property = metadataKey
      self.first = first
      self.second = second
    }

    /// Two objects with the same values of a uniqueness constraint.
    init(_ object: ObjectReference, sameAs other: ObjectReference, properties: [String], values: String) {
      self.init(object: object, property: properties.joined(separator: ", "), first: values, second: values)
      sameAs = other
    }

    /// An object of the result that would break a rule of the model.
    init(_ object: ObjectReference, property: String?, rule: String) {
      self.init(object: object, property: property, first: "", second: "")
      self.rule = rule
    }

    public var description: String {
      if let object, let rule { return "\(object)\(property.map { "." + $0 } ?? ""): \(rule)" }
      guard let object else { return "metadata \(property ?? ""): \(first) or \(second)" }
      if let sameAs { return "\(object).\(property ?? ""): '\(second)' is also that of \(sameAs), and must be unique" }
      return "\(object)\(property.map { "." + $0 } ?? ""): \(first) or \(second)"
    }
  }

  /// Conflicts that no rule settled. Nothing was merged.
  public struct ConflictError: Error, Sendable, CustomStringConvertible {
    /// All of them, in the order of the objects.
    public var conflicts: [Conflict]
    public var description: String {
      "the stores contradict each other:\n" + conflicts.map { "  \($0)" }.joined(separator: "\n")
    }
  }

  /// What was merged.
  public struct Result: Sendable {
    /// All objects, in canonical order.
    public var nodes: NodeTable
    /// Objects of the second store and those after it that are in the result under another reference: how many, by
    /// entity.
    package var renumbered: [String: Int]
    /// Conflicts that the rule settled.
    package var settled: [Conflict]
    /// The metadata of the first store with the entries that the other stores added, changed or removed; empty where
    /// graphs were merged without metadata.
    package var metadata = PropertyListDictionary()
  }
}
