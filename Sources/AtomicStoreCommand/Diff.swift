import ArgumentParser
import CommandSupport
import StoreCodecs
import StoreCoordination

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare two stores object by object: 0 the same, 1 different, 2 error.",
    discussion: """
      Objects are matched by entity and reference. Values are compared to the bit and the Unicode scalar, ordered
      relationships in order, metadata key by key, and the stores' UUIDs. If both stores carry a model, the models
      are compared completely: configurations, fetch requests, user info, indexes, defaults.
      """)
  @Argument(help: "One store; - for standard input, for one of the two.") var first: String
  @Argument(help: "The other store.") var second: String
  @OptionGroup var reading: SourceOptions
  @Flag(name: .customLong("ignore-uuid"), help: "Do not compare the stores' UUIDs.") var ignoreUUID = false
  @Flag(name: .customLong("ignore-metadata"), help: "Do not compare metadata.") var ignoreMetadata = false
  @Flag(name: .customLong("ignore-model"), help: "Do not compare the models that the stores carry.")
  var ignoreModel = false
  @Flag(name: .customLong("ignore-name-case"), help: "Treat names that differ only in case as equal.")
  var ignoreNameCase = false
  @Flag(help: "Print nothing; only the exit code shows the result.") var quiet = false
  @OptionGroup var common: CommonOptions

  func run() throws {
    try CommandFailure.comparing(json: common.json) {
      try Tool.load(common.plugins)
      guard first != "-" || second != "-" else {
        throw CommandFailure("only one of the two can be standard input", exitCode: 64)
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
      // If the reader has closed the output, the result is still the same.
      do { try show(differences) } catch is ExitCode {}
      return !differences.isEmpty
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
