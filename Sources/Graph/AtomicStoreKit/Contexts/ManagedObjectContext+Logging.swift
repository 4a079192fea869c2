import AtomicStoreSPI
import StoreCoordination

extension ManagedObjectContext {
  /// Logs conflicts, and how they were decided.
  func logConflicts(_ found: [DecidedConflict], isFailing: Bool) {
    persistentStoreCoordinator.log(
      .notice, isFailing ? "conflicts" : "conflicts resolved",
      [
        "count": "\(found.count)", "context": name ?? "",
        "objects": found.prefix(5).map { "\($0.object.plan.name)/\($0.object.reference.map(\.description) ?? "new")" }
          .joined(separator: ", "),
        "policies": Set(found.map { "\($0.policy)" }).sorted().joined(separator: ", "),
      ])
  }
}

/// A conflict with the decision about it.
struct DecidedConflict {
  let object: ManagedObject
  let conflict: MergeConflict
  let policy: MergePolicy
  let values: [String: Any?]

  var isHereWinning: Bool { policy == .mergeByPropertyObjectTrump || policy == .overwrite }

  /// Whether the object was removed from the store and is restored.
  var isComingBack: Bool {
    isHereWinning && conflict.persistedSnapshot == nil && !object.flags.contains(.inserted)
      && !object.flags.contains(.deleted)
  }
}
