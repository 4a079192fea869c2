import AtomicStoreKit

/// The kit's own options for reading, which every format has.
enum OptionsOfEveryFormat {
  static let all =
    StoreLimits.options + RelationshipRules.options + [PersistentStoreCoordinator.ignoreVersionHashesOption]
}
