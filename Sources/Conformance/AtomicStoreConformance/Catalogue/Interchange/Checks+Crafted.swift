import AtomicStoreSPI

extension Checks {
  static let crafted: [CheckDefinition] = [
    CheckDefinition(
      "AUT-01", "What the format's author has crafted is refused, or read, as the author says", profile: .hostile,
      from: kit,
      by:
        "a store of the format is given to the author's function; what that makes of it is opened, each in its own process",
      causes: ["the reader takes what it should refuse"], catches: ["acceptsCrafted"]
    ) { check in
      let (path, graph, text) = try check.small()
      let stores = check.subject.crafted?(Files.content(path) ?? [:]) ?? []
      guard !stores.isEmpty else {
        throw NotApplicable(reason: "no crafted stores were supplied: ChecksummedStore.crafted")
      }
      for (number, store) in stores.enumerated() {
        let place = check.path("crafted\(number)")
        Files.put(store.files, at: place)
        let before = Files.stamps(place)
        switch store.expectation {
        case .refused: _ = try check.refusal(of: store.label) { try $0.read(place, graph.model) }
        case .same:
          try check.expectSame(
            try check.process("read \(store.label)") { try $0.read(place, graph.model) }, text, store.label)
        }
        try check.expectEqual(Files.stamps(place), before, "the files of \(store.label) afterwards")
      }
    }
  ]
}
