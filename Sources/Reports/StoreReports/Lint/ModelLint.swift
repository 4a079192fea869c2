public import AtomicStoreSPI

/// Finds what is questionable in a model: what Xcode warns of, and what experience says.
///
/// ```swift
/// var lint = ModelLint()
/// lint.disabledRules = ["name-case"]
/// for finding in lint.findings(in: model.description) { print(finding) }
/// ```
///
/// A model can switch rules off for an entity or a property itself: with an entry ``userInfoKey`` in its user info,
/// whose value names rules, separated by spaces.
public struct ModelLint: Sendable {
  /// The key in the user info of an entity or property.
  public static let userInfoKey = "atomicstore.lint.disable"
  /// The names of rules that are not applied. `invalid-model` cannot be switched off.
  public var disabledRules: Set<String> = []

  /// Creates a lint with all rules.
  public init() {}

  /// Returns what is questionable in a model: by entity and property in the model's order, those of the model as a
  /// whole first.
  public func findings(in model: ModelDescription) -> [LintFinding] {
    var list = LintList()
    let problems = model.problems()
    for problem in problems { list.add(problem) }
    if !problems.contains(where: { $0.severity == .error }) {
      let compiled = ManagedObjectModel(unchecked: model)
      NameLint(compiled).run(&list)
      AttributeLint(compiled).run(&list)
      DeleteRuleLint(compiled).run(&list)
      FetchLint(compiled).run(&list)
      DerivationLint(compiled).run(&list)
    }
    return chosen(list, model)
  }

  /// Returns what looks like a change to an older version of a model that migration would not understand.
  package func findings(from old: ModelDescription, to new: ModelDescription) -> [LintFinding] {
    guard !(old.problems() + new.problems()).contains(where: { $0.severity == .error }) else { return [] }
    var list = LintList()
    VersionLint(from: ManagedObjectModel(unchecked: old), to: ManagedObjectModel(unchecked: new)).run(&list)
    return chosen(list, new)
  }

  /// Without those that are switched off, in the model's order.
  private func chosen(_ list: LintList, _ model: ModelDescription) -> [LintFinding] {
    var order: [ScalarString: (place: Int, entity: EntityDescription)] = [:]
    var next = model.entities
    // Iteratively: inheritance may be deep.
    while let entity = next.popLast() {
      order[ScalarString(entity.name)] = (0, entity)
      next += entity.subentities
    }
    for (place, name) in order.keys.sorted().enumerated() { order[name]?.place = place + 1 }
    func place(_ finding: LintFinding) -> (Int, Int) {
      guard let entity = finding.entityName.flatMap({ order[ScalarString($0)] }) else { return (0, 0) }
      guard let property = finding.propertyName else { return (entity.place, 0) }
      let index = entity.entity.properties.firstIndex { ScalarString($0.name) == ScalarString(property) }
      return (entity.place, (index ?? entity.entity.properties.count) + 1)
    }
    let kept = list.findings.filter { finding in
      guard finding.rule != LintList.invalidModel else { return true }
      guard !disabledRules.contains(finding.rule) else { return false }
      let entity = finding.entityName.flatMap { order[ScalarString($0)]?.entity }
      let property = finding.propertyName.flatMap { name in
        entity?.properties.first { ScalarString($0.name) == ScalarString(name) }
      }
      return !Self.isDisabled(finding.rule, entity?.userInfo) && !Self.isDisabled(finding.rule, property?.userInfo)
    }
    let keys = kept.map(place)
    return kept.indices.sorted { (keys[$0].0, keys[$0].1, $0) < (keys[$1].0, keys[$1].1, $1) }.map { kept[$0] }
  }

  private static func isDisabled(_ rule: String, _ userInfo: [UserInfoEntry]?) -> Bool {
    userInfo?.contains { $0.key == userInfoKey && $0.value.split(separator: " ").contains { $0 == rule } } ?? false
  }
}

extension PropertyDescription {
  fileprivate var userInfo: [UserInfoEntry] {
    switch self {
    case .attribute(let attribute): attribute.userInfo
    case .relationship(let relationship): relationship.userInfo
    case .fetchedProperty(let property): property.userInfo
    }
  }
}
