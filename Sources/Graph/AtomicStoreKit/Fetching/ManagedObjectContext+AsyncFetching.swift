import AtomicStoreSPI
import StorePredicates

/// How far a fetch is.
public struct FetchProgress: Sendable, Hashable {
  /// How many objects were examined.
  public var completed: Int
  /// How many objects are to be examined.
  public var total: Int
  /// The part that is done, from 0 to 1.
  public var fraction: Double { total == 0 ? 1 : Double(completed) / Double(total) }
}

extension ManagedObjectContext {
  /// Fetches as ``fetch(_:)``, in parts: between them other tasks of the same isolation run, progress is reported, and
  /// the fetch ends if its task was cancelled. The counterpart of `NSAsynchronousFetchRequest`.
  ///
  /// Only a request that examines objects one by one has parts: see ``explain(_:)``. What other tasks change in between
  /// counts for objects that were not examined yet; objects that they delete are left out of the result.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - isolation: The isolation of the context, which is that of the caller.
  ///   - progress: Called after each part, at least once. It may change objects.
  /// - Throws: `CancellationError` if the task was cancelled; the errors of ``fetch(_:)``.
  public func fetch<Result: ManagedObject>(
    _ request: FetchRequest<Result>, isolation: isolated (any Actor)? = #isolation,
    progress: (FetchProgress) -> Void
  ) async throws -> [Result] {
    try Task.checkCancellation()
    processPendingChanges()
    let request = named(request)
    try check(request)
    guard request.predicate != nil, case .objects = try plan(request, for: .objects) else {
      let results = try fetch(request)
      progress(FetchProgress(completed: results.count, total: results.count))
      return results
    }
    let candidates = try candidates(request)
    let budget = StepBudget(limit: request.stepLimit, predicate: request.predicate)
    var found: [ManagedObject] = []
    var place = 0
    repeat {
      let end = min(place + Self.fetchPartCount, candidates.count)
      found += try withStepBudget(budget) {
        try matching(request, candidates[place..<end].filter { !$0.flags.contains(.deleted) && $0.context === self })
      }
      place = end
      progress(FetchProgress(completed: place, total: candidates.count))
      await Task.yield()
      try Task.checkCancellation()
    } while place < candidates.count
    found.removeAll { $0.flags.contains(.deleted) || $0.context !== self }
    return try withStepBudget(budget) {
      let results: [Result] = try finished(request, found)
      if !request.relationshipKeyPathsForPrefetching.isEmpty {
        try prefetch(request.relationshipKeyPathsForPrefetching, of: results, entityName: request.entityName)
      }
      return results
    }
  }

  /// How many objects are examined at a time.
  private static var fetchPartCount: Int { 1000 }
}
