import AtomicStoreSPI
import FoundationEssentials

/// The note that a save of several stores writes to the metadata of each: a number that increases with each such save,
/// and the numbers of the other stores as of the same save. A single rename is atomic, several renames are not, so
/// opening both stores reports a mismatch (ruling 6 of the architecture).
enum SaveSet {
  static func number(_ metadata: StoreMetadata) -> Int {
    metadata.entries[StoreMetadata.saveSetKey]?.dictionaryValue?["number"]?.integerValue ?? 0
  }

  static func mark(_ pending: inout [(store: PersistentStore, save: PendingSave)]) {
    // A single CSV file and similar stores cannot store it.
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
      pending[index].save.snapshot.metadata.entries[StoreMetadata.saveSetKey] = .dictionary(entry)
    }
  }

  static func mixed(_ stores: [PersistentStore]) -> [MixedSave] {
    var found: [MixedSave] = []
    let metadata = stores.map(\.metadata)
    for (index, store) in stores.enumerated() {
      guard let others = metadata[index].entries[StoreMetadata.saveSetKey]?.dictionaryValue?["others"]?.dictionaryValue
      else { continue }
      for (other, values) in zip(stores, metadata) {
        guard let expected = others[other.identifier.uuidString]?.integerValue, number(values) < expected else {
          continue
        }
        found.append(
          MixedSave(newer: store.identifier, newerPath: store.path, older: other.identifier, olderPath: other.path))
      }
    }
    return found
  }
}
