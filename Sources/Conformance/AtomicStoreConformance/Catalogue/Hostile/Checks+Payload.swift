import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// HOS: what checksums, compression and encryption hide from the checks that damage files.
extension Checks {
  #if DEBUG
    /// Fewer where the code under test is ten times slower.
    private static let payloadChanges = 1_000
    private static let inflated = 128 << 20
  #else
    private static let payloadChanges = 6_000
    private static let inflated = 512 << 20
  #endif

  static let payload: [CheckDefinition] = [
    CheckDefinition(
      "HOS-16", "What is behind a checksum is read as carefully as what is not", profile: .hostile, from: kit,
      by:
        "\(payloadChanges) changes of a small store's payload, as in HOS-01, with the checksum computed again; 3 GB, 20 s for 200 files",
      causes: ["what has a checksum is trusted: an attacker computes it again"],
      catches: ["indexOutOfRange"],
      timeLimit: 180
    ) { check in
      let store = try check.small()
      let payload = try check.hiddenPayload(of: store)
      var random = SeededRandom(check.seed)
      let ends = try check.openHostile(
        store.path, store.graph.model, Mutation.some(payloadChanges, of: payload, &random), of: payload)
      let opened = ends.count { $0 == "opened" }
      check.note("\(ends.count) payloads: \(opened) opened, \(ends.count - opened) refused")
    },
    CheckDefinition(
      "HOS-17", "Behind a checksum, too, memory is taken by the size of the file, not by what it says of itself",
      profile: .hostile, from: kit,
      by:
        "numbers and bytes all through a small store's payload become very large, as in HOS-02, with the checksum computed again; at most 64 times the size and 64 MB",
      causes: ["room is made for as much as a count behind the checksum says"], catches: ["trustsDeclaredSize"],
      timeLimit: 180
    ) { check in
      let store = try check.small()
      let payload = try check.hiddenPayload(of: store)
      let size = payload.values.reduce(0) { $0 + $1.count }
      try check.expectMemory(
        of: Mutation.large(payload, limit: payloadChanges, edge: size), in: payload, store, size: size)
    },
    CheckDefinition(
      "HOS-18", "What decompresses to far more than the file is read within the caller's limit of memory",
      profile: .hostile, from: kit,
      by:
        "\(inflated >> 20) MB of zeros are inserted into a payload, in the middle and at the end; where that makes a small file, it is opened with maximumMemory=16777216, at most 96 MB and 64 times the size",
      causes: ["all is decompressed before its size is compared with StoreLimits.memory"],
      catches: ["inflatesWithoutLimit"],
      timeLimit: 180
    ) { check in
      let store = try check.small()
      let payload = try check.hiddenPayload(of: store)
      guard let (member, bytes) = payload.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }) else {
        return
      }
      for position in [bytes.count / 2, bytes.count] {
        let zeros = [UInt8](repeating: 0, count: inflated)
        let bomb = Damage(
          label: "\(inflated >> 20) MB at byte \(position)", member: member,
          bytes: Array(bytes[..<position]) + zeros + bytes[position...])
        guard let files = check.files(of: payload, with: bomb) else { continue }
        let size = files.values.reduce(0) { $0 + $1.count }
        guard size < inflated / 16 else { throw NotApplicable(reason: "the payload is not compressed") }
        Files.put(files, at: store.path)
        let options = check.handmade.merging(["maximumMemory": "16777216"]) { $1 }
        let grown = try check.process("open it with \(bomb.label)", seconds: 60) { session in
          try Memory.growth { _ = try? session.read(store.path, store.graph.model, options: options) }
        }
        check.note("\(bomb.label): \(size) bytes, \(grown >> 20) MB")
        try check.expect(
          grown <= 64 * size + 96 << 20, "\(bomb.label): at most \((64 * size + 96 << 20) >> 20) MB",
          "it took \(grown >> 20) MB")
      }
    },
  ]
}
