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
  ]

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
      let read = try session.metadata(path).entries
      var found: [GraphText.Difference] = []
      for key in Set((wanted.keys + read.keys).map { ScalarKey($0) }).sorted() {
        if wanted[key.text] == nil, VersionHashes.derivedMetadataKeys.contains(key.text) { continue }
        guard wanted[key.text] != read[key.text] else { continue }
        func shown(_ value: PropertyListValue?) -> String {
          "metadata '\(GraphText.shown(key.text))' = " + (value.map { GraphText.shown(Checks.shown($0)) } ?? "missing")
        }
        found.append(.init(expected: shown(wanted[key.text]), actual: shown(read[key.text])))
      }
      return Array(found.prefix(GraphText.mostShown + 1))
    }
    try expectNone(found, what)
  }

  /// Entries set by themselves, one after the other, as the command does it.
  func expectEntriesSetInTurn(_ names: [String]) throws {
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
