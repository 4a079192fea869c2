import ArgumentParser
import AtomicStoreConformance
import CommandSupport
import FoundationEssentials

extension Conform {
  struct List: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the checks, or the faults that they find.")
    @Flag(help: "The faults that --selftest can plant.") var faults = false
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) { try faults ? listFaults() : listChecks() }
    }

    private func listFaults() throws {
      let all = Conformance.faults
      guard common.json else { return try Diagnostics.put(all.map { "\($0.name): \($0.text)\n" }.joined()) }
      try Diagnostics.put(
        JSONValue.array(all.map { .object([("name", .string($0.name)), ("text", .string($0.text))]) }).text + "\n")
    }

    private func listChecks() throws {
      let checks = Conformance.catalogue
      if common.json {
        try Diagnostics.put(
          JSONValue.array(
            checks.map {
              .object([
                ("id", .string($0.id)), ("level", .string($0.level.rawValue)),
                ("profile", .string($0.profile.rawValue)),
                ("title", .string($0.title)), ("source", .string($0.source)),
              ])
            }
          ).text + "\n")
      } else {
        for check in checks {
          try Diagnostics.put(
            "\(check.id)  \(check.level.rawValue.padded(to: 8))  \(check.profile.rawValue.padded(to: 11))  \(check.title)\n"
          )
        }
        for (id, reason) in Conformance.leftOut { try Diagnostics.put("\(id)  left out: \(reason)\n") }
      }
    }
  }

  struct Explain: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "explain", abstract: "Tell what a check is about.")
    @Argument(help: "The check, such as VAL-07.") var id: String
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let id = id.uppercased()
        guard let check = Conformance.catalogue.first(where: { $0.id == id }) else {
          guard let reason = Conformance.leftOut.first(where: { $0.id == id })?.reason else {
            throw CommandFailure("unknown check '\(id)'; see: atomicstore conform list", exitCode: 64)
          }
          let answer = JSONValue.object([("id", .string(id)), ("leftOut", .string(reason))])
          return try Diagnostics.put(common.json ? answer.text + "\n" : "\(id) is left out: \(reason)\n")
        }
        try Diagnostics.put(common.json ? Self.json(check).text + "\n" : Self.text(check))
      }
    }

    private static func text(_ check: ConformanceCheck) -> String {
      var text = "\(check.id): \(check.title)\n"
      text += "  level      \(check.level.rawValue), profile \(check.profile.rawValue)\n"
      text += "  rule from  \(check.source)\n"
      text += "  procedure  \(check.procedure)\n"
      if !check.likelyCauses.isEmpty {
        text += "  likely     \(check.likelyCauses.joined(separator: "\n             "))\n"
      }
      if !check.catches.isEmpty {
        text +=
          "  catches    " + check.catches.map { "\($0.name): \($0.text)" }.joined(separator: "\n             ") + "\n"
      }
      return text
    }

    private static func json(_ check: ConformanceCheck) -> JSONValue {
      .object([
        ("id", .string(check.id)), ("title", .string(check.title)), ("level", .string(check.level.rawValue)),
        ("profile", .string(check.profile.rawValue)), ("source", .string(check.source)),
        ("procedure", .string(check.procedure)),
        ("likelyCauses", .array(check.likelyCauses.map { .string($0) })),
        ("catches", .array(check.catches.map { .object([("name", .string($0.name)), ("text", .string($0.text))]) })),
      ])
    }
  }
}
