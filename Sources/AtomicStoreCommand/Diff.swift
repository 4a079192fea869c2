import ArgumentParser
import CommandSupport
import StoreCodecs
import StoreCoordination

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare two stores object by object: 0 the same, 1 different, 2 trouble.",
    discussion: """
      Objects are matched by entity and reference. Values are compared to the bit and the Unicode scalar, ordered
      relationships in their order, metadata key by key, the stores' UUIDs too. Where both stores
      carry a model, all that the models say is compared: configurations, fetch requests, user info, indexes, defaults.
      """)
  @Argument(help: "The one store; - for standard input, for one of both.") var first: String
  @Argument(help: "The other.") var second: String
  @OptionGroup var reading: SourceOptions
  @Flag(name: .customLong("ignore-uuid"), help: "Do not compare the stores' UUIDs.") var ignoreUUID = false
  @Flag(name: .customLong("ignore-metadata"), help: "Do not compare metadata.") var ignoreMetadata = false
  @Flag(name: .customLong("ignore-model"), help: "Do not compare the models that the stores carry.")
  var ignoreModel = false
  @Flag(name: .customLong("ignore-name-case"), help: "Take names that differ only in case for the same.")
  var ignoreNameCase = false
  @Flag(help: "Print nothing; the exit code tells.") var quiet = false
  @OptionGroup var common: CommonOptions

  func run() throws {
    do {
      try Tool.load(common.plugins, searches: !common.ignoresInstalledPlugins)
      guard first != "-" || second != "-" else {
        throw CommandFailure("standard input can be one of both only", exitCode: 64)
      }
      let (one, left) = try reading.open(first)
      let (other, right) = try reading.open(second)
      defer { withExtendedLifetime((one, other)) {} }
      let differences = GraphComparison.differences(
        StoreSnapshot(nodes: left.nodes, metadata: left.metadata),
        StoreSnapshot(nodes: right.nodes, metadata: right.metadata),
        options: .init(
          comparesIdentity: !ignoreUUID, comparesMetadata: !ignoreMetadata, comparesModel: !ignoreModel,
          comparesModelOrder: false, ignoresNameCase: ignoreNameCase))
      // A reader that has had enough changes nothing about the answer.
      do { try show(differences) } catch is ExitCode {}
      if !differences.isEmpty { throw ExitCode(1) }
    } catch let code as ExitCode {
      throw code
    } catch {
      var failure = CommandFailure(error, json: common.json)
      // In diff 1 means different: all trouble is 2.
      failure.exitCode = 2
      throw failure
    }
  }

  private func show(_ differences: [GraphDifference]) throws {
    guard !quiet else { return }
    if common.json { return try Talk.put(JSONValue.array(differences.map(\.json)).text + "\n") }
    try Talk.stream { writer in
      for difference in differences {
        writer.append("\(difference)\n")
        try writer.flushIfNeeded()
      }
    }
  }
}
