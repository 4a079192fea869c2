import AtomicStoreSPI

/// Findings as they come.
struct LintList {
  static let invalidModel = "invalid-model"
  private(set) var findings: [LintFinding] = []

  mutating func add(_ rule: String, _ entity: String?, _ property: String?, _ message: String) {
    findings.append(
      LintFinding(
        rule: rule, level: LintRule.named(rule)?.level ?? .warning, entityName: entity, propertyName: property,
        message: message))
  }

  /// Adds a problem that the check of the model found.
  mutating func add(_ problem: ModelProblem) {
    let rule =
      switch (problem.severity, problem.code) {
      case (.error, _): Self.invalidModel
      case (_, .noInverse): "no-inverse"
      case (_, .inverseMismatch): "one-way-inverse"
      case (_, .noActionRule): "no-action-rule"
      case (_, .orderedToOne): "ordered-to-one"
      case (_, .boundsReversed): "empty-range"
      case (_, .unknownConfigurationEntity): "unknown-configuration-entity"
      case (_, .unknownIndexProperty): "unknown-index-property"
      default: Self.invalidModel
      }
    add(rule, problem.entityName, problem.propertyName, problem.message)
  }
}
