import ArgumentParser
import AtomicStoreKit
import CommandSupport

extension Model {
  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract:
        "Say whether Core Data takes two models for one: 0 the same version hashes, 1 migration needed, 2 trouble.",
      discussion: """
        Each may be a model file of any kind, or a store: the model that it carries, or else the version hashes in its metadata.
        What is compared is what counts in version hashes: names, types, optionality, relationships, uniqueness; not classes,
        defaults, validation, delete rules, indexes or user info.

          atomicstore model diff Company.momd Company.xcdatamodeld
          atomicstore model diff Old.xml Company.xcdatamodeld     # would Core Data open this store with this model?
        """)
    @Argument(help: "The model or store that is there; - for standard input, for one of both.") var first: String
    @Argument(help: "The model or store that it is compared with.") var second: String
    @Flag(help: "Print nothing; the exit code tells.") var quiet = false
    @OptionGroup var common: CommonOptions

    func run() throws {
      do {
        try Tool.load(common.plugins, searches: !common.ignoresInstalledPlugins)
        guard first != "-" || second != "-" else {
          throw CommandFailure("standard input can be one of both only", exitCode: 64)
        }
        defer { Input.discard() }
        let old = try read(first)
        let new = try read(second)
        let differences = try differences(old, new)
        if !quiet { try show(differences) }
        if !differences.isEmpty { throw ExitCode(1) }
      } catch let code as ExitCode {
        throw code
      } catch {
        var failure = CommandFailure(error, json: common.json)
        // 1 means that they differ: all trouble is 2.
        failure.exitCode = 2
        throw failure
      }
    }

    private func read(_ path: String) throws -> (model: ManagedObjectModel?, hashes: VersionHashes) {
      let source = try ModelSource.read(path, allowsInvalid: true)
      for problem in source.problems { Talk.say("atomicstore: \(path): \(problem)") }
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
        found = model.versionHashDifferences(from: old.hashes, storedModel: old.model)
      } else if let model = old.model {
        // Only the first is a model: the same, seen from the other side.
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

    private func show(_ differences: [VersionHashDifference]) throws {
      if common.json {
        let list = differences.map { difference -> JSONValue in
          .object([
            ("entity", .string(difference.entityName)),
            ("property", difference.propertyName.map { .string($0) } ?? .null),
            ("change", .string(difference.change)), ("isVerified", .boolean(!difference.isUnverified)),
          ])
        }
        let answer = JSONValue.object([("isCompatible", .boolean(differences.isEmpty)), ("differences", .array(list))])
        return try Talk.put(answer.text + "\n")
      }
      guard !differences.isEmpty else {
        return try Talk.put("the version hashes are the same: Core Data opens a store of the one with the other\n")
      }
      var text = "migration needed: Core Data refuses to open a store of \(first) with \(second) as it is\n"
      for difference in differences { text += "  \(difference)\n" }
      try Talk.put(text)
    }
  }
}
