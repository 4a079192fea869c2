import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// Fetched properties: properties whose value is the result of a fetch.
extension ManagedObject: FetchedPropertyReading {
  /// The predicate may use `$FETCH_SOURCE`, this object, and `$FETCHED_PROPERTY`, the property's description, which has
  /// the keys `name` and `userInfo.KEY`.
  final func fetchedObjects(_ p: Int) throws(ManagedObjectError) -> [ManagedObject] {
    if let found = extras?.fetched[p] { return found }
    let property = plan.properties[p]
    guard let context, let description = property.fetched else { throw unavailable(extras?.gone ?? .contextGone) }
    func failure(_ message: String, _ cause: (any Error)?) -> ManagedObjectError {
      objectError(
        .invalidFetch, "the fetched property \(plan.name).\(property.name) \(message)", key: property.name,
        underlying: cause)
    }
    guard context.fetchState.fetchedPropertyDepth < Self.fetchedPropertyLimit else {
      throw failure(
        "refers to fetched properties that refer to others, nested more than \(Self.fetchedPropertyLimit) deep", nil)
    }
    context.fetchState.fetchedPropertyDepth += 1
    defer { context.fetchState.fetchedPropertyDepth -= 1 }
    let template: FetchPredicate?
    switch ParsedTexts.predicate(description.fetchRequest.predicateString ?? "") {
    case .success(let parsed): template = parsed
    case .failure(let error): throw failure("has a predicate that cannot be parsed", error)
    }
    var request = FetchRequest<ManagedObject>(entityName: description.fetchRequest.entityName)
    request.includesSubentities = description.fetchRequest.includesSubentities ?? true
    request.fetchLimit = max(0, description.fetchRequest.fetchLimit ?? 0)
    request.sortKeys = description.fetchRequest.sortOrder.map { SortKey($0.keyPath, isAscending: $0.isAscending) }
    if let template {
      let unknown = template.variables.filter { $0 != "FETCH_SOURCE" && $0 != "FETCHED_PROPERTY" }
      guard unknown.isEmpty else {
        throw failure("uses the variable $\(unknown[0]), but only $FETCH_SOURCE and $FETCHED_PROPERTY are defined", nil)
      }
      let variables = ["FETCH_SOURCE": PredicateValue.object(self), "FETCHED_PROPERTY": .value(.string(property.name))]
      request.filter = { object in
        var evaluator = PredicateEvaluator(object, variables: variables)
        evaluator.fetchedProperty = description
        do throws(PredicateEvaluationError) { return try evaluator.evaluate(template) } catch {
          throw ManagedObjectError(error)
        }
      }
    }
    do {
      let found = try context.fetch(request)
      needExtras().fetched[p] = found
      return found
    } catch {
      // Report the cause of a nested failure only once.
      if context.fetchState.fetchedPropertyDepth > 1, let error = error as? ManagedObjectError { throw error }
      throw failure("cannot be fetched", error)
    }
  }

  /// A predicate that refers to its own property would never end.
  private static let fetchedPropertyLimit = 32
}
