import AtomicStoreSPI
import StoreCoordination

/// Merges the metadata of stores, key by key.
struct MetadataMerge {
  private(set) var entries: PropertyListDictionary
  private(set) var decision: ConflictDecision

  init(_ first: PropertyListDictionary, _ rule: StoreMerge.ConflictRule) {
    entries = first
    decision = ConflictDecision(rule)
  }

  /// Adds the entries of another store.
  ///
  /// - Parameter base: The entries of the version that both stores come from; nil where there is none. Without it, a
  ///   key that one store does not have is taken from the other.
  mutating func add(_ second: PropertyListDictionary, base: PropertyListDictionary?) {
    let keys = Set((entries.keys + second.keys).map { ScalarString($0) }).sorted().map(\.string)
    for key in keys where !Self.belongsToStore(key) {
      let one = entries[key]
      let other = second[key]
      if one == other { continue }
      if let base {
        if other == base[key] { continue }
        if one == base[key] {
          entries[key] = other
          continue
        }
      } else if one == nil || other == nil {
        entries[key] = one ?? other
        continue
      }
      let conflict = StoreMerge.Conflict(
        metadataKey: key, first: Self.text(one), second: Self.text(other))
      if decision.takesSecond(conflict, nil, nil) { entries[key] = other }
    }
  }

  private static func text(_ value: PropertyListValue?) -> String {
    value.map { GraphComparison.text($0) } ?? "removed"
  }

  /// Whether a key describes one store, its model or the program that wrote it: then the first store's entry remains.
  private static func belongsToStore(_ key: String) -> Bool {
    StoreMetadata.reservedKeys.contains(key) || VersionHashes.derivedMetadataKeys.contains(key)
      || ["NS", "_NS", "AtomicStore"].contains { key.utf8.starts(with: $0.utf8) }
  }
}
