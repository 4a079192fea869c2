import AtomicStoreSPI
public import FoundationEssentials

/// Stores of which one holds a save that the other has not seen: one of their files was not replaced, since the machine
/// stopped between the two, or it was put back from a copy.
public struct MixedSave: Sendable, Hashable, CustomStringConvertible {
  /// The store that holds the later save.
  public let newer: UUID
  /// The path of the store that holds the later save.
  public let newerPath: String
  /// The store that should have been saved with it.
  public let older: UUID
  /// The path of the store that should have been saved with it.
  public let olderPath: String

  public var description: String {
    "\(newerPath) holds a save that it made together with \(olderPath), which holds an earlier one"
  }
}

/// What a save over several stores writes into the metadata of each: a number that grows with each such save, and the
/// numbers that the others have since the same one. A single rename is whole or not at all; over two of them nobody can
/// promise that, so the next one to open both is told (ruling 6 of the architecture).
enum SaveSet {
  /// The metadata key. Stores that were never saved together with others do not have it.
  static let key = "AtomicStoreSaveSet"

  static func number(_ metadata: StoreMetadata) -> Int {
    metadata.entries[key]?.dictionaryValue?["number"]?.integerValue ?? 0
  }

  static func mark(_ pending: inout [(store: PersistentStore, save: PendingSave)]) {
    // A single CSV file and its like have no place for it.
    let keeping = pending.indices.filter { pending[$0].save.format.traits.keepsMetadata }
    guard keeping.count > 1 else { return }
    var numbers = PropertyListDictionary()
    for index in keeping {
      let metadata = pending[index].save.snapshot.metadata
      numbers[metadata.uuid.uuidString] = .integer(Int128(number(metadata) &+ 1))
    }
    for index in keeping {
      let metadata = pending[index].save.snapshot.metadata
      var entry = PropertyListDictionary()
      entry["number"] = .integer(Int128(number(metadata) &+ 1))
      var others = numbers
      others[metadata.uuid.uuidString] = nil
      entry["others"] = .dictionary(others)
      pending[index].save.snapshot.metadata.entries[key] = .dictionary(entry)
    }
  }

  static func mixed(_ stores: [PersistentStore]) -> [MixedSave] {
    var found: [MixedSave] = []
    let metadata = stores.map(\.metadata)
    for (index, store) in stores.enumerated() {
      guard let others = metadata[index].entries[key]?.dictionaryValue?["others"]?.dictionaryValue else { continue }
      for (other, values) in zip(stores, metadata) {
        guard let expected = others[other.identifier.uuidString]?.integerValue, number(values) < expected else { continue }
        found.append(
          MixedSave(newer: store.identifier, newerPath: store.path, older: other.identifier, olderPath: other.path))
      }
    }
    return found
  }
}

extension PersistentStoreCoordinator {
  /// Open stores that were saved together once and are not in step any more. Nothing is done about it: each store is
  /// whole by itself, and only their owner knows what belongs together.
  public var mixedSaves: [MixedSave] { SaveSet.mixed(persistentStores) }
}
