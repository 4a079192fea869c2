import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// INI: a store begins, or is found: what lies at the path, and what must not be done to it.
extension Checks {
  static let initialisation: [CheckDefinition] = [
    CheckDefinition(
      "INI-01", "Where nothing lies a store can begin, and the first save makes the file", from: initDocument,
      by: "a graph is saved at a path where nothing is, with an extension and without one, and read in another process",
      causes: ["a missing file was an error", "the file was expected to have been made by somebody else"], catches: ["failsOnMissingFile"]
    ) { lab in
      for path in [lab.path("new"), lab.path(plain: "without")] {
        try lab.expect(!Files.exists(path), "nothing lies at the path", "something does")
        try lab.expectKept(Models.golden(), "a store begun where nothing was", path: path)
        try lab.expect(
          (Files.content(path) ?? [:]).values.contains { !$0.isEmpty }, "the file has content after the save", "it has none")
      }
    },
    CheckDefinition(
      "INI-02", "A file of zero bytes is a store without objects", from: zeroDocument,
      by: "a file of zero bytes is opened; the objects are counted and the metadata looked at",
      causes: ["zero bytes were handed to a parser"], catches: ["parsesZeroLength"]
    ) { lab in
      let path = lab.path()
      Files.write([], to: path)
      let seen = try lab.process("open a file of zero bytes") { bench in
        let open = try bench.open(path, Models.nodes)
        return withExtendedLifetime(open) { ["\(open.store.nodes.count)", open.store.type, open.store.metadata.uuid.uuidString] }
      }
      try lab.expectEqual(seen[0], "0", "objects")
      try lab.expectEqual(seen[1], lab.subject.type.storeType, "the type in the metadata")
      try lab.expect(seen[2] != noUUID, "the metadata has a UUID", seen[2])
      try lab.expectEqual(Files.content(path), ["": []], "what lies there afterwards")
    },
    CheckDefinition(
      "INI-03", "A file of zero bytes becomes a whole store with the first save", from: zeroDocument,
      by: "a file of zero bytes is opened, filled and saved; graph, UUID and metadata are read in another process",
      causes: ["what a new file gets was left out where a file was there already"], catches: ["zeroLengthNeverInitialised"]
    ) { lab in
      let path = lab.path()
      Files.write([], to: path)
      let graph = Models.golden()
      let made = try lab.process("open a file of zero bytes, and save objects and metadata") { bench in
        let open = try bench.open(path, graph.model)
        return try withExtendedLifetime(open) {
          let uuid = open.store.identifier.uuidString
          if lab.traits.keepsMetadata { try open.store.setMetadata(entries(["Origin": .string("zero bytes")])) }
          let made = try bench.insert(graph, into: open.context)
          try open.context.save()
          return Made(uuid: uuid, references: made.mapValues { Bench.name($0) })
        }
      }
      let read = try lab.process("read it in another process") { bench in
        let open = try bench.open(path, graph.model, isReadOnly: true)
        return try withExtendedLifetime(open) {
          Seen(uuid: open.store.identifier.uuidString, origin: open.store.metadata.entries["Origin"].map { "\($0)" }, text: try GraphText(open.store))
        }
      }
      try lab.expectSame(read.text, graph.text(made.references), "the graph")
      if lab.traits.keepsMetadata {
        try lab.expectEqual(read.uuid, made.uuid, "the UUID")
        try lab.expectEqual(read.origin, "\(PropertyListValue.string("zero bytes"))", "the metadata entry")
      }
    },
    CheckDefinition(
      "INI-04", "A store that is opened, read and removed is not written to", from: initDocument,
      by: "bytes, inode and times before and after; every system call is looked at", causes: ["the file was opened for writing, in case"],
      catches: ["truncatesExisting"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let bytes = Files.content(path)
      let stamps = Files.stamps(path)
      let plan = try FaultPlan()
      let end = try lab.attempt("open it, read everything, remove it", faults: plan) { bench in
        let open = try bench.open(path, graph.model)
        let count = try GraphText(open.store).count
        try open.coordinator.remove(open.store)
        return count
      }
      guard case .value(let count) = end else { throw Disappointment(expected: "the store is read", actual: "\(end)") }
      try lab.expectEqual(count, graph.objects.count, "objects")
      try lab.expectUntouched(path, bytes, "after it was removed")
      try lab.expectEqual(Files.stamps(path), stamps, "inode, size and time of change")
      try lab.expectNoChanges(plan)
    },
    CheckDefinition(
      "INI-05", "Where the folder is missing, the store is refused and nothing is made", from: kit,
      by: "a store is added three folders below one that is there", causes: ["folders were made on the way"], catches: ["createsParents"]
    ) { lab in
      let path = lab.path("a/b/c")
      _ = try lab.refusal(of: "a store in a folder that is missing", codes: ["cannotCreate", "notFound"]) { bench in
        try bench.open(path, Models.nodes).store.type
      }
      try lab.expect(!Files.exists(lab.folder + "/a"), "no folder is made", "a folder was made")
    },
    CheckDefinition(
      "INI-06", "A folder of something else is refused, and stays", from: kit,
      by: "a store is added where a folder lies that holds a text", causes: ["what lay in the way was taken away"],
      catches: ["replacesDirectory"]
    ) { lab in
      let path = lab.path()
      Files.makeFolder(path)
      Files.write(Array("not a store\n".utf8), to: path + "/note.txt")
      let before = Files.content(path)
      _ = try lab.refusal(of: "a store where a folder with a text lies") { try $0.open(path, Models.nodes).store.type }
      try lab.expectUntouched(path, before, "the folder")
    },
    CheckDefinition(
      "INI-07", "A symbolic link to a store stays a link; the store that it leads to is the one that is saved", from: kit,
      by: "a store is opened by a link in another folder and saved; link and target are looked at",
      causes: ["the file was replaced at the name that was given"], catches: ["blindToLinks"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      Files.makeFolder(lab.folder + "/links")
      let link = lab.path("links/link")
      guard symlink(path, link) == 0 else { throw Blockage(reason: "no symbolic link can be made") }
      try lab.changeName(link, graph, to: "by the link")
      try lab.expectEqual(Files.target(ofLink: link), path, "where the link leads")
      let names = try lab.names(path, graph)
      try lab.expect(names.contains("by the link"), "the target has what was saved", "it has \(names)")
    },
    CheckDefinition(
      "INI-08", "A link to nothing: the store begins where it leads, or is refused; never half of both", level: .should, from: kit,
      by: "a new store is saved by a link whose target is missing", causes: ["the link was taken for the store"],
      catches: ["danglingLinkHalfDone"]
    ) { lab in
      let target = lab.path("target")
      let link = lab.path("link")
      guard symlink(target, link) == 0 else { throw Blockage(reason: "no symbolic link can be made") }
      let graph = Models.golden()
      switch try lab.attempt("save a new store by a link to nothing", { try $0.write(graph, to: link) }) {
      case .value(let references):
        try lab.expectEqual(Files.target(ofLink: link), target, "where the link leads")
        let read = try lab.process("read the target") { try $0.read(target, graph.model) }
        try lab.expectSame(read, graph.text(references), "the target's graph")
      case .refused:
        try lab.expectEqual(Files.target(ofLink: link), target, "where the link leads")
        try lab.expect(!Files.exists(target), "nothing is made", "the target was made")
      case .crashed, .exited, .timedOut: _ = try lab.process("save it again") { try $0.write(graph, to: link) }
      }
    },
    CheckDefinition(
      "INI-09", "Links that lead in a circle are refused at once", level: .should, from: kit, by: "two links that lead to each other",
      causes: ["links were followed without a bound"], catches: ["blindToLinks"]
    ) { lab in
      let one = lab.path("one")
      let two = lab.path("two")
      guard symlink(two, one) == 0, symlink(one, two) == 0 else { throw Blockage(reason: "no symbolic link can be made") }
      _ = try lab.refusal(of: "a store behind a circle of links", seconds: 2) { try $0.open(one, Models.nodes).store.type }
      try lab.expectEqual(Files.names(in: lab.folder), [one, two].map { String($0.dropFirst(lab.folder.count + 1)) }, "what lies there")
    },
    CheckDefinition(
      "INI-10", "A pipe, a socket and a device are refused, and nobody waits for them", from: kit, by: "a store is added at each of them",
      causes: ["what kind of file it is was not asked before it was opened"], catches: ["takesPipesForFiles"]
    ) { lab in
      let pipe = lab.path("pipe")
      guard mkfifo(pipe, 0o644) == 0 else { throw Blockage(reason: "no pipe can be made") }
      for path in [pipe, "/dev/null", "/dev/full"] {
        _ = try lab.refusal(of: "a store at \(path == pipe ? "a pipe" : path)", seconds: 3) { try $0.open(path, Models.nodes).store.type }
      }
    },
    CheckDefinition(
      "INI-11", "A file that is protected against writing can be read; saving it is refused and leaves it", from: kit,
      by: "a store with mode 0444, opened and saved by its owner, who is not root",
      causes: ["a new file was put in its place without a question"],
      catches: ["unlinksReadOnly"]
    ) { lab in
      let (path, graph, text) = try lab.golden()
      let isRoot = geteuid() == 0
      for name in [path] + (Files.isFolder(path) ? Files.names(in: path).map { path + "/" + $0 } : []) {
        if isRoot { _ = chown(name, nobody, nobody) }
        chmod(name, Files.isFolder(name) ? 0o555 : 0o444)
      }
      if isRoot { _ = chown(lab.folder, nobody, nobody) }
      let before = Files.content(path)
      func asOwner<Value>(_ body: () throws -> Value) throws -> Value {
        guard isRoot else { return try body() }
        guard seteuid(nobody) == 0 else { throw Blockage(reason: "the user cannot be changed") }
        defer { _ = seteuid(0) }
        return try body()
      }
      let read = try lab.process("read it") { bench in try asOwner { try bench.read(path, graph.model) } }
      try lab.expectSame(read, text, "the graph")
      _ = try lab.refusal(of: "saving over a file that is protected", codes: ["permissionDenied", "readOnly"]) { bench in
        try asOwner { try bench.changeName(path, graph, to: "changed") }
      }
      try lab.expectUntouched(path, before, "after the refusal")
    },
    CheckDefinition(
      "INI-12", "A store that is opened for reading only is never written to, and refuses to be saved", from: kit,
      by: "a whole life with the option; every system call is looked at", causes: ["a lock or a temporary file was made all the same"],
      catches: ["writesUnderReadOnly"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let before = Files.stamps(lab.folder)
      let plan = try FaultPlan()
      let end = try lab.attempt("open it for reading, change an object, save, remove it", faults: plan) { bench in
        let open = try bench.open(path, graph.model, isReadOnly: true)
        defer { try? open.coordinator.remove(open.store) }
        let object = try bench.all(open, "Node").first
        try object?.setValue("changed", forKey: "name")
        try open.context.save()
        return true
      }
      switch end {
      case .refused(let error): try lab.expectEqual(error.code, "readOnly", "the error")
      default: throw Disappointment(expected: "the save is refused", actual: "\(end)")
      }
      try lab.expectNoChanges(plan)
      try lab.expectEqual(Files.stamps(lab.folder), before, "inodes, sizes and times of change")
    },
    CheckDefinition(
      "INI-13", "A file that cannot be opened is an error, not an empty store", from: kit,
      by: "every call that opens for reading fails with EACCES; then with EIO", causes: ["an error was taken for a missing or empty file"],
      catches: ["unreadableMeansEmpty"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let before = Files.content(path)
      for error in [EACCES, EIO, EMFILE] {
        let plan = try FaultPlan(CSF_FAIL_KIND, error: error, kinds: Int32(CSF_READ_OPEN.rawValue))
        let end = try lab.attempt("open it while opening fails with \(String(cString: strerror(error)))", faults: plan) { bench in
          let open = try bench.open(path, graph.model)
          return try withExtendedLifetime(open) { try GraphText(open.store).count }
        }
        guard case .refused(let refusal) = end else { throw Disappointment(expected: "the store is refused", actual: "\(end)") }
        try lab.expect(refusal.code != nil, "a store error", refusal.text)
        try lab.expect(plan.wasReached, "a call for opening the file was made to fail", "there was none")
      }
      try lab.expectUntouched(path, before, "after the refusals")
    },
    CheckDefinition(
      "INI-14", "A read that fails is an error, not the end of the file", from: kit, by: "read by read, each fails once with EIO",
      causes: ["the answer -1 was taken for 0"], catches: ["readErrorIsEOF"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      let before = Files.content(path)
      var number = 1
      while number < 500 {
        let plan = try FaultPlan(CSF_FAIL_READ, at: number, error: EIO)
        let end = try lab.attempt("open it while read \(number) fails", faults: plan) { bench in
          let open = try bench.open(path, graph.model, isReadOnly: true)
          return try withExtendedLifetime(open) { try GraphText(open.store).count }
        }
        guard plan.wasReached else { break }
        guard case .refused(let refusal) = end else { throw Disappointment(expected: "read \(number) fails: the store is refused", actual: "\(end)") }
        try lab.expect(refusal.code != nil, "a store error", refusal.text)
        number += 1
      }
      try lab.expect(number > 1, "the file is read", "no read was seen")
      lab.note("\(number - 1) reads were made to fail")
      try lab.expectUntouched(path, before, "after the refusals")
    },
    CheckDefinition(
      "INI-15", "A damaged file never ends the process, and neither adds objects nor takes any away", from: kit,
      by: "bits are turned over and bytes replaced, all through a small store; how often another value comes back is noted",
      causes: ["a length or a reference from the file was believed"], catches: ["inventsFromDamage"], timeLimit: 60
    ) { lab in
      let (path, graph, text) = try lab.small()
      let some = damages(to: (Files.content(path) ?? [:]).sorted { $0.key < $1.key }, limit: 700, seed: lab.seed)
      var refused = 0
      var others: [String] = []
      for (damage, end) in try lab.open(path, graph, text, damaged: some) {
        switch end {
        case .refused: refused += 1
        case .other(let objects, let difference):
          try lab.expect(objects == text.count, "\(damage.label): refused, or as many objects as there were", "\(objects) objects: \(difference)")
          others.append("\(damage.label): \(difference)")
        default: break
        }
      }
      let same = some.count - refused - others.count
      lab.note("\(some.count) damaged files: \(refused) refused, \(same) give the same graph, \(others.count) one with other values")
      for line in others.prefix(10) { lab.note(line) }
    },
    CheckDefinition(
      "INI-16", "A file that was cut short is refused, or gives the same graph", from: kit,
      by: "a small store is cut at lengths all through it, others for another seed",
      causes: ["the end of the file was taken for the end of the data"],
      catches: ["acceptsTruncated"], timeLimit: 60
    ) { lab in
      let (path, graph, text) = try lab.small()
      var damages: [Lab.Damage] = []
      let content = Files.content(path) ?? [:]
      for (member, bytes) in content.sorted(by: { $0.key < $1.key }) {
        // The edges are always among them.
        let step = max(1, bytes.count * content.count / 700)
        let inner = stride(from: 1 + Int(lab.seed % UInt64(step)), to: bytes.count, by: step)
        let edges = [0, 1, bytes.count - 2, bytes.count - 1].filter { $0 >= (member.isEmpty ? 1 : 0) && $0 < bytes.count }
        for length in Set(inner).union(edges).sorted() {
          damages.append(.init(label: "\(name(member)) cut to \(length) of \(bytes.count) bytes", member: member, bytes: Array(bytes[..<length])))
        }
      }
      try lab.expectRefusedOrSame(path, graph, text, damaged: damages)
    },
    CheckDefinition(
      "INI-17", "What follows the end of a store is refused, or left out of account", from: kit,
      by: "a letter, a second copy of the store, and zeros are put behind it", causes: ["data was read on where it had ended"],
      catches: ["trailingGarbageIsData"]
    ) { lab in
      let (path, graph, text) = try lab.small()
      var damages: [Lab.Damage] = []
      for (member, bytes) in (Files.content(path) ?? [:]).sorted(by: { $0.key < $1.key }) {
        let tails: [(String, [UInt8])] = [
          ("an x", [0x78]), ("itself", bytes), ("4096 zeros", Array(repeating: 0, count: 4096)), ("a line", Array("tail,1,2\n".utf8)),
        ]
        for (what, tail) in tails { damages.append(.init(label: "\(name(member)) followed by \(what)", member: member, bytes: bytes + tail)) }
      }
      try lab.expectRefusedOrSame(path, graph, text, damaged: damages)
    },
    CheckDefinition(
      "INI-18", "A file of another kind is refused as such, and stays as it is", from: kit,
      by: "stores of the other formats, and files of well-known kinds; a store is added where each lies",
      causes: ["whatever lay there was taken for broken and begun anew"], catches: ["overwritesForeignFile"]
    ) { lab in
      var places: [(what: String, path: String)] = []
      for (number, other) in lab.subject.others.enumerated() {
        let path = lab.path("other\(number)")
        let subject = ConformanceSubject(other)
        _ = try lab.process("save a store of type \(other.storeType)") { bench in
          try Bench(subject: subject, folder: bench.folder).write(Models.golden(), to: path)
        }
        places.append(("a store of type \(other.storeType)", path))
      }
      for (name, bytes) in foreign(seed: lab.seed) {
        let path = lab.path(name)
        Files.write(bytes, to: path)
        places.append((name, path))
      }
      for (what, path) in places {
        let before = Files.stamps(path)
        let error = try lab.refusal(of: "a store where \(what) lies") { bench in
          let open = try bench.open(path, Models.nodes)
          return withExtendedLifetime(open) { "\(open.store.nodes.count) objects" }
        }
        try lab.expect(
          ["foreignFormat", "unrecognizedFormat", "notSupported", "unsupportedVersion"].contains(error.code ?? ""),
          "\(what): refused as another format", error.text)
        try lab.expectEqual(Files.stamps(path), before, "\(what), afterwards")
      }
    },
    CheckDefinition(
      "INI-19", "Bytes that are no text in the store’s encoding are refused, not replaced", from: kit,
      by: "a letter is written in Latin-1, in too long a form of UTF-8, and as half of a character",
      causes: ["bytes that could not be decoded became U+FFFD"], catches: ["lossyDecoding"]
    ) { lab in
      let (path, graph, text) = try lab.small()
      var damages: [Lab.Damage] = []
      for (member, bytes) in (Files.content(path) ?? [:]).sorted(by: { $0.key < $1.key }) {
        let knoten = Array("Knoten".utf8)
        for (what, new) in [("Latin-1", [0x4B, 0xF6, 0x6F, 0x74, 0x65, 0x6E]), ("too long a form", [0xC1, 0x8B, 0x6F, 0x74, 0x65, 0x6E]),
          ("half a character", [0x4B, 0x6E, 0xE2, 0x82, 0x65, 0x6E])] as [(String, [UInt8])]
        {
          guard let changed = Files.replacing(knoten, by: new, in: bytes) else { continue }
          damages.append(.init(label: "\(name(member)) with \(what)", member: member, bytes: changed))
        }
      }
      guard !damages.isEmpty else { throw Blockage(reason: "the store’s file does not hold its texts as they are") }
      for (damage, end) in try lab.open(path, graph, text, damaged: damages) {
        guard case .refused = end else { throw Disappointment(expected: "\(damage.label): refused", actual: "\(end)") }
      }
    },
    CheckDefinition(
      "INI-20", "A file that is exchanged for another while it is opened gives one of the two, or an error", level: .should, from: kit,
      by: "the file is replaced between the steps of opening; and between two openings in one process",
      causes: ["metadata and objects were read at different times", "something of an earlier file was kept"], catches: ["mixesTwoVersions"],
      demand: Lab.metadataIsKept
    ) { lab in
      let graph = Models.golden()
      var renamed = graph
      for place in renamed.objects.indices { renamed.objects[place].values["name"] = .string("second") }
      let two = renamed
      for step in ["init", "metadata", "two openings"] {
        let path = lab.path("store \(step)")
        let other = lab.path("other \(step)")
        _ = try lab.process("save one store") { try $0.write(graph, to: path, metadata: entries(["Which": .string("first")])) }
        _ = try lab.process("save another one") { try $0.write(two, to: other, metadata: entries(["Which": .string("second")])) }
        let end = try lab.attempt("open the one, and exchange it for the other: \(step)") { bench in
          let exchange: @Sendable () -> Void = {
            guard Files.exists(other) else { return }
            Files.remove(path)
            rename(other, path)
          }
          var bench = bench
          if step == "two openings" {
            _ = try bench.read(path, graph.model)
            exchange()
          } else {
            bench = bench.watched { hooks in
              if step == "init" { hooks.initialize = { _ in exchange() } }
              if step == "metadata" {
                hooks.metadata = { metadata, _ in
                  exchange()
                  return metadata
                }
              }
            }
          }
          let open = try bench.open(path, nil, isReadOnly: true)
          return try withExtendedLifetime(open) {
            let names = try bench.all(open, "Node").map { "\(try $0.value(forKey: "name") ?? "nil")" }
            let which = open.store.metadata.entries["Which"] == .string("second")
            return ([which] + names.map { $0 == "second" }).map { $0 ? "second" : "first" }
          }
        }
        switch end {
        case .value(let seen): try lab.expect(Set(seen).count == 1, "\(step): metadata and objects of one of the two", "\(seen)")
        case .refused(let error): try lab.expect(error.code != nil, "a store error", error.text)
        default: throw Disappointment(expected: "\(step): one of the two, or an error", actual: "\(end)")
        }
      }
    },
    CheckDefinition(
      "INI-22", "Names of every kind are the store’s own, and stay where they were when the current folder changes", from: kit,
      by: "names with blanks, %, #, line ends, accents in both forms, 200 bytes; a relative path, and another current folder before the save",
      causes: ["a path went through a URL", "a relative path was looked up again"],
      catches: ["percentEncodesPath", "relativePathAfterChdir"]
    ) { lab in
      let graph = Models.golden()
      let names = [
        "with blank", "100%25", "a#b?c", "line\nend", "emoji 👩‍👩‍👧", "caf\u{E9}", "cafe\u{301}", "-dash", "a;b&c", String(repeating: "x", count: 200),
      ]
      for (number, name) in names.enumerated() {
        Files.makeFolder(lab.folder + "/\(number)")
        let path = lab.path("\(number)/\(name)")
        try lab.expectKept(graph, "a store named \(GraphText.shown(name))", path: path)
        let own = Array(path.utf8.dropFirst("\(lab.folder)/\(number)/".utf8.count))
        try lab.expectEqual(Files.names(in: lab.folder + "/\(number)").map { Array($0.utf8) }, [own], "the bytes of the names there")
      }
      Files.makeFolder(lab.folder + "/here")
      Files.makeFolder(lab.folder + "/there")
      let path = lab.path("here/relative")
      let references = try lab.process("open a relative path, change the current folder, save") { bench in
        guard chdir(lab.folder + "/here") == 0 else { throw Blockage(reason: "the current folder cannot be changed") }
        let open = try bench.open(String(path.dropFirst("\(lab.folder)/here/".count)), graph.model)
        guard chdir(lab.folder + "/there") == 0 else { throw Blockage(reason: "the current folder cannot be changed") }
        return try withExtendedLifetime(open) {
          let made = try bench.insert(graph, into: open.context)
          try open.context.save()
          return made.mapValues { Bench.name($0) }
        }
      }
      try lab.expectEqual(Files.names(in: lab.folder + "/there"), [], "what lies in the other folder")
      let read = try lab.process("read it where it was begun") { try $0.read(path, graph.model) }
      try lab.expectSame(read, graph.text(references), "the graph")
    },
    CheckDefinition(
      "INI-23", "Options that a format has take its values and no others; options that it has not are refused", level: .should,
      from: "NSAtomicStore, “as well as the options”",
      by: "every option that the traits name, with each of its values, and with another; a name that is none",
      causes: ["options were not looked at"], catches: ["takesAnyOption"]
    ) { lab in
      _ = try lab.refusal(of: "an option that there is not", codes: ["invalidOption"]) { bench in
        try bench.open(lab.path("none"), Models.nodes, options: ["no-such-option": "1"]).store.type
      }
      try lab.expect(!Files.exists(lab.path("none")), "nothing is made", "something lies there")
      let all = lab.traits.readOptions + lab.traits.writeOptions
      for (number, option) in all.enumerated() {
        guard let values = option.values else { continue }
        _ = try lab.refusal(of: "the option \(option.name) with a value that it does not take", codes: ["invalidOption"]) { bench in
          try bench.open(lab.path("none"), Models.nodes, options: [option.name: "no such value"]).store.type
        }
        for value in values {
          let path = lab.path("option\(number)")
          let end = try lab.attempt("open a new store with \(option.name)=\(value)") { bench in
            try bench.open(path, Models.nodes, options: [option.name: value]).store.type
          }
          switch end {
          case .value: break
          // A value that does not go with the rest of the options may say so.
          case .refused(let error): try lab.expectEqual(error.code, "invalidOption", "\(option.name)=\(value)")
          default: throw Disappointment(expected: "\(option.name)=\(value): taken", actual: "\(end)")
          }
        }
      }
      lab.note("\(all.count) options")
    },
    CheckDefinition(
      "INI-24", "A store that is refused leaves no descriptor open and no file behind", from: kit,
      by: "a hundred stores that are damaged are added in one process", causes: ["an early return went past the closing"],
      catches: ["leaksDescriptorOnError", "cleansUpForCoordinatorsOnly"]
    ) { lab in
      let (path, graph, _) = try lab.golden()
      try lab.cutShort(path)
      let before = Files.names(in: lab.folder)
      let seen = try lab.process("add a damaged store a hundred times") { bench in
        func once() -> Bool { (try? bench.open(path, graph.model)) != nil }
        var opened = once() ? 1 : 0
        let first = Bench.descriptors().count
        for _ in 0..<100 where once() { opened += 1 }
        return [opened, first, Bench.descriptors().count]
      }
      try lab.expectEqual(seen[0], 0, "how often it was opened")
      try lab.expectEqual(seen[2], seen[1], "open descriptors")
      try lab.expectEqual(Files.names(in: lab.folder), before, "what lies in the folder")
    },
  ]

  static let initDocument = "Atomic Store Life-cycle, Initialization"
  static let zeroDocument = "Atomic Store Life-cycle, Zero-length files"
  static let noUUID = "00000000-0000-0000-0000-000000000000"
  /// A user who is not root, where the process is root’s.
  private static let nobody: uid_t = 65534

  /// What a process that made a store tells of it.
  struct Made: Codable, Sendable {
    var uuid: String
    var references: [String: String]
  }
  struct Seen: Codable, Sendable {
    var uuid: String
    var origin: String?
    var text: GraphText
  }

  static func entries(_ list: [String: PropertyListValue]) -> PropertyListDictionary {
    var entries = PropertyListDictionary()
    for (key, value) in list { entries[key] = value }
    return entries
  }

  static func name(_ member: String) -> String { member.isEmpty ? "the file" : member }

  /// Damages of one byte each, spread over all bytes of all files: eight with a bit turned over, four with another byte.
  ///
  /// They are counted, not made, until they are chosen: a file of 49 KB has 600,000.
  private static func damages(to files: [(key: String, value: [UInt8])], limit: Int, seed: UInt64) -> [Lab.Damage] {
    let total = files.reduce(0) { $0 + $1.value.count * 12 }
    let step = max(1, total / limit)
    var chosen: [Lab.Damage] = []
    var first = Int(seed % UInt64(step))
    for (member, bytes) in files {
      while first < bytes.count * 12 {
        let position = first / 12
        let kind = first % 12
        first += step
        let byte = kind < 8 ? bytes[position] ^ (1 << UInt8(kind)) : [0x00, 0xFF, UInt8(ascii: "\""), UInt8(ascii: "<")][kind - 8]
        guard byte != bytes[position] else { continue }
        chosen.append(
          Lab.Damage(
            label: "\(name(member)) with 0x\(String(byte, radix: 16)) at byte \(position)", member: member, of: bytes, at: position,
            byte: byte))
      }
      first -= bytes.count * 12
    }
    return chosen
  }

  /// Files that are known by their first bytes, and some that are not.
  static func foreign(seed: UInt64) -> [(String, [UInt8])] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
    let noise = (0..<65536).map { _ -> UInt8 in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 33)
    }
    return [
      ("png", [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 0x0D] + Array("IHDR".utf8) + Array(noise.prefix(100))),
      ("sqlite", Array("SQLite format 3\0".utf8) + Array(repeating: 0, count: 4080)),
      ("gzip", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + Array(noise.prefix(200))),
      ("elf", [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0] + Array(repeating: 0, count: 56)),
      ("html", Array("<!DOCTYPE html>\n<html><head><title>x</title></head><body>x</body></html>\n".utf8)),
      ("noise", noise),
    ]
  }
}

extension Bench {
  /// Opens a store, gives its first node another name, and saves it.
  @discardableResult func changeName(_ path: String, _ graph: Graph, to name: String) throws -> Bool {
    let open = try open(path, graph.model)
    return try withExtendedLifetime(open) {
      try all(open, "Node").first?.setValue(name, forKey: "name")
      try open.context.save()
      return true
    }
  }
}

extension Lab {
  func changeName(_ path: String, _ graph: Graph, to name: String) throws {
    _ = try process("change a name and save") { try $0.changeName(path, graph, to: name) }
  }

  func names(_ path: String, _ graph: Graph) throws -> [String] {
    try process("read the names") { bench in
      let open = try bench.open(path, graph.model, isReadOnly: true)
      return try withExtendedLifetime(open) { try bench.all(open, "Node").map { "\(try $0.value(forKey: "name") ?? "nil")" } }
    }
  }

  /// Cuts the largest file of a store in two thirds: far enough to be known as the format’s.
  func cutShort(_ path: String) throws {
    guard let content = Files.content(path), let largest = content.max(by: { ($0.value.count, $1.key) < ($1.value.count, $0.key) }) else {
      throw Disappointment(expected: "a store lies there", actual: "nothing does")
    }
    let member = largest.key.isEmpty ? path : path + "/" + largest.key
    Files.write(Array(largest.value.prefix(largest.value.count * 2 / 3)), to: member)
  }
}
