import ArgumentParser
import CommandSupport
import StoreCodecs
import StoreCoordination
import StoreMaintenance
import StoreMigration

struct Diff: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "diff",
    abstract: "Compare two stores object by object: 0 the same, 1 different, 2 error.",
    discussion: """
        atomicstore diff old.xml new.xml
        atomicstore diff old.xml new.xml --summary

      Objects are matched by entity and reference. Values are compared to the bit and the Unicode scalar, ordered
      relationships in order, metadata key by key, and the stores' UUIDs. If both stores
      carry a model, the models are compared completely: configurations, fetch requests, user info, indexes, defaults.

      With --ignore-model the stores may have different models: entities and properties that only one has are listed, not
      compared, and renamed ones are compared with their earlier values. Numbers of different types are compared by
      value; any other property whose type differs is a difference. With --json, what was not compared is listed as
      elements of the kind notCompared.

        atomicstore diff lib.xml lib3.xml --ignore-model

      Stores that were not made of each other have other references for the same objects. --key names the
      properties that identify an object; the output uses them as its name: PROPERTY for every entity that has it, or
      ENTITY=PROPERTY,PROPERTY. Key paths such as author.name are allowed. Objects of other entities are matched by
      reference.

        atomicstore diff old.csvstore new.csvstore --key isbn --key Author=name --ignore-uuid

      --renumber-map names the list of renumbered objects that 'convert --renumber' wrote: the objects of the first store
      are compared with those that have their new references in the second.

        atomicstore diff notes.sqlite notes.binary --renumber-map map.json

      --patch prints what 'atomicstore patch' applies to a copy of the first store.
      """)
  @Argument(help: "One store; - for standard input, for one of the two.") var first: String
  @Argument(help: "The other store.") var second: String
  @OptionGroup(title: "Options for reading") var reading: SourceOptions
  @Flag(name: .customLong("ignore-uuid"), help: "Do not compare the stores' UUIDs.") var ignoreUUID = false
  @Flag(name: .customLong("ignore-metadata"), help: "Do not compare metadata.") var ignoreMetadata = false
  @Flag(name: .customLong("ignore-name-case"), help: "Treat names that differ only in case as equal.")
  var ignoreNameCase = false
  @Flag(
    name: .customLong("ignore-model"),
    help: "List the entities and properties that only one side's model has, and compare the others.")
  var ignoreModel = false
  @Option(
    name: .customLong("entity"), help: "Compare objects of this entity and its sub-entities only. May be repeated.",
    completion: Completions.entities)
  var entities: [String] = []
  @Option(
    name: .customLong("ignore"),
    help: """
      A property that is not compared, PROPERTY or ENTITY.PROPERTY, which includes the sub-entities of the entity, or a \
      metadata key. May be repeated.
      """)
  var ignored: [String] = []
  @OptionGroup var keys: ObjectKeyOption
  @Option(
    name: .customLong("renumber-map"),
    help: "The file with the new references of the first store's objects, which 'convert --renumber-map' wrote.")
  var renumberMap: String?
  @Flag(help: "Print a patch: JSON with the old and new values, for 'atomicstore patch'.") var patch = false
  @Flag(help: "Print how many objects of each entity differ, rather than each difference.") var summary = false
  @Flag(help: "Print nothing; only the exit code shows the result.") var quiet = false
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try CommandFailure.comparing(common) {
      try checkOptions()
      var pair = try StorePair(first, second, reading)
      let models = [pair.left.model, pair.right.model]
      if let renumberMap { pair.one.nodes = try RenumberingFile.read(renumberMap).applied(to: pair.one.nodes) }
      let asked = try request(models)
      var remarks: [ModelsBeside.Remark] = []
      if ignoreModel {
        remarks = try pair.placeModelsBeside().filter { asked.includes($0) }
        if !quiet, !common.json { try Diagnostics.put(remarks.map { $0.line + "\n" }.joined()) }
      }
      if patch { return try showPatch(pair.one, pair.other, asked) }
      let named = try keys.names(pair)
      for note in named.notes { Diagnostics.say(note) }
      let differences = GraphComparison.differences(
        pair.one, pair.other,
        options: .init(
          comparesIdentity: !ignoreUUID, comparesMetadata: !ignoreMetadata, comparesModel: !ignoreModel,
          comparesModelOrder: false, ignoresNameCase: ignoreNameCase, limit: quiet ? 1 : nil),
        names: named.names
      ) { pair.concerns($0) && asked.includes($0) }
      if !quiet, !common.json, differences.contains(where: \.isOfModels) {
        Diagnostics.say(
          "note: \(Input.shown(first)) and \(Input.shown(second)) have different models; --ignore-model compares what both "
            + "have, and --ignore-metadata leaves out version hashes")
      }
      // If the reader has closed the output, the result is still the same.
      do { try show(differences, remarks.filter { $0.kind != .renamed }) } catch is ExitCode {}
      return !differences.isEmpty || remarks.contains { $0.kind == .type }
    }
  }

  private func checkOptions() throws {
    guard patch else { return }
    for (isGiven, name) in [
      (keys.isGiven, "--key"), (ignoreModel, "--ignore-model"), (summary, "--summary"),
      (renumberMap != nil, "--renumber-map"),
    ]
    where isGiven {
      throw CommandFailure("--patch and \(name) exclude each other: a patch is by reference", exitCode: 64)
    }
  }

  /// Prints the patch from the first store to the second; returns whether there is anything in it.
  private func showPatch(
    _ one: StoreSnapshot, _ other: StoreSnapshot, _ asked: DiffRequest
  ) throws -> Bool {
    let patch = try StorePatch(from: one, to: other) { difference in
      asked.includes(difference) && !(ignoreMetadata && difference.kind == .metadata)
    }
    do {
      if !quiet { try Diagnostics.stream { $0.append(patch.json(other.nodes.model).span) } }
    } catch is ExitCode {}
    return !patch.changes.isEmpty
  }

  /// What is compared, by the names of both models.
  private func request(_ models: [ManagedObjectModel]) throws -> DiffRequest {
    var request = DiffRequest()
    for text in ignored { request.ignore(text, models) }
    guard !entities.isEmpty else { return request }
    var asked: Set<ScalarString> = []
    for name in entities {
      let found = models.compactMap { $0.entity(named: name) }
      // The error has the names of the first store.
      if found.isEmpty { _ = try models[0].entity(asked: name) }
      for entity in found { asked.formUnion(entity.hierarchy.map { ScalarString($0.name) }) }
    }
    request.entities = asked
    return request
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

  private func showSummary(_ differences: [GraphDifference], _ remarks: [ModelsBeside.Remark]) throws {
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
      let answer = JSONValue.object(
        [("entities", .object(entities)), ("metadata", .integer(others.count))]
          + (ignoreModel ? [("notCompared", .array(remarks.map(\.json)))] : []))
      return try Diagnostics.put(answer.text + "\n")
    }
    var text = ""
    for count in counts {
      text += "\(count.entity): \(count.inserted) inserted, \(count.deleted) deleted, \(count.changed) changed\n"
    }
    if !others.isEmpty { text += "metadata: \(others.count) differ\n" }
    try Diagnostics.put(text)
  }

  private func show(_ differences: [GraphDifference], _ remarks: [ModelsBeside.Remark]) throws {
    guard !quiet else { return }
    if summary { return try showSummary(differences, remarks) }
    if common.json {
      return try Diagnostics.put(JSONValue.array(remarks.map(\.json) + differences.map(\.json)).text + "\n")
    }
    try Diagnostics.lines(differences) { ("\($0)", $0.color) }
  }
}

extension GraphDifference {
  /// Whether it says that the models differ.
  var isOfModels: Bool {
    kind == .model || kind == .metadata && VersionHashes.derivedMetadataKeys.contains { (key ?? "").hasPrefix($0) }
  }

  /// Its color on a terminal.
  var color: Diagnostics.Color {
    switch kind {
    case .inserted: .green
    case .deleted: .red
    case .changed, .metadata, .identity, .model: .yellow
    }
  }
}
