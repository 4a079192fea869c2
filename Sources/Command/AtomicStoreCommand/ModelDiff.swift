import ArgumentParser
import AtomicStoreKit
import CommandSupport
import StoreMigration
import StoreReports

extension Model {
  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract:
        "Compare two models as Core Data does: 0 stores of one open with the other, 1 migration needed, 2 error.",
      discussion: """
          atomicstore model diff Company.momd Company.xcdatamodeld
          atomicstore model diff Old.xml Company.xcdatamodeld     # would Core Data open this store with this model?
          atomicstore model diff Old.xml Company.xcdatamodeld --diagram -o changes.svg    # the exit code stays the same

        Each may be a model file of any kind, or a store: the model that it carries, or else the version hashes in its metadata.
        What is part of version hashes is compared: names, types, optionality, relationships, uniqueness; not classes,
        defaults, validation, delete rules, indexes or user info. If both models are known, so are the parts of composite
        attributes and the types of derived ones, with which a store is not opened either; and each difference says whether
        Core Data could infer the migration from the first to the second ('migrate' does).

        A diagram marks everything that differs, also what is not part of version hashes.
        """)
    @Argument(help: "One model or store; - for standard input, for one of the two.") var first: String
    @Argument(help: "The other model or store.") var second: String
    @Flag(help: "Print nothing; only the exit code shows the result.") var quiet = false
    @Flag(help: "Draw both models in one picture, with what differs marked.") var diagram = false
    @Option(help: "The format of the picture, if the extension of -o does not determine it; by default svg.")
    var format: DiagramFormat?
    @OptionGroup(title: "Options for the result") var file: FileOutput
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try CommandFailure.comparing(common) {
        guard first != "-" || second != "-" else {
          throw CommandFailure("only one of the two can be standard input", exitCode: 64)
        }
        let old = try read(first)
        let new = try read(second)
        let differences = try differences(old, new)
        let mapping = old.model.flatMap { from in new.model.map { ModelMapping(from: from, to: $0) } }
        if diagram {
          try draw(old.model, new.model)
        } else if file.output != nil {
          throw CommandFailure("-o is for the picture of --diagram", exitCode: 64)
        } else if !quiet {
          try show(differences, mapping)
        }
        return !differences.isEmpty
      }
    }

    private func draw(_ old: ManagedObjectModel?, _ new: ManagedObjectModel?) throws {
      for (path, model) in [(first, old), (second, new)] where model == nil {
        throw CommandFailure("\(path): the store does not carry a model, only version hashes", exitCode: 2)
      }
      guard let old, let new else { return }
      let format = try DiagramFormat.chosen(format, for: file.path)
      let title = "\(Diagram.title(first, nil)) → \(Diagram.title(second, nil))"
      for model in [first, second] { try file.refuseToReplace(model: model) }
      try file.write(
        try format.text(try ModelDiagram(from: old, to: new), title: title), limitedBy: [first, second])
    }

    private func read(_ path: String) throws -> (model: ManagedObjectModel?, hashes: VersionHashes) {
      let source = try ModelSource.read(path, allowsInvalid: true)
      for problem in source.problems { Diagnostics.say("atomicstore: \(path): \(problem)") }
      guard let hashes = source.hashes else {
        throw CommandFailure(
          "\(path): the store has neither a model nor version hashes", exitCode: 2, json: common.json)
      }
      return (source.isWhole ? source.model : nil, hashes)
    }

    private func differences(
      _ old: (model: ManagedObjectModel?, hashes: VersionHashes),
      _ new: (model: ManagedObjectModel?, hashes: VersionHashes)
    ) throws -> [VersionHashDifference] {
      var found: [VersionHashDifference]
      if let model = new.model {
        found = model.differences(fromStoreOf: old.model, hashes: old.hashes).all
      } else if let model = old.model {
        // Only the first is a model: compare in the other direction.
        found = model.versionHashDifferences(from: new.hashes).map {
          var difference = $0
          if difference.change == VersionHashDifference.onlyInModel {
            difference.change = VersionHashDifference.onlyInStore
          } else if difference.change == VersionHashDifference.onlyInStore {
            difference.change = VersionHashDifference.onlyInModel
          }
          return difference
        }
      } else {
        found = new.hashes.differences(from: old.hashes)
      }
      for index in found.indices {
        switch found[index].change {
        case VersionHashDifference.onlyInModel: found[index].change = "only in \(second)"
        case VersionHashDifference.onlyInStore: found[index].change = "only in \(first)"
        default: break
        }
      }
      return found
    }

    /// What is in the way of inferring differences.
    private struct Obstacles {
      private let reasons: [[ScalarString]: String]

      init(_ mapping: ModelMapping?) {
        reasons = Dictionary(
          (mapping?.obstacles ?? []).map { (Self.key($0.entityName, $0.propertyName), $0.reason) },
          uniquingKeysWith: { first, _ in first })
      }

      private static func key(_ entity: String, _ property: String?) -> [ScalarString] {
        [ScalarString(entity)] + (property.map { [ScalarString($0)] } ?? [])
      }

      /// Nil for nothing.
      func reason(_ difference: VersionHashDifference) -> String? {
        reasons[Self.key(difference.entityName, difference.propertyName)]
      }
    }

    private func json(_ differences: [VersionHashDifference], _ mapping: ModelMapping?) -> JSONValue {
      let obstacles = Obstacles(mapping)
      let list = differences.map { difference -> JSONValue in
        .object([
          ("entity", .string(difference.entityName)),
          ("property", difference.propertyName.map { .string($0) } ?? .null),
          ("change", .string(difference.change)), ("isVerified", .boolean(!difference.isUnverified)),
          ("isInHash", .boolean(difference.isInHash)),
          ("isInferable", mapping == nil ? .null : .boolean(obstacles.reason(difference) == nil)),
        ])
      }
      return .object([
        ("isCompatible", .boolean(differences.isEmpty)),
        ("isInferable", mapping.map { .boolean($0.obstacles.isEmpty) } ?? .null),
        ("obstacles", .array((mapping?.obstacles ?? []).map { .string($0.description) })),
        (
          "renamed",
          .array(
            (mapping?.renamings ?? []).map { .object([("old", .string($0.old)), ("new", .string($0.new))]) })
        ), ("differences", .array(list)),
      ])
    }

    private func show(_ differences: [VersionHashDifference], _ mapping: ModelMapping?) throws {
      if common.json { return try Diagnostics.put(json(differences, mapping).text + "\n") }
      guard !differences.isEmpty else {
        return try Diagnostics.put(
          "the version hashes match: Core Data opens stores of either model with the other\n")
      }
      var text =
        differences.contains(where: \.isInHash)
        ? "migration needed: Core Data refuses to open a store of \(first) with \(second)\n"
        : "migration needed: the version hashes match, but a store of \(first) does not have what \(second) reads\n"
      let reasons = Obstacles(mapping)
      for difference in differences {
        text += "  \(difference)" + (reasons.reason(difference).map { "; cannot be inferred: \($0)" } ?? "") + "\n"
      }
      if let mapping {
        for renaming in mapping.renamings { text += "  \(renaming.old) is \(renaming.new) now\n" }
        let obstacles = mapping.obstacles
        text +=
          obstacles.isEmpty
          ? "the migration can be inferred\n"
          : "the migration cannot be inferred:\n" + obstacles.map { "  \($0)\n" }.joined()
      }
      try Diagnostics.put(text)
    }
  }
}
