import AtomicStoreKit
import CommandSupport

extension Fetch {
  /// Adds the condition of `--reference` to a request.
  ///
  /// - Throws: A usage error for an entity whose objects are not asked for.
  func select(
    _ request: inout FetchRequest<ManagedObject>, in coordinator: PersistentStoreCoordinator,
    _ model: ManagedObjectModel
  ) throws {
    guard reference != nil else { return }
    let entities = try model.entity(asked: entity).hierarchy.map(\.name)
    let asked = try Self.list(reference, "--reference", hasEscapes: false).map { try references($0, entities) }.joined()
    let ids = coordinator.persistentStores.flatMap { store in
      asked.map { FetchExpression.objectID(store.objectID(for: $0)) }
    }
    let isOne = FetchPredicate.comparison(FetchPredicate.Comparison(.evaluatedObject, .isIn, .aggregate(ids)))
    request.predicate = request.predicate.map { .and([isOne, $0]) } ?? isOne
  }

  /// The objects that a text may mean: of each entity, if it does not begin with the name of one.
  private func references(_ text: String, _ entities: [String]) throws -> [ObjectReference] {
    var names = entities
    var rest = text
    if let slash = text.firstIndex(of: "/") {
      let name = String(text[..<slash])
      guard entities.contains(name) else {
        throw CommandFailure(
          "--reference: '\(text)' is not a reference of \(entity)\(Suggestion.text(for: name, among: entities))",
          exitCode: 64)
      }
      names = [name]
      rest = String(text[text.index(after: slash)...])
    }
    var quoted = rest
    if rest.count > 1, let first = rest.first, first == "'" || first == "\"", rest.last == first {
      quoted = String(rest.dropFirst().dropLast())
    }
    // References of some stores are texts, which may look like numbers.
    return names.flatMap { name in
      var found = [ObjectReference(entityName: name, reference: .string(quoted))]
      if let number = Int64(rest) { found.append(ObjectReference(entityName: name, reference: .integer(number))) }
      return found
    }
  }
}
