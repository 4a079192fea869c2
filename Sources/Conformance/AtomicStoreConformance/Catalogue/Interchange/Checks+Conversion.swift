import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// CNV: stores that are converted to another type and back.
extension Checks {
  static let conversion: [CheckDefinition] = [
    conversion(
      "CNV-01",
      "A store that goes through another format and back is the same: objects, references, order, metadata, UUID",
      from: "Atomic Store Life-cycle, References: “Save As and migration operations will not work correctly”",
      by: "two graphs, to each other format and back; then once more: the other format's files are equal to the byte",
      causes: ["something is not among what a format keeps, and no one says so"], catches: ["convertDropsOrder"],
      timeLimit: 90
    ) { check in
      guard !check.partners.isEmpty else { throw NotApplicable(reason: "no other format was given, with others:") }
      var compared = 0
      for (place, graph) in [Models.golden(), try CheckContext.people()].enumerated() where check.hasRoom(for: graph) {
        let source = check.path("source\(place)")
        let names = try check.process("save graph \(place)") { session in
          var entries = PropertyListDictionary()
          if check.traits.keepsMetadata { entries["author"] = .string("ä & b") }
          return try session.write(graph, to: source, metadata: entries)
        }
        let text = try graph.text(names)
        for partner in check.partners {
          let there = check.folder + "/there\(place)" + partner.suffix
          let back = check.path("back\(place)\(partner.name)")
          let out = try check.convert(source, subjectName: check.name, there, partner.name, of: graph.model)
          let home = try check.convert(there, subjectName: partner.name, back, check.name, of: graph.model)
          check.note(
            "graph \(place) to \(partner.name) and back: \((out.losses + home.losses).isEmpty ? "no losses" : (out.losses + home.losses).joined(separator: "; "))"
          )
          guard out.losses.isEmpty, home.losses.isEmpty else { continue }
          compared += 1
          try check.expectSame(
            try check.process("read what came back") { try $0.read(back, graph.model) }, text,
            "through \(partner.name) and back")
          if check.traits.keepsMetadata {
            let one = try check.process("look at the metadata before") { try $0.identity(source, of: graph.model) }
            let other = try check.process("look at the metadata after") { try $0.identity(back, of: graph.model) }
            try check.expectEqual(other, one, "UUID and metadata, through \(partner.name) and back")
          }
          let again = check.folder + "/again\(place)" + partner.suffix
          _ = try check.convert(back, subjectName: check.name, again, partner.name, of: graph.model)
          try check.expectEqual(
            Files.digest(again), Files.digest(there), "the \(partner.name) store made of what came back")
        }
      }
      guard compared > 0 else {
        throw NotApplicable(reason: "each way there and back declares losses, which CNV-02 holds it to")
      }
    },
    conversion(
      "CNV-02", "A report of losses names all that is lost, and nothing else",
      by:
        "a format that declares that it has no special numbers; what differs after the conversion, found by reading both, against the report",
      causes: ["a loss is not declared", "a loss is declared that is none"],
      catches: ["underReportsLoss", "overReportsLoss"], demand: losing
    ) { check in
      let losing = try check.losingSource()
      let target = check.path("converted")
      let report = try check.process("convert to a format without special numbers, and allow it") { session in
        try session.withoutSpecialNumbers.convert(
          losing.path, check.name, target, check.name, of: losing.graph.model
        ) { $0.allowsLoss = true }
      }
      let before = try check.process("read the source") { try $0.read(losing.path, losing.graph.model) }
      let after = try check.process("read the result") { try $0.read(target, losing.graph.model) }
      var differing: [String: Int] = [:]
      for (object, values) in before.objects {
        let others = after.objects[object] ?? [:]
        try check.expect(after.objects[object] != nil, "\(object.text) is in the result", "it is missing")
        for name in Set(values.keys).union(others.keys) where values[name] != others[name] {
          differing[
            "Sample.\(name.text)",
            default: 0] += 1
        }
      }
      let found = differing.map { "\($0.key), \($0.value)" }.sorted()
      let told = report.losses.map { $0.split(separator: "|").dropFirst().joined(separator: ", ") }.sorted()
      try check.expect(
        found == told, "the report names what differs: \(found.joined(separator: "; "))",
        "it names: \(told.joined(separator: "; "))")
    },
    conversion(
      "CNV-03", "Where something would be lost and no one allowed it, nothing is made",
      by: "as CNV-02, without permission",
      causes: ["the loss is found out while writing"], catches: ["losesThenWarns"], demand: losing
    ) { check in
      let losing = try check.losingSource()
      let home = check.folder + "/target"
      Files.makeFolder(home)
      let target = home + "/converted" + check.suffix
      let end = try check.attempt("convert to a format without special numbers") { session in
        try session.withoutSpecialNumbers.convert(
          losing.path, check.name, target, check.name, of: losing.graph.model)
      }
      guard case .refused(let error) = end else {
        throw ExpectationFailure(expected: "the conversion is refused", actual: "\(end)")
      }
      try check.expect(
        error.text.contains("special-float") && error.text.contains("Sample.value"),
        "the error names what would be lost",
        error.text)
      try check.expect(Files.names(in: home).isEmpty, "nothing is made", Files.names(in: home).joined(separator: ", "))
    },
    conversion(
      "CNV-04",
      "What is at the target is not replaced unless that is asked for; the source never is, by whatever name",
      by:
        "a store, another file and a folder at the target, without and with permission to replace; the source itself, by another path, a link and a hard link",
      causes: ["the target is opened for writing first, and looked at then", "paths are compared, not files"],
      catches: ["overwritesSilently"]
    ) { check in try check.expectTargetsRespected() },
    conversion(
      "CNV-05", "A conversion that is cut short leaves the target as it was; the source is never opened for writing",
      by:
        "a store is replaced by a converted one: ENOSPC at each call in turn, and a kill; the source's state is looked at",
      causes: ["the result is written in its place", "a store is opened for writing where reading would do"],
      catches: ["convertsInPlace"], timeLimit: 120
    ) { check in try check.expectConversionWhole() },
    conversion(
      "CNV-06",
      "A converted store has the source's UUID, or a new one where that is asked for; references stay in both",
      level: .must,
      by: "converted within the format and to others, both ways",
      causes: ["a copy keeps an identity that is to be its own"],
      catches: ["copySharesUUID"],
      demand: metadataIsKept
    ) { check in
      let golden = try check.golden("source")
      let before = try check.process("look at the metadata before") {
        try $0.identity(golden.path, of: golden.graph.model)
      }
      for (place, partner) in ([(check.name, check.suffix)] + check.partners.map { ($0.name, $0.suffix) }).enumerated()
      {
        for isNew in [false, true] {
          let target = check.folder + "/copy\(place)\(isNew)" + partner.1
          let report = try check.process("convert to \(partner.0)\(isNew ? ", with a new UUID" : "")") { session in
            try session.convert(golden.path, check.name, target, partner.0, of: golden.graph.model) {
              $0.makesNewIdentifier = isNew
              $0.allowsLoss = true
            }
          }
          guard report.losses.isEmpty else { continue }
          let (after, text) = try check.process("read the copy") { session in
            ValuePair(
              try session.identity(target, of: golden.graph.model),
              try session.read(
                target,
                golden.graph.model, as: partner.0))
          }.parts
          let same = after.split(separator: " ").first == before.split(separator: " ").first
          try check.expect(
            same != isNew, isNew ? "the copy has its own UUID" : "the copy has the source's UUID", after)
          try check.expectSame(text, golden.text, "the copy")
        }
      }
    },
    conversion(
      "CNV-07", "Two conversions of a store give the same bytes",
      by: "in two processes, to two folders, and in a new process",
      causes: ["something is written in the order of a dictionary or a set", "the path or the time is written"],
      catches: ["hashOrderOutput"], demand: equalBytes
    ) { check in
      let golden = try check.golden("source")
      let source: (path: String, name: String)
      if let partner = check.partners.first {
        source = (check.folder + "/source" + partner.suffix, partner.name)
        _ = try check.convert(
          golden.path, subjectName: check.name, source.path, source.name, of: golden.graph.model)
      } else {
        source = (golden.path, check.name)
      }
      var digests: [String] = []
      for place in 1...2 {
        Files.makeFolder(check.folder + "/\(place)")
        let target = check.folder + "/\(place)/result" + check.suffix
        _ = try check.convert(
          source.path, subjectName: source.name, target, check.name, of: golden.graph.model)
        digests.append(Files.digest(target))
      }
      setenv(conversionSource, source.path, 1)
      digests += try check.elsewhere("CNV-07 convert")
      try check.expect(
        digests.count == 3 && Set(digests).count == 1, "the bytes are the same", digests.joined(separator: "; "))
    },
    conversion(
      "CNV-08", "A model that is inferred from plain values changes none of them, and opens the result again",
      by:
        "leading zeros, exponents, numbers beyond a double, columns of several kinds; each value's text after opening, and after a conversion",
      causes: ["what looks like a number is made one"], catches: ["inferenceRewrites"],
      demand: { $0.fileExtensions.contains("csv") ? .applies : .notApplicable("its files say what their values are") }
    ) { check in try check.expectInferredValuesKept() },
    conversion(
      "CNV-10", "A part of a store refers to nothing outside, and what was cut is reported", level: .must,
      by: "the objects that fulfil a predicate: related ones cut away, taken along, or refused",
      causes: ["references are copied as they are"],
      catches: ["filterDangles"]
    ) { check in try check.expectSubsetsWhole() },
    conversion(
      "CNV-11", "A comparison of two stores finds one bit, one object, one place in an order, one metadata key",
      by: "a dozen pairs of stores that differ in one thing", causes: ["only numbers of objects are compared"],
      catches: ["verifyComparesCountsOnly"]
    ) { check in try check.expectDifferencesFound() },
  ]

  private static func conversion(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, from source: String = kit,
    by procedure: String, causes: [String],
    catches: [String], timeLimit: Int = 60,
    demand: @escaping @Sendable (StoreTraits) -> CheckDefinition.Demand = { _ in .applies },
    _ body: @escaping @Sendable (CheckContext) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: .interop, from: source, by: procedure, causes: causes, catches: catches,
      timeLimit: timeLimit,
      demand: { $0.canWrite ? demand($0) : .notApplicable("canWrite is false") }, body)
  }

  private static let losing: @Sendable (StoreTraits) -> CheckDefinition.Demand = {
    $0.keepsSpecialFloats ? .applies : .notApplicable("keepsSpecialFloats is false: there is nothing to take away")
  }

  static let conversionSource = "ATOMICSTORE_CONFORMANCE_SOURCE"

  /// What CNV-07 does in a new process.
  static let conversionPart = CheckDefinition("CNV-07 convert", "", from: "", by: "") { check in
    guard let source = getenv(conversionSource).map({ String(cString: $0) }) else {
      throw Skipped(reason: "no source is named")
    }
    let target = check.folder + "/result" + check.suffix
    _ = try check.process("convert") {
      try $0.convert(source, nil, target, check.name, of: Models.golden().model)
    }
    check.note(Files.digest(target))
    check.record.expected()
  }
}
