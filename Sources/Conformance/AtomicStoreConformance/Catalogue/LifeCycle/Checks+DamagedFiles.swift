import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// INI: a store begins, or is found: what is at the path, and what must not be done to it.
extension Checks {
  #if DEBUG
    /// Fewer where the code under test is ten times slower.
    private static let mostDamages = 700
  #else
    private static let mostDamages = 6_000
  #endif

  /// Files that cannot be read, are damaged, or are not the format's.
  static let damagedFiles: [CheckDefinition] = [
    CheckDefinition(
      "INI-13", "A file that cannot be opened is an error, not an empty store", from: kit,
      by: "every call that opens for reading fails with EACCES; then with EIO",
      causes: ["an error was taken for a missing or empty file"],
      catches: ["unreadableMeansEmpty"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let before = Files.content(path)
      for error in [EACCES, EIO, EMFILE] {
        let plan = try FaultPlan(CSF_FAIL_KIND, error: error, kinds: Int32(CSF_READ_OPEN.rawValue))
        let end = try check.attempt(
          "open it while opening fails with \(String(cString: strerror(error)))", faults: plan
        ) { session in
          try session.opened(path, graph.model) { open in try GraphText(open.store).count }
        }
        guard case .refused(let refusal) = end else {
          throw ExpectationFailure(expected: "the store is refused", actual: "\(end)")
        }
        try check.expect(refusal.code != nil, "a store error", refusal.text)
        try check.expect(plan.wasReached, "a call for opening the file was made to fail", "there was none")
      }
      try check.expectUntouched(path, before, "after the refusals")
    },
    CheckDefinition(
      "INI-14", "A read that fails is an error, not the end of the file", from: kit,
      by: "read by read, each fails once with EIO",
      causes: ["the answer -1 was taken for 0"], catches: ["readErrorIsEOF"]
    ) { check in
      let (path, graph, _) = try check.golden()
      let before = Files.content(path)
      var number = 1
      while number < 500 {
        let plan = try FaultPlan(CSF_FAIL_READ, at: number, error: EIO)
        let end = try check.attempt("open it while read \(number) fails", faults: plan) { session in
          try session.opened(path, graph.model, isReadOnly: true) { open in try GraphText(open.store).count }
        }
        guard plan.wasReached else { break }
        guard case .refused(let refusal) = end else {
          throw ExpectationFailure(expected: "read \(number) fails: the store is refused", actual: "\(end)")
        }
        try check.expect(refusal.code != nil, "a store error", refusal.text)
        number += 1
      }
      try check.expect(number > 1, "the file is read", "no read was seen")
      check.note("\(number - 1) reads were made to fail")
      try check.expectUntouched(path, before, "after the refusals")
    },
    CheckDefinition(
      "INI-15", "A damaged file never ends the process, and neither adds objects nor takes any away", from: kit,
      by:
        "every bit of a small store is turned over, and every byte replaced by four others, one at a time; \(mostDamages) of them, all through it, where there are more (--runs makes more); how often another value comes back is noted",
      causes: ["a length or a reference from the file was believed"],
      catches: ["inventsFromDamage", "silentGarbage", "crashesOnCorrupt"], timeLimit: 120
    ) { check in
      let (path, graph, text) = try check.small()
      let some = damages(
        to: (Files.content(path) ?? [:]).sorted { $0.key < $1.key },
        limit: max(1, min(check.subject.runs ?? 1, 1_000)) * mostDamages,
        seed: check.seed)
      var refused = 0
      var others: [String] = []
      for (damage, end) in try check.open(path, graph, text, damaged: some) {
        switch end {
        case .refused: refused += 1
        case .other(let objects, let difference):
          try check.expect(
            objects == text.count, "\(damage.label): refused, or as many objects as there were",
            "\(objects) objects: \(difference)")
          others.append("\(damage.label): \(difference)")
        default: break
        }
      }
      let same = some.count - refused - others.count
      check.note(
        "\(some.count) damaged files: \(refused) refused, \(same) give the same graph, \(others.count) one with other values"
      )
      for line in others.prefix(10) { check.note(line) }
    },
    CheckDefinition(
      "INI-16", "A file that was cut short is refused, or gives the same graph", from: kit,
      by: "a small store is cut at lengths all through it, others for another seed",
      causes: ["the end of the file was taken for the end of the data"],
      catches: ["acceptsTruncated"], timeLimit: 60
    ) { check in
      let (path, graph, text) = try check.small()
      var damages: [Damage] = []
      let content = Files.content(path) ?? [:]
      for (member, bytes) in content.sorted(by: { $0.key < $1.key }) {
        // The edges are always among them.
        let step = max(1, bytes.count * content.count / 700)
        let inner = stride(from: 1 + Int(check.seed % UInt64(step)), to: bytes.count, by: step)
        let edges = [0, 1, bytes.count - 2, bytes.count - 1].filter {
          $0 >= (member.isEmpty ? 1 : 0) && $0 < bytes.count
        }
        for length in Set(inner).union(edges).sorted() {
          damages.append(
            .init(
              label: "\(name(member)) cut to \(length) of \(bytes.count) bytes", member: member,
              bytes: Array(bytes[..<length])))
        }
      }
      try check.expectRefusedOrSame(path, graph, text, damaged: damages)
    },
    CheckDefinition(
      "INI-17", "What follows the end of a store is refused, or left out of account", from: kit,
      by: "a letter, a second copy of the store, and zeros are put behind it",
      causes: ["data was read on where it had ended"],
      catches: ["trailingGarbageIsData"]
    ) { check in
      let (path, graph, text) = try check.small()
      var damages: [Damage] = []
      for (member, bytes) in (Files.content(path) ?? [:]).sorted(by: { $0.key < $1.key }) {
        let tails: [(String, [UInt8])] = [
          ("an x", Array("x".utf8)), ("itself", bytes), ("4096 zeros", Array(repeating: 0, count: 4096)),
          ("a line", Array("tail,1,2\n".utf8)),
        ]
        for (what, tail) in tails {
          damages.append(.init(label: "\(name(member)) followed by \(what)", member: member, bytes: bytes + tail))
        }
      }
      try check.expectRefusedOrSame(path, graph, text, damaged: damages)
    },
    CheckDefinition(
      "INI-18", "A file of another kind is refused as such, and stays as it is", from: kit,
      by: "stores of the other formats, and files of well-known kinds; a store is added where each is",
      causes: ["whatever was there was taken for broken and replaced"], catches: ["overwritesForeignFile"]
    ) { check in
      var places: [(what: String, path: String)] = []
      for (number, other) in check.subject.others.enumerated() {
        let path = check.path("other\(number)")
        let subject = TestedStore(type: other)
        _ = try check.process("save a store of type \(other.storeType)") { session in
          try StoreSession(subject: subject, folder: session.folder).write(Models.golden(), to: path)
        }
        places.append(("a store of type \(other.storeType)", path))
      }
      for (name, bytes) in ForeignFiles.all(seed: check.seed).prefix(6) {
        let path = check.path(name)
        Files.write(bytes, to: path)
        places.append((name, path))
      }
      for (what, path) in places {
        let before = Files.stamps(path)
        let error = try check.refusal(of: "a store where \(what) is") { session in
          try session.opened(path, Models.nodes) { open in "\(open.store.nodes.count) objects" }
        }
        try check.expect(
          ["foreignFormat", "unrecognizedFormat", "notSupported", "unsupportedVersion"].contains(error.code ?? ""),
          "\(what): refused as another format", error.text)
        try check.expectEqual(Files.stamps(path), before, "\(what), afterwards")
      }
    },
    CheckDefinition(
      "INI-19", "Bytes that are not text in the store’s encoding are refused, not replaced", from: kit,
      by:
        "a letter is written in Latin-1, in too long a form of UTF-8, and as half of a character, in UTF-16 too, in the file, or in the payload that the author's functions give",
      causes: ["bytes that could not be decoded became U+FFFD"], catches: ["lossyDecoding"]
    ) { check in
      let (path, graph, text) = try check.small()
      var damages: [Damage] = []
      let files = Files.content(path) ?? [:]
      let payload = check.payload(of: files)
      for (member, bytes) in (payload ?? files).sorted(by: { $0.key < $1.key }) {
        let knoten = Array("Knoten".utf8)
        for (what, new) in [
          ("Latin-1", Array("K".utf8) + [0xF6] + Array("oten".utf8)),
          ("too long a form", [0xC1, 0x8B] + Array("oten".utf8)),
          ("half a character", Array("Kn".utf8) + [0xE2, 0x82] + Array("en".utf8)),
        ] as [(String, [UInt8])] {
          guard let changed = Files.replacing(knoten, by: new, in: bytes) else { continue }
          damages.append(.init(label: "\(name(member)) with \(what)", member: member, bytes: changed))
        }
        for isBigEndian in [true, false] {
          let old = Files.utf16("Knoten".utf16, isBigEndian)
          let half = Files.utf16([0x4B, 0x6E, 0xD83D, 0x74, 0x65, 0x6E], isBigEndian)
          guard let changed = Files.replacing(old, by: half, in: bytes) else { continue }
          damages.append(.init(label: "\(name(member)) with half a pair in UTF-16", member: member, bytes: changed))
        }
      }
      guard !damages.isEmpty else {
        throw NotApplicable(reason: "the store’s file does not hold its texts as they are")
      }
      for (damage, end) in try check.open(path, graph, text, damaged: damages, of: payload) {
        guard case .refused = end else {
          throw ExpectationFailure(expected: "\(damage.label): refused", actual: "\(end)")
        }
      }
    },
    CheckDefinition(
      "INI-20", "A file that is exchanged for another while it is opened gives one of the two, or an error",
      level: .should, from: kit,
      by: "the file is replaced between the steps of opening; and between two openings in one process",
      causes: ["metadata and objects were read at different times", "something of an earlier file was kept"],
      catches: ["mixesTwoVersions"],
      demand: metadataIsKept
    ) { check in
      let graph = Models.golden()
      var renamed = graph
      for place in renamed.objects.indices { renamed.objects[place].values["name"] = .string("second") }
      let two = renamed
      for step in ["init", "metadata", "two openings"] {
        let path = check.path("store \(step)")
        let other = check.path("other \(step)")
        _ = try check.process("save one store") {
          try $0.write(graph, to: path, metadata: entries(["Which": .string("first")]))
        }
        _ = try check.process("save another one") {
          try $0.write(two, to: other, metadata: entries(["Which": .string("second")]))
        }
        let end = try check.attempt("open the one, and exchange it for the other: \(step)") { session in
          let exchange: @Sendable () -> Void = {
            guard Files.exists(other) else { return }
            Files.remove(path)
            rename(other, path)
          }
          var session = session
          if step == "two openings" {
            _ = try session.read(path, graph.model)
            exchange()
          } else {
            session = session.watched { hooks in
              if step == "init" { hooks.initialize = { _ in exchange() } }
              if step == "metadata" {
                hooks.metadata = { metadata, _ in exchange() }
              }
            }
          }
          return try session.opened(path, nil, isReadOnly: true) { open in
            let names = try session.all(open, "Node").map { "\(try $0.value(forKey: "name") ?? "nil")" }
            let which = open.store.metadata.entries["Which"] == .string("second")
            return ([which] + names.map { $0 == "second" }).map { $0 ? "second" : "first" }
          }
        }
        switch end {
        case .value(let seen):
          try check.expect(Set(seen).count == 1, "\(step): metadata and objects of one of the two", "\(seen)")
        case .refused(let error): try check.expect(error.code != nil, "a store error", error.text)
        default: throw ExpectationFailure(expected: "\(step): one of the two, or an error", actual: "\(end)")
        }
      }
    },
  ]

  /// Damages of one byte each, spread over all bytes of all files: eight with a bit turned over, four with another
  /// byte.
  ///
  /// They are counted, not made, until they are chosen: a file of 49 KB has 600,000.
  private static func damages(to files: [(key: String, value: [UInt8])], limit: Int, seed: UInt64) -> [Damage] {
    let total = files.reduce(0) { $0 + $1.value.count * 12 }
    let step = max(1, total / limit)
    var chosen: [Damage] = []
    var first = Int(seed % UInt64(step))
    for (member, bytes) in files {
      while first < bytes.count * 12 {
        let position = first / 12
        let kind = first % 12
        first += step
        let byte =
          kind < 8
          ? bytes[position] ^ (1 << UInt8(kind)) : [0x00, 0xFF, .quote, .lessThan][kind - 8]
        guard byte != bytes[position] else { continue }
        chosen.append(
          Damage(
            label: "\(name(member)) with 0x\(String(byte, radix: 16)) at byte \(position)", member: member, of: bytes,
            at: position,
            byte: byte))
      }
      first -= bytes.count * 12
    }
    return chosen
  }
}
