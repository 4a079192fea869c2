import ArgumentParser
import CommandSupport
import StoreCodecs
import StoreCoordination
import StoreMigration

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Compare two stores object by object: 0 the same, 1 different, 2 error.",
    discussion: """
      Objects are matched by entity and reference. Values are compared to the bit and the Unicode scalar, ordered
      relationships in order, metadata key by key, and the stores' UUIDs. If both stores
      carry a model, the models are compared completely: configurations, fetch requests, user info, indexes, defaults.

      With --ignore-model the stores may have different models: entities and properties that only one has are listed, not
      compared, and renamed ones are compared with their earlier values.

        atomicstore diff lib.xml lib3.xml --ignore-model
      """)
  @Argument(help: "One store; - for standard input, for one of the two.") var first: String
  @Argument(help: "The other store.") var second: String
  @OptionGroup var reading: SourceOptions
  @Flag(name: .customLong("ignore-uuid"), help: "Do not compare the stores' UUIDs.") var ignoreUUID = false
  @Flag(name: .customLong("ignore-metadata"), help: "Do not compare metadata.") var ignoreMetadata = false
  @Flag(name: .customLong("ignore-name-case"), help: "Treat names that differ only in case as equal.")
  var ignoreNameCase = false
  @Flag(
    name: .customLong("ignore-model"),
    help: "List the entities and properties that only one side's model has, and compare the others.")
  var ignoreModel = false
  @Option(name: .customLong("entity"), help: "Compare objects of this entity only. May be repeated.")
  var entities: [String] = []
  @Option(
    name: .customLong("ignore"), help: "A property that is not compared, PROPERTY or ENTITY.PROPERTY. May be repeated.")
  var ignored: [String] = []
  @Flag(help: "Print how many objects of each entity differ, rather than each difference.") var summary = false
  @Flag(help: "Print nothing; only the exit code shows the result.") var quiet = false
  @OptionGroup var common: CommonOptions

  func run() throws {
    try CommandFailure.comparing(json: common.json) {
      try InstalledFormats.load(common.plugins, searches: !common.ignoresInstalledPlugins)
      guard first != "-" || second != "-" else {
        throw CommandFailure("only one of the two can be standard input", exitCode: 64)
      }
      let (firstCoordinator, left) = try reading.open(first)
      let (secondCoordinator, right) = try reading.open(second)
      defer { withExtendedLifetime((firstCoordinator, secondCoordinator)) {} }
      var one = StoreSnapshot(nodes: try left.nodesWithDeferredValues(), metadata: left.metadata)
      let other = StoreSnapshot(nodes: try right.nodesWithDeferredValues(), metadata: right.metadata)
      var models: ModelsBeside?
      if ignoreModel {
        let found = ModelsBeside(left.model, right.model, names: (first, second))
        one.nodes = try found.aligned(one.nodes, store: left.identifier)
        models = found
        if !quiet, !common.json { try Diagnostics.put(found.lines.map { $0 + "\n" }.joined()) }
      }
      let differences = GraphComparison.differences(
        one, other,
        options: .init(
          comparesIdentity: !ignoreUUID, comparesMetadata: !ignoreMetadata, comparesModel: !ignoreModel,
          comparesModelOrder: false, ignoresNameCase: ignoreNameCase)
      ).filter { (models?.concerns($0) ?? true) && isAsked($0) }
      // If the reader has closed the output, the result is still the same.
      do { try show(differences) } catch is ExitCode {}
      return !differences.isEmpty
    }
  }

  /// Whether a difference is of what is to be compared.
  private func isAsked(_ difference: GraphDifference) -> Bool {
    guard let object = difference.object else { return entities.isEmpty }
    guard entities.isEmpty || entities.contains(object.entityName) else { return false }
    guard difference.kind == .changed, let key = difference.key else { return true }
    return !ignored.contains(key) && !ignored.contains("\(object.entityName).\(key)")
  }

  /// Objects by entity and kind of difference; an object that differs in several properties counts once.
  private func counts(_ differences: [GraphDifference]) -> [(entity: String, inserted: Int, deleted: Int, changed: Int)]
  {
    var objects: [String: (inserted: Int, deleted: Int, changed: Set<ReferenceObject>)] = [:]
    for difference in differences {
      guard let object = difference.object else { continue }
      switch difference.kind {
      case .inserted: objects[object.entityName, default: (0, 0, [])].inserted += 1
      case .deleted: objects[object.entityName, default: (0, 0, [])].deleted += 1
      case .changed: objects[object.entityName, default: (0, 0, [])].changed.insert(object.reference)
      case .metadata, .identity, .model: break
      }
    }
    return objects.sorted { ScalarString($0.key) < ScalarString($1.key) }.map {
      ($0.key, $0.value.inserted, $0.value.deleted, $0.value.changed.count)
    }
  }

  private func showSummary(_ differences: [GraphDifference]) throws {
    let counts = counts(differences)
    let others = differences.filter { $0.object == nil }
    if common.json {
      let entities = counts.map { count in
        (
          count.entity,
          JSONValue.object([
            ("inserted", .integer(count.inserted)), ("deleted", .integer(count.deleted)),
            ("changed", .integer(count.changed)),
          ])
        )
      }
      let answer = JSONValue.object([("entities", .object(entities)), ("metadata", .integer(others.count))])
      return try Diagnostics.put(answer.text + "\n")
    }
    var text = ""
    for count in counts {
      text += "\(count.entity): \(count.inserted) inserted, \(count.deleted) deleted, \(count.changed) changed\n"
    }
    if !others.isEmpty { text += "metadata: \(others.count) differ\n" }
    try Diagnostics.put(text)
  }

  private func show(_ differences: [GraphDifference]) throws {
    guard !quiet else { return }
    if summary { return try showSummary(differences) }
    if common.json { return try Diagnostics.put(JSONValue.array(differences.map(\.json)).text + "\n") }
    try Diagnostics.stream { writer in
      for difference in differences {
        writer.append("\(difference)\n")
        try writer.flushIfNeeded()
      }
    }
  }
}
