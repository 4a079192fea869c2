/// Something that ``ModelLint`` looks for.
package struct LintRule: Sendable, Hashable {
  /// How much a finding matters.
  package enum Level: String, Sendable, Hashable, CaseIterable, Comparable {
    /// Worth knowing; most models have some.
    case note
    /// Probably not what the author meant.
    case warning
    /// The model cannot be used.
    case error

    package static func < (one: Level, other: Level) -> Bool {
      (allCases.firstIndex(of: one) ?? 0) < (allCases.firstIndex(of: other) ?? 0)
    }
  }
  /// The name, by which the rule can be switched off.
  package let name: String
  /// How much its findings matter.
  package let level: Level
  /// What is questionable, and why, in one sentence.
  package let summary: String

  /// All rules, by name.
  package static let all: [LintRule] = [
    LintRule(
      name: "cascade-cycle", level: .warning,
      summary: "Cascade rules lead from an object back to others like it: deleting one may delete everything."),
    LintRule(
      name: "cascade-to-shared", level: .warning,
      summary: "A cascade rule deletes an object that others refer to as well."),
    LintRule(
      name: "derivation-cycle", level: .warning, summary: "An attribute is derived from itself, and may keep changing."),
    LintRule(
      name: "empty-range", level: .warning, summary: "The minimum is greater than the maximum: no value is valid."),
    LintRule(name: "invalid-model", level: .error, summary: "The model contradicts itself, and cannot be used."),
    LintRule(
      name: "invalid-predicate", level: .warning,
      summary: "The predicate of a fetch request cannot be parsed, or does not fit its entity."),
    LintRule(
      name: "missing-renaming-identifier", level: .warning,
      summary:
        "Something looks renamed since the previous version, but has no renaming identifier: migration would lose its values."
    ),
    LintRule(
      name: "name-case", level: .note,
      summary: "Entities begin with a capital letter, and properties with a small one: Xcode requires it."),
    LintRule(
      name: "no-action-rule", level: .warning,
      summary: "With the delete rule No Action, relationships keep leading to objects that were deleted."),
    LintRule(
      name: "no-inverse", level: .warning,
      summary:
        "Without an inverse, nothing keeps the other end of a relationship right when objects change or are deleted."),
    LintRule(
      name: "nullify-required", level: .warning,
      summary: "Deleting an object empties a required relationship of others, so that the save fails."),
    LintRule(
      name: "one-way-inverse", level: .warning,
      summary: "The inverse of a relationship does not name it back: each end changes without the other."),
    LintRule(
      name: "optional-boolean", level: .note,
      summary: "An optional boolean has a third state, which comparisons with false do not find."),
    LintRule(
      name: "optional-constraint", level: .warning,
      summary: "A uniqueness constraint of an optional attribute does not concern objects without a value."),
    LintRule(
      name: "optional-scalar", level: .warning,
      summary: "An optional attribute is read as a scalar: no value looks like zero or false."),
    LintRule(name: "ordered-to-one", level: .warning, summary: "Order has no meaning for a to-one relationship."),
    LintRule(
      name: "predicate-keyword", level: .note,
      summary: "The name is a keyword of predicates, where it must be written with a number sign, as #size."),
    LintRule(
      name: "reserved-name", level: .warning,
      summary: "The name is one of NSManagedObject or of Objective-C, and a class with it does not work."),
    LintRule(
      name: "retired-index", level: .note,
      summary: "Indexes of Xcode 8 and earlier are ignored by newer versions; fetch indexes replace them."),
    LintRule(
      name: "retired-transformer", level: .warning,
      summary: "The transformer decodes any class, which Apple has retired as insecure."),
    LintRule(
      name: "shared-class", level: .warning,
      summary: "Two entities that do not inherit from each other share a class, which then does not know its entity."),
    LintRule(
      name: "similar-names", level: .warning,
      summary: "Two names differ only in case, or in characters that look alike."),
    LintRule(
      name: "unindexed-constraint", level: .note,
      summary:
        "No fetch index begins with the attributes of a uniqueness constraint: each save searches for equal values."),
    LintRule(
      name: "unknown-configuration-entity", level: .warning,
      summary: "A configuration contains an entity that does not exist."),
    LintRule(
      name: "unknown-index-property", level: .warning, summary: "An index is of a property that does not exist."),
    LintRule(
      name: "untraced-derivation", level: .warning,
      summary:
        "A derived attribute reads what leads back to no object: it shows an old value until its own object is saved."),
    LintRule(
      name: "unused-abstract-entity", level: .note,
      summary: "An abstract entity without sub-entities can have no objects."),
  ]

  /// The rule with that name, or nil.
  package static func named(_ name: String) -> LintRule? { all.first { $0.name == name } }
}

/// Something questionable in a model.
public struct LintFinding: Sendable, Hashable, CustomStringConvertible {
  /// The name of the rule.
  public var rule: String
  /// How much it matters.
  package var level: LintRule.Level
  /// The entity; nil for the model as a whole.
  public var entityName: String?
  /// The property; nil for the entity as a whole.
  public var propertyName: String?
  /// What is questionable, without the names of entity and property.
  public var message: String

  /// The entity and the property, such as `Employee.name`; empty for the model as a whole.
  package var subject: String {
    guard let propertyName else { return entityName ?? "" }
    return entityName.map { "\($0).\(propertyName)" } ?? propertyName
  }

  public var description: String {
    "\(level.rawValue): \(subject.isEmpty ? "" : "\(subject): ")\(message) [\(rule)]"
  }
}
