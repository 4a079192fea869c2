/// Something wrong or questionable in a model.
public struct ModelProblem: Sendable, Hashable, CustomStringConvertible {
  public enum Severity: String, Sendable, Hashable { case error, warning }
  /// The kind of problem.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    case emptyName, duplicateEntity, duplicateProperty, redefinedProperty, inheritanceCycle, tooManyEntities, tooManyProperties
    case missingDestination, missingInverse, inverseMismatch, noInverse, noActionRule, orderedToOne
    case countsReversed, boundsReversed, defaultOfWrongType, boundOfWrongType, missingDerivation, unreadableDerivation, derivationCycle
    case unknownComposite, compositeCycle, compositeTooLarge, duplicateComposite
    case unknownConfigurationEntity, duplicateConfiguration, unknownConstraintProperty, unknownIndexProperty
    case unknownFetchEntity, duplicateFetchRequest
  }
  /// Whether the model is refused for its size, not for a contradiction.
  public var isLimit: Bool { severity == .error && [.tooManyEntities, .tooManyProperties, .compositeTooLarge].contains(code) }
  public var severity: Severity
  public var code: Code
  public var entityName: String?
  public var propertyName: String?
  public var message: String

  public init(
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

/// A model that contradicts itself: all problems at once.
public struct InvalidModelError: Error, Sendable, CustomStringConvertible {
  public var problems: [ModelProblem]
  public init(problems: [ModelProblem]) { self.problems = problems }
  public var errors: [ModelProblem] { problems.filter { $0.severity == .error } }
  public var description: String { "invalid model: " + errors.map(\.description).joined(separator: "; ") }
}
