import AtomicStoreSPI

/// Files that the format's author has made, because only they know where their format is delicate.
public struct CraftedStore: Sendable {
  /// How a store is to be received.
  public enum Expectation: Sendable {
    /// With an error that says why, and nothing harmed.
    case refused
    /// It holds the same objects as the store that it was made from.
    case same
  }
  /// What is special about it: for the report.
  public var label: String
  /// The bytes of each file of a folder by its name; of a store that is one file under the empty name.
  public var files: [String: [UInt8]]
  /// What opening it must come to.
  public var expectation: Expectation

  /// Creates a store to try.
  public init(_ label: String, files: [String: [UInt8]], _ expectation: Expectation) {
    self.label = label
    self.files = files
    self.expectation = expectation
  }
}

extension ConformanceSubject {
  /// What the self-test supplies, so that the check of crafted stores has something to find.
  package static let sampleCraft: @Sendable ([String: [UInt8]]) -> [CraftedStore] = { files in
    guard let bytes = files[""] else { return [] }
    return [CraftedStore("a store with an element behind its end", files: ["": bytes + Array(Faults.craftedTail.utf8)], .refused)]
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

extension Checks {
  static let crafted: [CheckDefinition] = [
    CheckDefinition(
      "AUT-01", "What the format's author has crafted is refused, or read, as the author says", profile: .hostile, from: kit,
      by: "a store of the format is given to the author's function; what that makes of it is opened, each in a process of its own",
      causes: ["the reader takes what it should refuse"], catches: ["acceptsCrafted"]
    ) { lab in
      guard let craft = lab.subject.crafted else { throw Inapplicable(reason: "no crafted stores were supplied: ConformanceSubject.crafted") }
      let (path, graph, text) = try lab.small()
      let stores = craft(Files.content(path) ?? [:])
      guard !stores.isEmpty else { throw Inapplicable(reason: "the author's function made no stores of this one") }
      for (number, store) in stores.enumerated() {
        let place = lab.path("crafted\(number)")
        if let bytes = store.files[""] {
          Files.write(bytes, to: place)
        } else {
          Files.makeFolder(place)
          for (name, bytes) in store.files.sorted(by: { $0.key < $1.key }) { Files.write(bytes, to: place + "/" + name) }
        }
        let before = Files.stamps(place)
        switch store.expectation {
        case .refused: _ = try lab.refusal(of: store.label) { try $0.read(place, graph.model) }
        case .same: try lab.expectSame(try lab.process("read \(store.label)") { try $0.read(place, graph.model) }, text, store.label)
        }
        try lab.expectEqual(Files.stamps(place), before, "the files of \(store.label) afterwards")
      }
    }
  ]
}
