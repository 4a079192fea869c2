extension ModelDescription {
  /// Returns one model with the entities of several: the counterpart of `NSManagedObjectModel(byMerging:)`.
  ///
  /// An entity, composite or fetch request template that several models describe in the same way is one. Configurations
  /// with the same name are united. Relationships may lead to entities of another one of the models.
  ///
  /// - Throws: ``InvalidModelError`` with every name that two of the models describe differently. Whether the result is
  ///   a valid model is checked when it is compiled.
  public init(merging models: [ModelDescription]) throws(InvalidModelError) {
    self.init()
    var problems: [ModelProblem] = []
    func add<Part: Equatable>(
      _ part: Part, to list: inout [Part], named name: (Part) -> String, _ kind: String, _ code: ModelProblem.Code
    ) {
      let own = ScalarString(name(part))
      guard let known = list.first(where: { ScalarString(name($0)) == own }) else { return list.append(part) }
      guard known != part else { return }
      problems.append(
        ModelProblem(
          .error, code, entity: code == .duplicateEntity ? name(part) : nil,
          "two of the merged models describe the \(kind) '\(name(part))' differently"))
    }
    for model in models {
      versionIdentifiers += model.versionIdentifiers.filter { !versionIdentifiers.contains($0) }
      for entity in model.entities { add(entity, to: &entities, named: \.name, "entity", .duplicateEntity) }
      for composite in model.composites {
        add(composite, to: &composites, named: \.name, "composite", .duplicateComposite)
      }
      for template in model.fetchRequestTemplates {
        add(template, to: &fetchRequestTemplates, named: \.name, "fetch request", .duplicateFetchRequest)
      }
      for configuration in model.configurations {
        let own = ScalarString(configuration.name)
        if let place = configurations.firstIndex(where: { ScalarString($0.name) == own }) {
          let known = Set(configurations[place].entityNames.map { ScalarString($0) })
          configurations[place].entityNames += configuration.entityNames.filter { !known.contains(ScalarString($0)) }
        } else {
          configurations.append(configuration)
        }
      }
      extras += model.extras.filter { !extras.contains($0) }
    }
    guard problems.isEmpty else { throw InvalidModelError(problems: problems) }
  }
}
