import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// MET, continued: the table of adversarial values in metadata.
extension Checks {
  static let metadataTables: [CheckDefinition] = [
    CheckDefinition(
      "MET-15", "Every value of the table is kept as metadata, in lists, and in dictionaries", from: savingDocument,
      by:
        "each value as an entry, in a list, in a dictionary, and in a dictionary in a list; read in another process, twice",
      causes: ["a property list is written by a function that has fewer values", "a kind is guessed from a text"],
      catches: ["metadataKindsGuessed"], timeLimit: 60, demand: metadataIsKept
    ) { check in
      let values = AdversarialValues(traits: check.traits).propertyListValues()
      try check.expectEntriesKept(nested(values.kept), "values as metadata", mayRefuse: false)
      for (position, value) in values.keptOrRefused.enumerated() {
        try check.expectEntriesKept(nested([value]), "a value as metadata", name: "risky\(position)", mayRefuse: true)
      }
    },
    CheckDefinition(
      "MET-16", "Metadata may be called anything, and names that look alike are different names", from: savingDocument,
      by: "all names of the table at once, as keys of entries and of dictionaries; then set one after the other",
      causes: [
        "names are compared as Swift compares strings", "names are changed to fit", "a dot or a dollar means something",
      ],
      catches: ["metadataNamesMixed"], timeLimit: 60, demand: metadataIsKept
    ) { check in
      let names = AdversarialValues.names
      try check.expectEntriesKept(named(names), "names of metadata", mayRefuse: false)
      for (position, name) in AdversarialValues.riskyNames.enumerated() {
        try check.expectEntriesKept(named([name]), "a name of metadata", name: "risky\(position)", mayRefuse: true)
      }
      try check.expectEntriesSetInTurn(names)
    },
    CheckDefinition(
      "MET-17", "Metadata is kept however much there is of it, and however deep it is", from: savingDocument,
      by:
        "1,000 entries; lists of each length up to 130 and about powers of two up to 65,536; keys and texts of each length up to 300, texts and bytes of about powers of two up to 128 KiB, and of 1 MiB; every kind of value twelve levels deep",
      causes: [
        "a count or a length is written in 8 or 16 bits", "what is deep or long is written by another function",
      ], catches: ["metadataBeyond255EntriesLost", "metadataListsBeyond65535Cut", "longMetadataKeysLowercased"],
      timeLimit: 60, demand: metadataIsKept
    ) { check in
      try check.expectEntriesKept(plenty, "much metadata", mayRefuse: false)
      try check.expectEntriesKept(
        deep(AdversarialValues(traits: check.traits).propertyListValues().kept), "deep metadata", name: "deep",
        mayRefuse: false)
    },
    CheckDefinition(
      "MET-18",
      "Metadata is what was set last: entries that were removed are gone, and a store without objects has some",
      from: savingDocument,
      by: "entries set on a store without objects, replaced with others alone and on an open store, and removed",
      causes: ["new entries are merged with the old ones", "metadata is written together with the first object"],
      catches: ["metadataOfEmptyStoresLost", "removedMetadataKept"], demand: metadataIsKept
    ) { check in try check.expectEntriesReplaced() },
  ]

  /// Metadata of sizes that do not fit a byte, or two.
  private static var plenty: PropertyListDictionary {
    var entries = PropertyListDictionary()
    var table = PropertyListDictionary()
    for number in 0..<1_000 {
      entries["entry \(number)"] = .integer(Int128(number))
      table["key \(number)"] = .string("value \(number)")
    }
    entries["a table"] = .dictionary(table)
    for count in Array(0...130) + longLists {
      entries["list of \(count)"] = .array((0..<count).map { .integer(Int128($0 % 7)) })
    }
    for length in textLengths + [1 << 20] {
      let text = AdversarialValues.text(length)
      entries["text of \(length)"] = .string(text)
      if length <= 2 || length > 250 { entries["bytes of \(length)"] = .data(Data(text.utf8)) }
      if length <= longestKey { entries[text] = .dictionary([text: .integer(Int128(length))]) }
    }
    return entries
  }

  #if DEBUG
    /// The greatest alone, where the code under test is ten times slower.
    private static let longLists = [256, 65_537]
    private static let textLengths = AdversarialValues.lengths.filter { $0 <= 300 || (65_535...65_537).contains($0) }
  #else
    private static let longLists = (8...16).flatMap { [(1 << $0) - 1, 1 << $0, (1 << $0) + 1] }
    private static let textLengths = AdversarialValues.lengths
  #endif
  private static let longestKey = 4_097

  /// Each value within twelve containers.
  private static func deep(_ values: [PropertyListValue]) -> PropertyListDictionary {
    var inner = PropertyListDictionary()
    inner["values"] = .array(values)
    inner["last"] = .real(2)
    for level in 0..<12 {
      let table = PropertyListValue.dictionary(inner)
      inner = PropertyListDictionary()
      inner["level"] = level % 2 == 0 ? table : .array([table, .integer(1)])
    }
    return inner
  }

  /// Each value in each position.
  private static func nested(_ values: [PropertyListValue]) -> PropertyListDictionary {
    var entries = PropertyListDictionary()
    for (position, value) in values.enumerated() {
      entries["entry \(position)"] = value
      entries["list \(position)"] = .array([value])
      entries["table \(position)"] = .dictionary(["key": value])
      entries["deep \(position)"] = .array([.dictionary(["key": .array([value, value])])])
    }
    return entries
  }

  private static func named(_ names: [String]) -> PropertyListDictionary {
    var entries = PropertyListDictionary()
    for (position, name) in names.enumerated() { entries[name] = .string("value \(position)") }
    let table = entries
    entries["table"] = .dictionary(table)
    entries["list"] = .array([.dictionary(table)])
    for name in names { entries["only " + name] = .dictionary([name: .integer(1)]) }
    return entries
  }
}

extension CheckContext {
  /// - Parameter mayRefuse: Whether the format may refuse them with an error.
  func expectEntriesKept(
    _ wanted: PropertyListDictionary, _ what: String, name: String = "store", mayRefuse: Bool
  ) throws {
    let path = path(name)
    let graph = Models.golden()
    let end = try attempt("save a store with \(what)") { try $0.write(graph, to: path, metadata: wanted) }
    if mayRefuse, case .refused(let error) = end {
      return try expect(error.code != nil, "\(what): kept, or refused with a store error", error.text)
    }
    guard case .value = end else {
      _ = try process("save it again") { try $0.write(graph, to: path, metadata: wanted) }
      return
    }
    try expectEntries(wanted, at: path, what)
    _ = try process("save a change of an object in another process") {
      try $0.setNumber(path, graph, object: 0, to: 77)
    }
    try expectEntries(wanted, at: path, "\(what), after another save")
  }

  /// All of the metadata but what follows from the model.
  private func expectEntries(_ wanted: PropertyListDictionary, at path: String, _ what: String) throws {
    let found = try process("read the metadata in another process") { session in
      Array(StoreSession.differences(wanted, try session.metadata(path).entries).prefix(GraphText.mostShown + 1))
    }
    try expectNone(found, what)
  }

  /// Entries set by themselves, one after the other, as the command does it.
  func expectEntriesSetInTurn(_ names: [String]) throws {
    guard traits.setsMetadataAlone else { return }
    let (path, graph, text) = try golden("turns")
    var wanted = PropertyListDictionary()
    let some = names.filter { $0.utf8.count < 20 }.prefix(24)
    for (position, name) in some.enumerated() { wanted[name] = .string("set \(position)") }
    _ = try process("set \(some.count) entries one after the other", seconds: 40) { session in
      var entries = PropertyListDictionary()
      for (position, name) in some.enumerated() {
        for entry in try session.metadata(path).entries where !VersionHashes.derivedMetadataKeys.contains(entry.key) {
          entries[entry.key] = entry.value
        }
        entries[name] = .string("set \(position)")
        try PersistentStoreCoordinator.setMetadata(
          entries, type: session.subject.type.storeType, at: path, registry: try session.registry())
      }
      return true
    }
    try expectEntries(wanted, at: path, "entries that were set one after the other")
    try expectHeld(text, at: path, graph.model, "the objects")
  }
}

extension CheckContext {
  /// Whatever way metadata is set, what was there before is gone.
  fileprivate func expectEntriesReplaced() throws {
    let (path, graph) = (path(), Graph(Models.nodes))
    let all = [
      Checks.entries(["first": 1, "both": "one", "table": ["a": 1, "b": 2]]),
      Checks.entries(["second": 2, "both": "two", "table": ["b": 3]]), Checks.entries(["third": 3]),
      Checks.entries([:]), Checks.entries(["fourth": 4]),
    ]
    _ = try process("save a store without objects, and with metadata", opening: path, graph.model) { _, open in
      try open.store.setMetadata(all[0])
      try open.coordinator.save(open.store)
      return true
    }
    try expectEntries(all[0], at: path, "metadata without objects")
    for (position, entries) in all.enumerated().dropFirst() {
      let isAlone = position % 2 == 1 && traits.setsMetadataAlone
      _ = try process("set other metadata, \(isAlone ? "alone" : "on the open store")") { session in
        guard !isAlone else {
          try PersistentStoreCoordinator.setMetadata(
            entries, type: session.subject.type.storeType, at: path, registry: try session.registry())
          return true
        }
        return try session.opened(path, graph.model) { open in
          try open.store.setMetadata(entries)
          // With an object: without one, metadata may be saved alone.
          if position > 1 { _ = try open.context.insertNewObject(forEntityName: "Node") }
          try open.context.save()
          if open.store.hasUnsavedMetadata { try open.coordinator.save(open.store) }
          return true
        }
      }
      try expectEntries(entries, at: path, "metadata that was set \(isAlone ? "alone" : "on the open store")")
    }
  }
}

extension StoreSession {
  /// What entries of metadata are otherwise than wanted, except those that follow from the model.
  static func differences(
    _ wanted: PropertyListDictionary, _ read: PropertyListDictionary
  ) -> [GraphText.Difference] {
    Set((wanted.keys + read.keys).map { ScalarKey($0) }).sorted().compactMap { key in
      if wanted[key.text] == nil, VersionHashes.derivedMetadataKeys.contains(key.text) { return nil }
      guard wanted[key.text] != read[key.text] else { return nil }
      func shown(_ value: PropertyListValue?) -> String { value.map { Checks.shown($0) } ?? "missing" }
      let what = "metadata '\(GraphText.shown(key.text))' = "
      return GraphText.Difference(what, shown(wanted[key.text]), what, shown(read[key.text]))
    }
  }
}
