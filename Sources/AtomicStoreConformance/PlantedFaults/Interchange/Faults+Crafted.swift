import AtomicStoreSPI

extension ConformanceSubject {
  /// What the self-test supplies, so that the check of crafted stores has something to find.
  package static let sampleCraft: @Sendable ([String: [UInt8]]) -> [CraftedStore] = { files in
    guard let bytes = files[""] else { return [] }
    return [
      CraftedStore(
        "a store with an element behind its end", files: ["": bytes + Array(Faults.craftedTail.utf8)], .refused)
    ]
  }
}

extension Faults {
  static let craftedTail = "<crafted/>"

  static let crafted: [Fault] = [
    Fault("acceptsCrafted", "reads nothing from a store that it should refuse") { hooks in
      hooks.load = { source, _ throws(PersistentStoreError) in
        guard !source.isFolder else { return false }
        return try source.bytes().withUnsafeBytes { $0.suffix(craftedTail.utf8.count).elementsEqual(craftedTail.utf8) }
      }
    }
  ]
}
