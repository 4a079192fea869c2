package import AtomicStoreSPI

/// Why a store that was written with one model cannot be used with another one. Opening a store, migrating it and
/// comparing two models decide by it.
package struct StoreModelDifferences: Sendable {
  /// What is stored in another way. No option lets the store be read all the same.
  let layout: [ModelDifference]
  /// What Core Data would migrate the store for.
  let hashes: [VersionHashDifference]

  /// Whether the store can be used.
  package var isEmpty: Bool { layout.isEmpty && hashes.isEmpty }

  /// Both, with what differs in the layout alone last.
  package var all: [VersionHashDifference] {
    hashes
      + layout.filter { difference in !hashes.contains { Self.explains($0, difference) } }.map {
        VersionHashDifference(
          entityName: $0.entityName, propertyName: $0.propertyName, change: $0.change, isInHash: false)
      }
  }

  /// Whether a difference of the hash is that of the layout.
  private static func explains(_ hash: VersionHashDifference, _ layout: ModelDifference) -> Bool {
    guard hash.entityName.hasSameScalars(as: layout.entityName) else { return false }
    switch (hash.propertyName, layout.propertyName) {
    case (nil, nil): return true
    case (nil, _?):
      return [VersionHashDifference.unexplained, VersionHashDifference.onlyInModel, VersionHashDifference.onlyInStore]
        .contains(hash.change)
    // A composite attribute is one property of the hash, and its parts are what is stored.
    case (let hashed?, let property?):
      return hashed.hasSameScalars(as: property) || property.utf8.starts(with: (hashed + ".").utf8)
    case (_?, nil): return false
    }
  }
}

extension ManagedObjectModel {
  /// Why a store cannot be used with this model.
  ///
  /// - Parameters:
  ///   - carried: The model that the store carries; nil if it carries none, or the same one.
  ///   - hashes: The version hashes in the store's metadata; nil if there are none, or if they do not count.
  ///   - configuration: The configuration that the store is opened with; nil for all entities.
  package func differences(
    fromStoreOf carried: ManagedObjectModel?, hashes: VersionHashes?, configuration: String? = nil
  ) -> StoreModelDifferences {
    StoreModelDifferences(
      layout: carried.map { differences(from: $0) } ?? [],
      hashes: hashes.map {
        versionHashDifferences(from: $0, configuration: configuration, storedModel: carried)
      } ?? [])
  }

  /// Why a store of another model cannot be used with this one.
  package func differences(fromStoreOf other: ManagedObjectModel) -> StoreModelDifferences {
    differences(fromStoreOf: other, hashes: other.versionHashes)
  }
}
