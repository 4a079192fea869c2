import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What a format declares of itself, held to it both ways: what it says it keeps is kept, and what it says it cannot
/// keep it does not keep after all. Converters forecast losses by that, and people choose formats by it.
///
/// Special floats and attribute types are held to it by VAL-08 and VAL-32.
extension Checks {
  static let traits: [CheckDefinition] = [
    trait(
      "TRA-01", "keepsOrder is true of it", causes: ["keepsOrder is false, and lists come back in their order"],
      catches: ["deniesOrder"], { $0.keepsOrder ? nil : "keepsOrder is false" }
    ) { check in
      var graph = Graph(Models.lists, [("owner", "Item"), ("a", "Item"), ("b", "Item"), ("c", "Item")])
      graph.objects[0].links["list"] = ["c", "a", "b"]
      if check.isRefusal { return try check.expectRefusedSave(graph, "an order") }
      try check.expectKept(graph, "an order")
    },
    trait(
      "TRA-02", "keepsNilApartFromEmpty is true of it",
      causes: ["keepsNilApartFromEmpty is false, and empty texts come back"],
      catches: ["deniesEmpty"], { $0.keepsNilApartFromEmpty ? nil : "keepsNilApartFromEmpty is false" }
    ) { check in
      if check.isRefusal { return try check.expectRefusedSave(Graph.values(.string, [.string("")]), "an empty text") }
      try check.expectKept(Graph.values(.string, [.null, .string("")]), "nil and the empty text")
    },
    trait(
      "TRA-03", "keepsMetadata is true of it", causes: ["keepsMetadata is false, and entries come back"],
      catches: ["deniesMetadata"],
      { $0.keepsMetadata ? nil : "keepsMetadata is false" }
    ) { check in
      let path = check.path()
      var entries = PropertyListDictionary()
      entries["traitKey"] = .string("kept")
      let given = entries
      let saved = try check.attempt("save a store with its own entry") {
        try $0.write(Models.golden(), to: path, metadata: given)
      }
      if check.isRefusal, case .refused(let error) = saved {
        return try check.expect(error.code != nil, "refused with a store error", error.text)
      }
      let read = try check.process("read its metadata", opening: path, Models.nodes, isReadOnly: true) { _, open in
        open.store.metadata.entries["traitKey"].map { GraphComparison.text($0) } ?? "nothing"
      }
      try check.expect(
        (read == "\"kept\"") != check.isRefusal,
        check.isRefusal ? "the entry is gone, as the traits say" : "the entry is there", read)
    },
    trait(
      "TRA-04", "isSelfDescribing is true of it",
      causes: ["isSelfDescribing is false, and the store opens without a model"],
      catches: ["deniesModel"], { $0.isSelfDescribing ? nil : "isSelfDescribing is false" }
    ) { check in
      let (path, _, text) = try check.golden()
      if check.isRefusal {
        _ = try check.refusal(of: "open it without a model", codes: ["modelNeeded"]) { try $0.read(path, nil) }
      } else {
        try check.expectSame(
          try check.process("open it without a model") { try $0.read(path, nil) }, text, "the same graph")
      }
    },
    trait(
      "TRA-05", "maximumEntities is true of it", causes: ["maximumEntities is less than what the format holds"],
      catches: ["deniesEntities"], { traits in traits.maximumEntities.map { "maximumEntities is \($0)" } }
    ) { check in
      let most = min(check.traits.maximumEntities ?? 12, 200)
      try check.expectKept(Models.manyEntities(most), "objects of \(most) entities", path: check.path("most"))
      if check.isRefusal {
        try check.expectRefusedSave(Models.manyEntities(most + 1), "objects of \(most + 1) entities")
      }
    },
    trait(
      "TRA-06", "references are what it says",
      causes: ["the format keeps more kinds of references than it says, or fewer"],
      catches: ["deniesReferences"], { $0.references == .all ? nil : "references are \($0.references.rawValue)" }
    ) { check in
      let graph = Graph(Models.nodes, [("a", "Node"), ("b", "Node"), ("c", "Node")])
      func kept(_ what: String, _ references: @escaping @Sendable (Int) -> ReferenceObject) throws -> Bool {
        let path = check.path(what)
        let names = try check.unlessRefused("write objects with \(what)") {
          try $0.forge(graph, to: path, references: references)
        }
        guard let names else { return false }
        let read = try check.process("read them") { try $0.read(path, graph.model) }
        return try graph.text(names).differences(from: read).isEmpty
      }
      let texts = try kept("texts") { .string("né \($0)") }
      let numbers = try kept("numbers") { .integer(Int64($0) * 1_000_000_007 + 41) }
      let expected: (texts: Bool, numbers: Bool) =
        switch check.traits.references {
        case .all: (true, true)
        case .integersOnly: (false, true)
        case .derived: (false, false)
        }
      try check.expectEqual(texts, expected.texts, "texts are kept as references")
      try check.expectEqual(numbers, expected.numbers, "numbers are kept as references")
    },
    trait(
      "TRA-07", "layout is true of it",
      causes: ["the traits say a folder, and a file is written, or the other way round"],
      catches: ["declaresOtherLayout"], { _ in nil }
    ) { check in
      let (path, _, _) = try check.golden()
      try check.expectEqual(
        Files.isFolder(path), check.traits.layout == .folder,
        "what is under a name with the preferred extension is a folder")
    },
    trait(
      "TRA-08", "canWrite is true of it", causes: ["canWrite is false, and save writes a store"],
      catches: ["deniesWriting"],
      needsWriting: false, { $0.canWrite ? nil : "canWrite is false" }
    ) { check in
      let graph = Models.golden()
      guard check.isRefusal else { return try check.expectKept(graph, "a graph") }
      let path = check.path()
      // Past the kit, which asks for the trait before it asks the format.
      _ = try check.refusal(of: "write a store") { try $0.forge(graph, to: path) }
      _ = try check.refusal(of: "begin a store", codes: ["notSupported"]) { session in
        try session.opened(path, graph.model) { open in true }
      }
      try check.expect(!Files.exists(path), "nothing is there", "something is")
    },
    trait(
      "TRA-09", "keepsDecimals is true of it",
      causes: ["keepsDecimals is false, and decimals come back digit for digit"],
      catches: ["deniesDecimals"],
      { traits in
        traits.unsupportedTypes.contains("Decimal")
          ? "unsupportedTypes has Decimal" : traits.keepsDecimals ? nil : "keepsDecimals is false"
      }
    ) { check in
      // Zeros at the end, and more digits than a double or a 64-bit integer has.
      let graph = Graph.values(
        .decimal,
        ["1.50", "0.1000000000000000000001", "12345678901234567890"].compactMap {
          DecimalNumber($0).map { .decimal($0) }
        })
      if check.isRefusal { return try check.expectRefusedSave(graph, "decimals of many digits") }
      try check.expectKept(graph, "decimals of many digits")
    },
    trait(
      "TRA-10", "writes is true of it",
      causes: [
        "writes is all, and stores that are there are refused", "a store is touched before its change is refused",
      ],
      catches: [
        "refusesExistingStores", "refusesNewStores", "losesWhatItWritesWhole", "touchesWhatItRefuses",
        "leavesFilesWhereItRefuses", "savesWhatItRefuses",
      ], { $0.writes == .newOnly ? "writes is newOnly" : nil }
    ) { check in
      guard check.isRefusal else {
        var changed = Models.golden()
        changed.set("node 1", "name", .string("changed"))
        changed.remove("node 7")
        try check.expectSteps([Models.golden(), changed], "a change in place")
        return
      }
      try check.expectWrittenWholeOnly()
    },
    CheckDefinition(
      "TRA-11", "leavesOutProperties is true of it",
      from: "\(kit): a program that asks for one property need not read the others",
      by: "each property is read alone, and some and none of them, of a store that has its model",
      causes: ["what is left out is refused", "what follows something that is left out is lost"],
      catches: ["refusesToLeaveOut", "leavesObjectsOut"],
      demand: { $0.isSelfDescribing ? .applies : .notApplicable("isSelfDescribing is false") }
    ) { check in try check.expectPartsRead() },
    CheckDefinition(
      "TRA-12", "trustedHashes is true of it",
      from: "\(kit): a claim about a model is written only with that model",
      by: "a store of an inferred model gets the version hashes of another one, and is read",
      causes: ["hashes of the application's model are written for a layout that was guessed"],
      catches: ["writesTrustedHashes", "losesInferredHashes"],
      demand: {
        !$0.keepsMetadata
          ? .notApplicable("keepsMetadata is false")
          : $0.writes == .all ? .applies : .notApplicable("stores are not changed")
      }
    ) { check in
      var graph = Models.golden()
      graph.model.isInferred = true
      let (inferred, path) = (graph, check.path("inferred"))
      let hasHashes = try check.process("save a store of an inferred model") { session in
        var entries = PropertyListDictionary()
        entries[VersionHashes.metadataKey] = ["Node": .data(Data(repeating: 7, count: 32))]
        try session.write(inferred, to: path, metadata: entries)
        return try session.opened(path, inferred.model, isReadOnly: true) { open in
          open.store.metadata.entries[VersionHashes.metadataKey] != nil
        }
      }
      // Only where no program trusts them are they entries like others.
      let wanted = check.traits.trustedHashes == .no
      try check.expect(
        hasHashes == wanted, wanted ? "the hashes are kept" : "no hashes", wanted ? "no hashes" : "hashes")
    },
    trait(
      "TRA-14", "keepsIdentity is true of it", causes: ["keepsIdentity is false, and the UUID comes back"],
      catches: ["deniesIdentity"], { $0.keepsIdentity ? nil : "keepsIdentity is false" }
    ) { check in
      let (path, copy) = (check.path("store"), check.path("copy"))
      let saved = try check.process("save a store and look at its UUID") { session in
        _ = try session.write(Models.golden(), to: path)
        return try session.opened(path, Models.nodes, isReadOnly: true) { open in open.store.metadata.uuid.uuidString }
      }
      // A UUID may be made of the path: that of a copy is then another one.
      Files.copy(path, to: copy)
      let read = try check.process("look at the UUID of a copy") { session in
        try session.opened(copy, Models.nodes, isReadOnly: true) { open in open.store.metadata.uuid.uuidString }
      }
      try check.expect(
        (read == saved) != check.isRefusal,
        check.isRefusal ? "another UUID, as the traits say" : "the UUID \(saved)", "the UUID \(read)")
    },
    CheckDefinition(
      "TRA-13", "A required to-many that is empty is kept",
      from: "\(kit): what was read so is written so; only what a program empties is refused",
      by: "objects with and without members of a required to-many are saved and read",
      causes: ["the model's rules are applied to what is stored", "an object without members is left out"],
      catches: ["refusesEmptyRequired"]
    ) { check in
      let model = ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .attribute("name", .string), .toMany("parts", "Node", inverse: "owner", isOptional: false),
            .toOne("owner", "Node", inverse: "parts"),
          ])
      ])
      let graph = Graph(
        model,
        [("full", "parts", ["part"]), ("empty", "parts", []), ("part", "owner", ["full"])].map { label, end, others in
          Graph.Object(
            label: label, entity: "Node", values: [ScalarKey("name"): .string(label)],
            links: others.isEmpty ? [:] : [ScalarKey(end): others])
        })
      let path = check.path("store")
      let names = try check.process("save an owner without parts", opening: path, model) { session, open in
        open.coordinator.allowsEmptyNonOptionalToMany = true
        let made = try session.insert(graph, into: open.context)
        try open.context.save()
        return made.mapValues { StoreSession.name($0) }
      }
      try check.expectHeld(try graph.text(names), at: path, model, "an owner without parts")
    },
    CheckDefinition(
      "PRO-01", "A store leaves standard output alone", profile: .interop,
      from: "\(kit): standard output is where the command writes a store that was asked for with “-”",
      by: "a store is saved, changed and read, each in a process whose standard output is watched",
      causes: ["a print that was left in", "a descriptor that was closed twice"],
      catches: ["talksOnStandardOutput", "closesStandardOutput"]
    ) { check in
      let saving = try check.saveCase()
      _ = try check.process("save a change") { try saving.save($0) }
      try check.expect(try check.verdict(saving) == .new, "the new store is there", "it is not")
      try check.expect(
        check.record.output.isEmpty, "nothing is written to standard output, and it stays open",
        check.record.output.joined(separator: "; "))
    },
    CheckDefinition(
      "PRO-02", "What is in a store's folder and is not the store's stays", profile: .durable,
      from: "\(kit): a save changes the store, and nothing of anyone else's",
      by: "a hidden file, and a hidden folder with a file, are put beside the store's own; it is saved and read",
      causes: ["the folder is emptied before it is written", "the format makes and renames folders itself"],
      catches: ["sweepsFolder"], demand: { $0.layout == .folder ? .applies : .notApplicable("layout is file") }
    ) { check in
      let (path, graph, _) = try check.golden()
      Files.write(Array("1".utf8), to: path + "/.hidden")
      Files.makeFolder(path + "/.control")
      Files.write(Array("2".utf8), to: path + "/.control/file")
      for round in 1...2 {
        _ = try check.process("change and save, \(round)") {
          try $0.setNumber(path, graph, object: 0, to: Int64(round))
        }
        try check.expectEqual(Files.read(path + "/.hidden"), Array("1".utf8), "the hidden file")
        try check.expectEqual(Files.read(path + "/.control/file"), Array("2".utf8), "the file in the hidden folder")
      }
      try check.expectEqual(
        try check.process("read it") { try $0.read(path, graph.model) }.count, graph.objects.count, "objects")
    },
    CheckDefinition(
      "PRO-03", "Destroying a store that is a directory leaves what else is in it",
      from: "\(kit): the files of a store are those that a save would replace",
      by:
        "a hidden file, a hidden directory with a file, a directory, and a file that is not the format's are put beside the store's own; "
        + "it is destroyed; the last of them may also be refused",
      causes: ["the directory is removed as a whole", "the format does not say what it skipped"],
      catches: ["destroysUnrelatedFiles", "claimsUnrelatedFiles"],
      demand: { $0.layout == .folder ? .applies : .notApplicable("layout is file") }
    ) { check in try check.expectOnlyTheStoreDestroyed() },
  ]

  /// - Parameter gap: What the traits say that the format cannot do; nil for nothing.
  private static func trait(
    _ id: String, _ title: String, causes: [String], catches: [String], needsWriting: Bool = true,
    _ gap: @escaping @Sendable (StoreTraits) -> String?, _ body: @escaping @Sendable (CheckContext) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, from: "\(kit): what a format declares decides what is asked of it",
      by: "it is tried: what is declared must work, and what is declared to be missing must be refused", causes: causes,
      catches: catches,
      needsWriting: needsWriting, demand: { traits in gap(traits).map { .refuses($0) } ?? .applies }, body)
  }
}

extension CheckContext {
  /// New stores are written and read; no change of one that is there reaches the format, or leaves a trace.
  fileprivate func expectWrittenWholeOnly() throws {
    let home = folder + "/again"
    Files.makeFolder(home)
    let path = home + "/store" + (traits.fileExtensions.first.map { "." + $0 } ?? "")
    let graph = Models.golden()
    let names = try process("save a new store") { try $0.write(graph, to: path) }
    // Before it is opened again: that may leave something as well.
    let beside = Files.names(in: home)
    try expectHeld(try graph.text(names), at: path, graph.model, "a new store")
    let before = Files.stamps(path)
    let content = Files.content(path)
    struct Seen: Codable, Sendable {
      var code: String?
      var saves: Int
    }
    func refused(_ what: String, _ change: @escaping @Sendable (StoreSession) throws -> Void) throws {
      let seen = try process(what) { session in
        var code: String?
        do { try change(session.spied) } catch let error as PersistentStoreError {
          code = error.code.description
        } catch let error as ManagedObjectError {
          // The store's error is below that of the stack.
          code = (error.underlying as? PersistentStoreError)?.code.description ?? "\(error)"
        }
        return Seen(code: code, saves: Spy.calls.filter { $0.what == .save }.count)
      }
      try expectEqual(seen.code ?? "no error", "notSupported", "\(what): the error")
      try expectEqual(seen.saves, 0, "\(what): saves that reach the format")
      try expectEqual(Files.stamps(path), before, "\(what): inodes, sizes and times of change")
      try expectEqual(Files.names(in: home), beside, "\(what): what is in the directory")
      try expectUntouched(path, content, "after a refused change")
    }
    try refused("change an object and save") { _ = try $0.setNumber(path, graph, object: 0, to: 5) }
    if traits.setsMetadataAlone { try refused("set metadata alone") { try $0.setMetadata(["Which": "set"], path) } }
    // Replaced as a whole, it is a new one.
    var other = graph
    other.set("node 1", "name", .string("another"))
    let next = other
    Files.remove(path)
    let again = try process("save another new store at the path") { try $0.write(next, to: path) }
    try expectHeld(try next.text(again), at: path, graph.model, "another new store")
  }
}
