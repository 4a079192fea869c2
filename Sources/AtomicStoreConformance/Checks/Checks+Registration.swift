import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// REG: what a format is called, and how its files are known.
extension Checks {
  static let registration: [CheckDefinition] = [
    CheckDefinition(
      "REG-01", "A type is known once it was registered, by its name or its extensions, and not otherwise",
      from: "Atomic Store Life-cycle, Registration",
      by: "a store is added with a name, and with an extension, that nobody registered; then with those of the type",
      causes: ["where no type was found one was taken"], catches: ["claimsEveryExtension"]
    ) { lab in
      let type = lab.subject.type.storeType
      let path = lab.path()
      let error = try lab.refusal(of: "a store of a type that is not registered", codes: ["unknownStoreType"]) { bench in
        try bench.coordinator(Models.nodes).addPersistentStore(type: "Nobody’s", at: path).type
      }
      try lab.expect(error.text.contains("Nobody’s") && error.text.contains(type), "the error tells the name, and what is registered", error.text)
      _ = try lab.refusal(of: "a new store with an extension that is nobody’s") { bench in
        try bench.coordinator(Models.nodes).addPersistentStore(at: lab.folder + "/store.nobodys-extension").type
      }
      _ = try lab.refusal(of: "the same with no type registered at all", codes: ["unknownStoreType"]) { _ in
        try PersistentStoreCoordinator(managedObjectModel: try Models.frozen(Models.nodes), registry: StoreRegistry())
          .addPersistentStore(type: type, at: path).type
      }
      try lab.expectEqual(Files.names(in: lab.folder), [], "what was made")
      try lab.expectKept(Models.golden(), "a store of the registered type")
    },
    CheckDefinition(
      "REG-02", "A store tells the registered name of its type, whenever it is asked", from: "NSAtomicStore, type",
      by: "after it was added, saved, and opened in another process, with metadata of the application",
      causes: ["the class’s name was told"],
      catches: ["typeNameMismatch"]
    ) { lab in
      let type = lab.subject.type.storeType
      let path = lab.path()
      let told = try lab.process("begin a store, save it, and ask each time") { bench in
        let open = try bench.open(path, Models.nodes)
        return try withExtendedLifetime(open) {
          var told = [open.store.type, open.store.metadata.storeType]
          if lab.traits.keepsMetadata { try open.store.setMetadata(entries(["Origin": .string("here")])) }
          _ = try bench.insert(Models.golden(), into: open.context)
          try open.context.save()
          told += [open.store.type, open.store.metadata.storeType]
          return told
        }
      }
      try lab.expectEqual(told, Array(repeating: type, count: 4), "the type before and after the save")
      let again = try lab.process("open it in another process, and ask") { bench in
        let open = try bench.open(path, Models.nodes)
        return withExtendedLifetime(open) { [open.store.type, open.store.metadata.storeType] }
      }
      try lab.expectEqual(again, [type, type], "the type in another process")
    },
    CheckDefinition(
      "REG-03", "The file’s metadata tells the registered type; a file that tells another one is refused", from: metadataDocument,
      by: "the metadata is read alone; then a store is written that names another type, and opened", causes: ["the UUID alone was written"],
      catches: ["metadataTypeMissing"], demand: Lab.metadataIsKept
    ) { lab in
      let path = lab.path()
      _ = try lab.process("save a store with metadata") { try $0.write(Models.golden(), to: path, metadata: entries(["Origin": .string("here")])) }
      let told = try lab.process("read its metadata alone") { try $0.metadata(path).storeType }
      try lab.expectEqual(told, lab.subject.type.storeType, "the type")
      let other = lab.path("other")
      _ = try lab.process("save a store that names another type") { bench in
        try bench.watched { hooks in
          let saved = hooks.saved
          hooks.saved = { snapshot throws(PersistentStoreError) in
            try saved?(&snapshot)
            snapshot.metadata.storeType = "Nobody’s"
          }
        }.write(Models.golden(), to: other)
      }
      switch try lab.attempt("open it", { try $0.open(other, Models.nodes).store.metadata.storeType }) {
      case .value(let type): try lab.expectEqual(type, lab.subject.type.storeType, "the type of a format that writes its own name")
      case .refused(let error): try lab.expect(error.code != nil, "a store error", error.text)
      default: throw Disappointment(expected: "it is refused, or tells the registered type", actual: "the process ended")
      }
    },
    CheckDefinition(
      "REG-04", "Registering a format again changes nothing; another one under its name is refused", level: .should, from: kit,
      by: "registered ten thousand times; then another format of the same name",
      causes: ["the name was not the same each time it was asked for"],
      catches: ["typeNameChanges"]
    ) { lab in
      let count = try lab.process("register it ten thousand times") { bench in
        var registry = StoreRegistry()
        for _ in 0..<10_000 { try registry.register(bench.subject.type) }
        return registry.storeTypes.count
      }
      try lab.expectEqual(count, 1, "registered types")
      _ = try lab.refusal(of: "another format of the same name", codes: ["storeTypeTaken"]) { bench in
        var registry = try bench.registry()
        func wrapped<Base: AtomicStore>(_: Base.Type) -> any AtomicStore.Type { FaultyStore<Base>.self }
        try registry.register(wrapped(bench.subject.type))
        return true
      }
    },
    CheckDefinition(
      "REG-09", "A format knows its own files, claims no others, and changes nothing by looking", from: kit,
      by: "its own store, those of the other formats, and files of well-known kinds are shown to it; every system call is looked at",
      causes: ["any text was taken for its own"], catches: ["greedyProbe"]
    ) { lab in
      let (path, _, _) = try lab.golden()
      var places: [(what: String, path: String, isOwn: Bool)] = [("its own store", path, true)]
      for (number, other) in lab.subject.others.enumerated() {
        let suffix = other.traits.fileExtensions.first.map { "." + $0 } ?? ""
        let at = lab.folder + "/other\(number)\(suffix)"
        let subject = ConformanceSubject(other)
        _ = try lab.process("save a store of type \(other.storeType)") { bench in
          try Bench(subject: subject, folder: bench.folder).write(Models.golden(), to: at)
        }
        places.append(("a store of type \(other.storeType)", at, false))
      }
      for (name, bytes) in foreign(seed: lab.seed) {
        Files.write(bytes, to: lab.folder + "/" + name)
        places.append((name, lab.folder + "/" + name, false))
      }
      let before = Files.stamps(lab.folder)
      for (what, at, isOwn) in places {
        let plan = try FaultPlan()
        let end = try lab.attempt("show it \(what)", faults: plan) { bench in
          let probe = try StorePlace.inspect(at).probe()
          return ["\(bench.subject.type.recognize(probe))", "\(bench.subject.type.recognize(probe))"]
        }
        guard case .value(let answers) = end else { throw Disappointment(expected: "\(what): an answer", actual: "\(end)") }
        try lab.expectEqual(answers[1], answers[0], "\(what): the answer when asked again")
        if isOwn { try lab.expectEqual(answers[0], "yes", what) } else { try lab.expect(answers[0] != "yes", "\(what): not its own", "yes") }
        try lab.expectNoChanges(plan)
      }
      try lab.expectEqual(Files.stamps(lab.folder), before, "inodes, sizes and times of change")
    },
  ]
}
