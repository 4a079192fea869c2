import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// INI: a store begins, or is found: what is at the path, and what must not be done to it.
extension Checks {
  static let initialization: [CheckDefinition] = [
    CheckDefinition(
      "INI-01", "A store can begin where nothing exists, and the first save makes the file", from: initDocument,
      by: "a graph is saved at a path where nothing is, with an extension and without one, and read in another process",
      causes: ["a missing file was an error", "the file was expected to have been made by another process"],
      catches: ["failsOnMissingFile"]
    ) { check in
      for path in [check.path("new"), check.path(plain: "without")] {
        try check.expect(!Files.exists(path), "nothing is at the path", "something is")
        try check.expectKept(Models.golden(), "a store begun where nothing was", path: path)
        try check.expect(
          (Files.content(path) ?? [:]).values.contains { !$0.isEmpty }, "the file has content after the save",
          "it has none")
      }
    },
    CheckDefinition(
      "INI-02", "A file of zero bytes is a store without objects", from: zeroDocument,
      by: "a file of zero bytes is opened; the objects are counted and the metadata looked at",
      causes: ["zero bytes were handed to a parser"], catches: ["parsesZeroLength"]
    ) { check in
      let path = check.path()
      Files.write([], to: path)
      let seen = try check.process("open a file of zero bytes", opening: path, Models.nodes) { _, open in
        ["\(open.store.nodes.count)", open.store.type, open.store.metadata.uuid.uuidString]
      }
      try check.expectEqual(seen[0], "0", "objects")
      try check.expectEqual(seen[1], check.subject.type.storeType, "the type in the metadata")
      try check.expect(seen[2] != noUUID, "the metadata has a UUID", seen[2])
      try check.expectEqual(Files.content(path), ["": []], "what is there afterwards")
    },
    CheckDefinition(
      "INI-03", "A file of zero bytes becomes a whole store with the first save", from: zeroDocument,
      by: "a file of zero bytes is opened, filled and saved; graph, UUID and metadata are read in another process",
      causes: ["what a new file gets was left out where a file was there already"],
      catches: ["zeroLengthNeverInitialized"]
    ) { check in
      let path = check.path()
      Files.write([], to: path)
      let graph = Models.golden()
      let made = try check.process("open a file of zero bytes, and save objects and metadata") { session in
        try session.opened(path, graph.model) { open in
          let uuid = open.store.identifier.uuidString
          if check.traits.keepsMetadata { try open.store.setMetadata(entries(["Origin": .string("zero bytes")])) }
          let made = try session.insert(graph, into: open.context)
          try open.context.save()
          return Made(uuid: uuid, references: made.mapValues { StoreSession.name($0) })
        }
      }
      let read = try check.process("read it in another process") { session in
        try session.opened(path, graph.model, isReadOnly: true) { open in
          Seen(
            uuid: open.store.identifier.uuidString, origin: open.store.metadata.entries["Origin"].map { "\($0)" },
            text: try GraphText(open.store))
        }
      }
      try check.expectSame(read.text, graph.text(made.references), "the graph")
      if check.traits.keepsMetadata {
        try check.expectEqual(read.uuid, made.uuid, "the UUID")
        try check.expectEqual(read.origin, "\(PropertyListValue.string("zero bytes"))", "the metadata entry")
      }
    },
    CheckDefinition(
      "INI-04", "A store that is opened, read and removed is not written to", from: initDocument,
      by: "bytes, inode and times before and after; every system call is looked at",
      causes: ["the file was opened for writing, in case"],
      catches: ["truncatesExisting"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let bytes = Files.content(path)
      let stamps = Files.stamps(path)
      let plan = try FaultPlan()
      let end = try check.attempt("open it, read everything, remove it", faults: plan) { session in
        let open = try session.open(path, graph.model)
        let count = try GraphText(open.store).count
        try open.coordinator.remove(open.store)
        return count
      }
      guard case .value(let count) = end else {
        throw ExpectationFailure(expected: "the store is read", actual: "\(end)")
      }
      try check.expectEqual(count, graph.objects.count, "objects")
      try check.expectUntouched(path, bytes, "after it was removed")
      try check.expectEqual(Files.stamps(path), stamps, "inode, size and time of change")
      try check.expectNoChanges(plan)
    },
    CheckDefinition(
      "INI-05", "Where the folder is missing, the store is refused and nothing is made", from: kit,
      by: "a store is added three folders below one that is there", causes: ["folders were made on the way"],
      catches: ["createsParents"]
    ) { check in
      let path = check.path("a/b/c")
      _ = try check.refusal(of: "a store in a folder that is missing", codes: ["cannotCreate", "notFound"]) { session in
        try session.open(path, Models.nodes).store.type
      }
      try check.expect(!Files.exists(check.folder + "/a"), "no folder is made", "a folder was made")
    },
    CheckDefinition(
      "INI-06", "A folder of something else is refused, and stays", from: kit,
      by: "a store is added where there is a folder with a text", causes: ["what lay in the way was taken away"],
      catches: ["replacesDirectory"]
    ) { check in
      let path = check.path()
      Files.makeFolder(path)
      Files.write(Array("not a store\n".utf8), to: path + "/note.txt")
      let before = Files.content(path)
      _ = try check.refusal(of: "a store where a folder with a text is") {
        try $0.open(path, Models.nodes).store.type
      }
      try check.expectUntouched(path, before, "the folder")
    },
    CheckDefinition(
      "INI-07", "A symbolic link to a store stays a link; the store that it leads to is the one that is saved",
      from: kit,
      by: "a store is opened by a link in another folder and saved; link and target are looked at",
      causes: ["the file was replaced at the name that was given"], catches: ["blindToLinks"]
    ) { check in
      let (path, graph, _) = try check.golden()
      Files.makeFolder(check.folder + "/links")
      let link = check.path("links/link")
      guard symlink(path, link) == 0 else { throw Skipped(reason: "no symbolic link can be made") }
      try check.changeName(link, graph, to: "by the link")
      try check.expectEqual(Files.target(ofLink: link), path, "where the link leads")
      let names = try check.names(path, graph)
      try check.expect(names.contains("by the link"), "the target has what was saved", "it has \(names)")
    },
    CheckDefinition(
      "INI-08", "A link to nothing: the store begins where it leads, or is refused; never half of both", level: .should,
      from: kit,
      by: "a new store is saved by a link whose target is missing", causes: ["the link was taken for the store"],
      catches: ["danglingLinkHalfDone"]
    ) { check in
      let target = check.path("target")
      let link = check.path("link")
      guard symlink(target, link) == 0 else { throw Skipped(reason: "no symbolic link can be made") }
      let graph = Models.golden()
      let saved = try check.unlessRefused("save a new store by a link to nothing") { try $0.write(graph, to: link) }
      try check.expectEqual(Files.target(ofLink: link), target, "where the link leads")
      guard let saved else { return try check.expect(!Files.exists(target), "nothing is made", "the target was made") }
      let read = try check.process("read the target") { try $0.read(target, graph.model) }
      try check.expectSame(read, graph.text(saved), "the target's graph")
    },
    CheckDefinition(
      "INI-09", "Links that lead in a circle are refused at once", level: .should, from: kit,
      by: "two links that lead to each other",
      causes: ["links were followed without a bound"], catches: ["blindToLinks"]
    ) { check in
      let one = check.path("one")
      let two = check.path("two")
      guard symlink(two, one) == 0, symlink(one, two) == 0 else {
        throw Skipped(reason: "no symbolic link can be made")
      }
      _ = try check.refusal(of: "a store behind a circle of links", seconds: 2) {
        try $0.open(one, Models.nodes).store.type
      }
      try check.expectEqual(
        Files.names(in: check.folder), [one, two].map { String($0.dropFirst(check.folder.count + 1)) },
        "what is there")
    },
    CheckDefinition(
      "INI-10", "A pipe, a socket and a device are refused, and no one waits for them", from: kit,
      by: "a store is added at each of them",
      causes: ["what kind of file it is was not asked before it was opened"], catches: ["takesPipesForFiles"]
    ) { check in
      let pipe = check.path("pipe")
      guard mkfifo(pipe, 0o644) == 0 else { throw Skipped(reason: "no pipe can be made") }
      for path in [pipe, "/dev/null", "/dev/full"] {
        _ = try check.refusal(of: "a store at \(path == pipe ? "a pipe" : path)", seconds: 3) {
          try $0.open(path, Models.nodes).store.type
        }
      }
    },
    CheckDefinition(
      "INI-11", "A file that is protected against writing can be read; saving it is refused and leaves it", from: kit,
      by: "a store with mode 0444, opened and saved by its owner, who is not root",
      causes: ["a new file was put in its place without a question"],
      catches: ["unlinksReadOnly"]
    ) { check in
      let (path, graph, text) = try check.golden()
      let isRoot = geteuid() == 0
      for name in [path] + (Files.isFolder(path) ? Files.names(in: path).map { path + "/" + $0 } : []) {
        if isRoot { _ = chown(name, unprivilegedUser, unprivilegedUser) }
        chmod(name, Files.isFolder(name) ? 0o555 : 0o444)
      }
      if isRoot { _ = chown(check.folder, unprivilegedUser, unprivilegedUser) }
      let before = Files.content(path)
      func asOwner<Value>(_ body: () throws -> Value) throws -> Value {
        guard isRoot else { return try body() }
        guard seteuid(unprivilegedUser) == 0 else { throw Skipped(reason: "the user cannot be changed") }
        defer { _ = seteuid(0) }
        return try body()
      }
      let read = try check.process("read it") { session in try asOwner { try session.read(path, graph.model) } }
      try check.expectSame(read, text, "the graph")
      _ = try check.refusal(of: "saving over a file that is protected", codes: ["permissionDenied", "readOnly"]) {
        session in
        try asOwner { try session.changeName(path, graph, to: "changed") }
      }
      try check.expectUntouched(path, before, "after the refusal")
    },
    CheckDefinition(
      "INI-12", "A store that is opened for reading only is never written to, and refuses to be saved", from: kit,
      by: "a whole life with the option; every system call is looked at",
      causes: ["a lock or a temporary file was made all the same"],
      catches: ["writesUnderReadOnly"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let before = Files.stamps(check.folder)
      let plan = try FaultPlan()
      let end = try check.attempt("open it for reading, change an object, save, remove it", faults: plan) { session in
        let open = try session.open(path, graph.model, isReadOnly: true)
        defer { try? open.coordinator.remove(open.store) }
        let object = try session.all(open, "Node").first
        try object?.setValue("changed", forKey: "name")
        try open.context.save()
        return true
      }
      switch end {
      case .refused(let error): try check.expectEqual(error.code, "readOnly", "the error")
      default: throw ExpectationFailure(expected: "the save is refused", actual: "\(end)")
      }
      try check.expectNoChanges(plan)
      try check.expectEqual(Files.stamps(check.folder), before, "inodes, sizes and times of change")
    },
  ]

  /// What a store is called, which options it takes, and what a refusal leaves.
  static let namesAndOptions: [CheckDefinition] = [
    CheckDefinition(
      "INI-22", "Names of every kind are the store’s own, and stay where they were when the current folder changes",
      from: kit,
      by:
        "names with blanks, %, #, line ends, accents in both forms, 200 bytes; a relative path, and another current folder before the save",
      causes: ["a path went through a URL", "a relative path was looked up again"],
      catches: ["percentEncodesPath", "relativePathAfterChdir"]
    ) { check in
      let graph = Models.golden()
      let names = [
        "with blank", "100%25", "a#b?c", "line\nend", "emoji 👩‍👩‍👧", "caf\u{E9}", "cafe\u{301}", "-dash", "a;b&c",
        String(repeating: "x", count: 200),
      ]
      for (number, name) in names.enumerated() {
        Files.makeFolder(check.folder + "/\(number)")
        let path = check.path("\(number)/\(name)")
        try check.expectKept(graph, "a store named \(GraphText.shown(name))", path: path)
        let own = Array(path.utf8.dropFirst("\(check.folder)/\(number)/".utf8.count))
        try check.expectEqual(
          Files.names(in: check.folder + "/\(number)").map { Array($0.utf8) }, [own], "the bytes of the names there")
      }
      Files.makeFolder(check.folder + "/here")
      Files.makeFolder(check.folder + "/there")
      let path = check.path("here/relative")
      let references = try check.process("open a relative path, change the current folder, save") { session in
        guard chdir(check.folder + "/here") == 0 else { throw Skipped(reason: "the current folder cannot be changed") }
        let open = try session.open(String(path.dropFirst("\(check.folder)/here/".count)), graph.model)
        guard chdir(check.folder + "/there") == 0 else { throw Skipped(reason: "the current folder cannot be changed") }
        return try withExtendedLifetime(open) {
          let made = try session.insert(graph, into: open.context)
          try open.context.save()
          return made.mapValues { StoreSession.name($0) }
        }
      }
      try check.expectEqual(Files.names(in: check.folder + "/there"), [], "what is in the other folder")
      let read = try check.process("read it where it was begun") { try $0.read(path, graph.model) }
      try check.expectSame(read, graph.text(references), "the graph")
    },
    CheckDefinition(
      "INI-23", "Options that a format has take its values and no others; options that it has not are refused",
      level: .should,
      from: "NSAtomicStore, “as well as the options”",
      by: "every option that the traits name, with each of its values, and with another; a name that is none",
      causes: ["options were not looked at"], catches: ["takesAnyOption"]
    ) { check in
      _ = try check.refusal(of: "an option that there is not", codes: ["invalidOption"]) { session in
        try session.open(check.path("none"), Models.nodes, options: ["no-such-option": "1"]).store.type
      }
      try check.expect(!Files.exists(check.path("none")), "nothing is made", "something is there")
      let all = check.traits.readOptions + check.traits.writeOptions
      for (number, option) in all.enumerated() {
        guard let values = option.values else { continue }
        _ = try check.refusal(
          of: "the option \(option.name) with a value that it does not take", codes: ["invalidOption"]
        ) { session in
          try session.open(check.path("none"), Models.nodes, options: [option.name: "no such value"]).store.type
        }
        for value in values {
          let path = check.path("option\(number)")
          let end = try check.attempt("open a new store with \(option.name)=\(value)") { session in
            try session.open(path, Models.nodes, options: [option.name: value]).store.type
          }
          switch end {
          case .value: break
          // A value that does not go with the rest of the options may say so.
          case .refused(let error): try check.expectEqual(error.code, "invalidOption", "\(option.name)=\(value)")
          default: throw ExpectationFailure(expected: "\(option.name)=\(value): taken", actual: "\(end)")
          }
        }
      }
      check.note("\(all.count) options")
    },
    CheckDefinition(
      "INI-24", "A store that is refused leaves no descriptor open and no file behind", from: kit,
      by: "a hundred stores that are damaged are added in one process",
      causes: ["an early return went past the closing"],
      catches: ["leaksDescriptorOnError", "cleansUpForCoordinatorsOnly"]
    ) { check in
      let (path, graph, _) = try check.golden()
      try check.cutShort(path)
      let before = Files.names(in: check.folder)
      let seen = try check.process("add a damaged store a hundred times") { session in
        func once() -> Bool { (try? session.open(path, graph.model)) != nil }
        var opened = once() ? 1 : 0
        let first = StoreSession.descriptors().count
        for _ in 0..<100 where once() { opened += 1 }
        return [opened, first, StoreSession.descriptors().count]
      }
      try check.expectEqual(seen[0], 0, "how often it was opened")
      try check.expectEqual(seen[2], seen[1], "open descriptors")
      try check.expectEqual(Files.names(in: check.folder), before, "what is in the folder")
    },
  ]

  static let initDocument = "Atomic Store Life-cycle, Initialization"
  static let zeroDocument = "Atomic Store Life-cycle, Zero-length files"
  static let noUUID = "00000000-0000-0000-0000-000000000000"
  /// A user who is not root, where the process is root’s.
  private static let unprivilegedUser: uid_t = 65534

  /// What a process that made a store reports about it.
  struct Made: Codable, Sendable {
    var uuid: String
    var references: [String: String]
  }
  struct Seen: Codable, Sendable {
    var uuid: String
    var origin: String?
    var text: GraphText
  }

  static func name(_ member: String) -> String { member.isEmpty ? "the file" : member }
}

extension StoreSession {
  /// Opens a store, gives its first node another name, and saves it.
  @discardableResult func changeName(_ path: String, _ graph: Graph, to name: String) throws -> Bool {
    try opened(path, graph.model) { open in
      try all(open, "Node").first?.setValue(name, forKey: "name")
      try open.context.save()
      return true
    }
  }
}

extension CheckContext {
  func changeName(_ path: String, _ graph: Graph, to name: String) throws {
    _ = try process("change a name and save") { try $0.changeName(path, graph, to: name) }
  }

  func names(_ path: String, _ graph: Graph) throws -> [String] {
    try process("read the names", opening: path, graph.model, isReadOnly: true) { session, open in
      try session.all(open, "Node").map { "\(try $0.value(forKey: "name") ?? "nil")" }
    }
  }

  /// Cuts the largest file of a store in two thirds: far enough to be known as the format’s.
  func cutShort(_ path: String) throws {
    guard let content = Files.content(path),
      let largest = content.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) })
    else {
      throw ExpectationFailure(expected: "a store is there", actual: "nothing is")
    }
    let member = largest.key.isEmpty ? path : path + "/" + largest.key
    Files.write(Array(largest.value.prefix(largest.value.count * 2 / 3)), to: member)
  }
}
