package import AtomicStoreSPI

extension ConformanceSubject {
  /// What the self-test supplies, so that the check of crafted stores has something to find.
  package static let sampleCraft: @Sendable ([String: [UInt8]]) -> [CraftedStore] = { files in
    guard let bytes = files[""] else { return [] }
    return [
      CraftedStore(
        "a store with an element behind its end", files: ["": bytes + Array(Faults.craftedTail.utf8)], .refused)
    ]
  }

  /// What the self-test supplies for files without a checksum: a long run of zeros is written as its length.
  package static let sampleChecksum: @Sendable ([String: [UInt8]]) -> [String: [UInt8]]? = { payload in
    payload.mapValues { bytes in
      guard bytes.count > 1 << 24, let start = bytes.firstIndex(of: 0) else { return bytes }
      return Array(bytes[..<start]) + Faults.inflatedRun.utf8 + bytes[start...].drop { $0 == 0 }
    }
  }
}

extension Faults {
  /// What stands for a long run of zeros.
  static let inflatedRun = "<inflate zeros/>"
  static let craftedTail = "<crafted/>"

  static let crafted: [Fault] = [
    Fault("acceptsCrafted", "reads nothing from a store that it should refuse") { hooks in
      hooks.load = { source, _ throws(PersistentStoreError) in
        guard !source.isFolder else { return false }
        return try source.bytes().withUnsafeBytes { $0.suffix(craftedTail.utf8.count).elementsEqual(craftedTail.utf8) }
      }
    },
    Fault("inflatesWithoutLimit", "decompresses whatever size there is") { hooks in
      hooks.load = { source, _ throws(PersistentStoreError) in
        guard !source.isFolder else { return false }
        let bytes = try source.bytes().withUnsafeBytes { Array($0) }
        guard Files.replacing(Array(inflatedRun.utf8), by: [], in: bytes) != nil else { return false }
        let inflated = [UInt8](repeating: 1, count: 1 << 29)
        return withExtendedLifetime(inflated) { inflated.isEmpty }
      }
    },
  ]
}
