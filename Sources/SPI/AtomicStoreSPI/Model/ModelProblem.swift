/// An error or a warning about a model.
public struct ModelProblem: Sendable, Hashable, CustomStringConvertible {
  /// Whether a problem makes a model unusable.
  public enum Severity: String, Sendable, Hashable {
    /// The model contradicts itself, or exceeds a limit, and is refused.
    case error
    /// The model can be used, but is probably not what its author meant.
    case warning
  }
  /// The kind of problem.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// An entity, property, composite, configuration or fetch request has no name.
    case emptyName
    /// Two entities have the same name.
    case duplicateEntity
    /// Two properties of an entity, or two parts of a composite, have the same name.
    case duplicateProperty
    /// An entity declares a property that it inherits.
    case redefinedProperty
    /// An entity is its own super-entity, or the inheritance is too deep.
    case inheritanceCycle
    /// There are more entities than the limit.
    case tooManyEntities
    /// An entity, or all together, have more properties than the limit, inherited ones and parts of composites
    /// included.
    case tooManyProperties
    /// A relationship has no destination entity, or one that does not exist.
    case missingDestination
    /// A relationship names an inverse that does not exist.
    case missingInverse
    /// Two relationships name each other but do not lead to each other's entities, or only one names the other (a
    /// warning).
    case inverseMismatch
    /// A relationship has no inverse (a warning).
    case noInverse
    /// A delete rule is `No Action` (a warning).
    case noActionRule
    /// A to-one relationship is marked as ordered (a warning).
    case orderedToOne
    /// The minimum count of a relationship is greater than its maximum count, or one of them is negative.
    case countsReversed
    /// An attribute's minimum value or length is greater than its maximum, so that no value is valid (a warning).
    case boundsReversed
    /// A default value is not of the attribute's type.
    case defaultOfWrongType
    /// A bound is not of the attribute's type, or does not apply to that type.
    case boundOfWrongType
    /// A derived attribute has an empty expression.
    case missingDerivation
    /// A derivation expression cannot be parsed.
    case unreadableDerivation
    /// An attribute is of a composite type that does not exist.
    case unknownComposite
    /// A composite type contains itself.
    case compositeCycle
    /// Composite types are nested too deeply, or have too many parts.
    case compositeTooLarge
    /// Two composite types have the same name.
    case duplicateComposite
    /// A configuration names an entity that does not exist (a warning).
    case unknownConfigurationEntity
    /// Two configurations have the same name.
    case duplicateConfiguration
    /// A uniqueness constraint names a property that does not exist.
    case unknownConstraintProperty
    /// An index names a property that does not exist (a warning).
    case unknownIndexProperty
    /// A fetch request is for an entity that does not exist.
    case unknownFetchEntity
    /// Two fetch request templates have the same name.
    case duplicateFetchRequest
  }
  /// Whether the model is refused because of its size, not because of a contradiction.
  package var isLimit: Bool {
    severity == .error && [.tooManyEntities, .tooManyProperties, .compositeTooLarge].contains(code)
  }
  /// Whether the model is refused.
  public var severity: Severity
  /// The kind of problem, for a program.
  public var code: Code
  /// The entity or composite concerned; nil if the problem concerns the model as a whole.
  public var entityName: String?
  /// The property, configuration or fetch request concerned; nil if the problem concerns the entity.
  public var propertyName: String?
  /// A description of the problem, without the names of entity and property.
  public var message: String

  /// Creates a problem.
  init(
    _ severity: Severity, _ code: Code, entity: String? = nil, property: String? = nil, _ message: String
  ) {
    self.severity = severity
    self.code = code
    self.entityName = entity
    self.propertyName = property
    self.message = message
  }

  public var description: String {
    var place = entityName ?? ""
    if let propertyName { place += place.isEmpty ? propertyName : ".\(propertyName)" }
    return place.isEmpty ? message : "\(place): \(message)"
  }
}

/// The error for an invalid model, with all its problems.
public struct InvalidModelError: Error, Sendable, CustomStringConvertible {
  /// All problems of the model, warnings included.
  public var problems: [ModelProblem]
  /// Creates an error from a list of problems.
  init(problems: [ModelProblem]) { self.problems = problems }
  /// The problems that make the model unusable, without warnings.
  public var errors: [ModelProblem] { problems.filter { $0.severity == .error } }
  public var description: String { "invalid model: " + errors.map(\.description).joined(separator: "; ") }
}
