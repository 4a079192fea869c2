import AtomicStoreSPI
import StorePredicates

/// Predicates of fetch requests that do not work.
struct FetchLint {
  private let model: ManagedObjectModel

  init(_ model: ManagedObjectModel) { self.model = model }

  func run(_ list: inout LintList) {
    for request in model.description.fetchRequestTemplates { check(request, nil, request.name, &list) }
    for entity in model.entities {
      for case .fetchedProperty(let property) in entity.declaration.properties {
        check(property.fetchRequest, entity.name, property.name, &list)
      }
    }
  }

  private func check(
    _ request: FetchRequestDescription, _ owner: String?, _ property: String?, _ list: inout LintList
  ) {
    guard let text = request.predicateString, !text.isEmpty, let entity = model.entity(named: request.entityName) else {
      return
    }
    do throws(PredicateFormatError) {
      try FetchPredicate(format: text).check(against: entity)
    } catch {
      let reason = "\(error)".split(separator: "\n").first.map(String.init) ?? "it cannot be parsed"
      list.add("invalid-predicate", owner, property, "the predicate '\(Markup.shortened(text, to: 100))': \(reason)")
    }
  }
}
