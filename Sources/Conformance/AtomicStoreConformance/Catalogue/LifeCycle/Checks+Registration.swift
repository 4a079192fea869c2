import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// REG: what a format is called, and how its files are known.
extension Checks {
  static let registration: [CheckDefinition] = [
    CheckDefinition(
      "REG-01", "A type is known once it was registered, by its name or its extensions, and not otherwise",
      from: "Atomic Store Life-cycle, Registration",
      by: "a store is added with a name, and with an extension, that no one registered; then with those of the type",
      causes: ["where no type was found one was taken"], catches: ["claimsEveryExtension"]
    ) { check in
      let type = check.subject.type.storeType
      let path = check.path()
      let error = try check.refusal(of: "a store of a type that is not registered", codes: ["unknownStoreType"]) {
        session in
        try session.coordinator(Models.nodes).addPersistentStore(type: "Unregistered", at: path).type
      }
      try check.expect(
        error.text.contains("Unregistered") && error.text.contains(type),
        "the error names the type, and what is registered", error.text)
      _ = try check.refusal(of: "a new store with an unregistered extension") { session in
        try session.coordinator(Models.nodes).addPersistentStore(at: check.folder + "/store.nobodys-extension").type
      }
      _ = try check.refusal(of: "the same with no type registered at all", codes: ["unknownStoreType"]) { _ in
        try PersistentStoreCoordinator(managedObjectModel: try Models.frozen(Models.nodes), registry: StoreRegistry())
          .addPersistentStore(type: type, at: path).type
      }
      try check.expectEqual(Files.names(in: check.folder), [], "what was made")
      try check.expectKept(Models.golden(), "a store of the registered type")
    },
    CheckDefinition(
      "REG-02", "A store returns the registered name of its type, whenever it is asked", from: "NSAtomicStore, type",
      by: "after it was added, saved, and opened in another process, with metadata of the application",
      causes: ["the class’s name was returned"],
      catches: ["typeNameMismatch"]
    ) { check in
      let type = check.subject.type.storeType
      let path = check.path()
      let told = try check.process("begin a store, save it, and ask each time") { session in
        try session.opened(path, Models.nodes) { open in
          var told = [open.store.type, open.store.metadata.storeType]
          if check.traits.keepsMetadata { try open.store.setMetadata(entries(["Origin": .string("here")])) }
          _ = try session.insert(Models.golden(), into: open.context)
          try open.context.save()
          told += [open.store.type, open.store.metadata.storeType]
          return told
        }
      }
      try check.expectEqual(told, Array(repeating: type, count: 4), "the type before and after the save")
      let again = try check.process("open it in another process, and ask", opening: path, Models.nodes) { _, open in
        [open.store.type, open.store.metadata.storeType]
      }
      try check.expectEqual(again, [type, type], "the type in another process")
    },
    CheckDefinition(
      "REG-03", "The file’s metadata names the registered type; a file that names another one is refused",
      from: metadataDocument,
      by: "the metadata is read alone; then a store is written that names another type, and opened",
      causes: ["the UUID alone was written"],
      catches: ["metadataTypeMissing"], demand: metadataIsKept
    ) { check in
      let path = check.path()
      _ = try check.process("save a store with metadata") {
        try $0.write(Models.golden(), to: path, metadata: entries(["Origin": .string("here")]))
      }
      let told = try check.process("read its metadata alone") { try $0.metadata(path).storeType }
      try check.expectEqual(told, check.subject.type.storeType, "the type")
      let other = check.path("other")
      _ = try check.process("save a store that names another type") { session in
        try session.watched { hooks in
          let saved = hooks.saved
          hooks.saved = { snapshot throws(PersistentStoreError) in
            try saved?(&snapshot)
            snapshot.metadata.storeType = "Unregistered"
          }
        }.write(Models.golden(), to: other)
      }
      switch try check.attempt("open it", { try $0.open(other, Models.nodes).store.metadata.storeType }) {
      case .value(let type):
        try check.expectEqual(type, check.subject.type.storeType, "the type of a format that writes its own name")
      case .refused(let error): try check.expect(error.code != nil, "a store error", error.text)
      default:
        throw ExpectationFailure(expected: "it is refused, or has the registered type", actual: "the process ended")
      }
    },
    CheckDefinition(
      "REG-04", "Registering a format again changes nothing; another one under its name is refused", level: .should,
      from: kit,
      by: "registered ten thousand times; then another format of the same name",
      causes: ["the name was not the same each time it was asked for"],
      catches: ["typeNameChanges"]
    ) { check in
      let count = try check.process("register it ten thousand times") { session in
        var registry = StoreRegistry()
        var names: Set<String> = []
        for _ in 0..<10_000 {
          try registry.register(session.subject.type)
          names.insert(session.subject.type.storeType)
        }
        return [registry.storeTypes.count, names.count]
      }
      try check.expectEqual(count, [1, 1], "registered types, and names of the type")
      _ = try check.refusal(of: "another format of the same name", codes: ["storeTypeTaken"]) { session in
        var registry = try session.registry()
        func wrapped<Base: AtomicStore>(_: Base.Type) -> any AtomicStore.Type { FaultyStore<Base>.self }
        try registry.register(wrapped(session.subject.type))
        return true
      }
    },
    CheckDefinition(
      "REG-09", "A format knows its own files, claims no others, and changes nothing by looking", from: kit,
      by:
        "its own store, the first one, two and three bytes of it alone and with others behind them, stores of the other formats, and files of thirty kinds are shown to it; every system call is looked at",
      causes: ["any text was taken for its own", "the signature is short, or part of it is looked at"],
      catches: ["greedyProbe", "claimsArchives", "comparesTwoBytes"]
    ) { check in
      let (path, _, _) = try check.golden()
      var places: [(what: String, path: String, isOwn: Bool)] = [("its own store", path, true)]
      for (number, other) in check.subject.others.enumerated() {
        let suffix = other.traits.fileExtensions.first.map { "." + $0 } ?? ""
        let at = check.folder + "/other\(number)\(suffix)"
        let subject = TestedStore(type: other)
        _ = try check.process("save a store of type \(other.storeType)") { session in
          try StoreSession(subject: subject, folder: session.folder).write(Models.golden(), to: at)
        }
        places.append(("a store of type \(other.storeType)", at, false))
      }
      let own = Files.isFolder(path) ? [] : Files.read(path) ?? []
      for (name, bytes) in ForeignFiles.all(seed: check.seed) + ForeignFiles.beginnings(of: own, seed: check.seed) {
        Files.write(bytes, to: check.folder + "/" + name)
        places.append((name, check.folder + "/" + name, false))
      }
      let before = Files.stamps(check.folder)
      let plan = try FaultPlan()
      let paths = places.map(\.path)
      let end = try check.attempt("show it \(paths.count) files, one after the other", faults: plan) { session in
        try paths.map { path in
          let probe = try StorePath.inspect(path).probe()
          return ["\(session.subject.type.recognize(probe))", "\(session.subject.type.recognize(probe))"]
        }
      }
      let answers = try check.settle(end, "to recognize files")
      for ((what, _, isOwn), answers) in zip(places, answers) {
        try check.expectEqual(answers[1], answers[0], "\(what): the answer when asked again")
        if isOwn {
          try check.expectEqual(answers[0], "yes", what)
        } else {
          try check.expect(answers[0] != "yes", "\(what): not its own", "yes")
        }
      }
      try check.expectNoChanges(plan)
      try check.expectEqual(Files.stamps(check.folder), before, "inodes, sizes and times of change")
    },
  ]
}
