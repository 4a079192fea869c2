import ArgumentParser
import AtomicStoreKit
package import CommandSupport
import FoundationEssentials
import ModelFiles
import StoreCoordination
package import StoreMigration

struct Migrate: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate",
    abstract: "Migrate a store to another version of its model; with --in-place, replace the store.",
    discussion: """
        atomicstore migrate lib.xml --model Library.xcdatamodeld -o lib3.xml
        atomicstore migrate lib.xml --model Library.xcdatamodeld --in-place

      Core Data's lightweight migration: attributes and relationships that are added, removed or renamed (by their
      renaming identifiers), required ones with a default value, to-one to to-many, entities that are added, removed,
      renamed or moved within their hierarchy. All other changes are rejected in a single report, with the number of
      objects concerned. UUID, references and metadata are kept; the result is compared with the source.

      --in-place changes a database in one transaction. Programs that have it open with the previous model cannot save
      any more: they get an error that says to open it again.

      Through the versions of a .xcdatamodeld or .momd the store goes step by step, from its own, which is found by
      its version hashes or by the model that it carries, to the current one.

      Values of properties that the new model does not have, and objects of entities that it does not have, are
      listed, and refused without --allow-loss. --convert-types converts a property if every value can be converted losslessly: a
      text to a number or a date only if that is written as the same text. --mapping names a JSON file for what cannot be
      inferred; its rules for a property apply to sub-entities, too, unless they have their own, and those for a composite
      attribute to its parts:

        { "entities": { "Person": { "properties": { "fullName": "first + ' ' + last", "visits": { "default": 0 } },
                                    "drop": ["nickname"] } } }

      Or it names one of Xcode's mapping models, .xcmappingmodel or .cdm, or a directory such as an app bundle that is
      searched for the one that fits. It is followed instead of inference, in one step from the store's model to
      --model, if the version hashes of its entities are those of the two models. Migration policies and functions
      that are code of the application are rejected by name; what it does not map needs --allow-loss:

        atomicstore migrate notes.sqlite --model Notes.momd --mapping V3ToV4.cdm -o notes4.sqlite
      """)
  @Argument(help: "The store; - for standard input.") var store: String
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @Option(help: "The model to migrate to: a model file of any kind, also one with versions.") var model: String
  @Option(name: .customLong("model-version"), help: "The version to migrate to. Default: the current one.")
  var version: String?
  @Option(
    name: .customLong("from-model"), help: "The store's model, if the store neither carries it nor has version hashes.")
  var fromModel: String?
  @Flag(name: .customLong("in-place"), help: "Replace the store by the migrated one.") var inPlace = false
  @Option(
    help: ArgumentHelp(
      "A JSON file with the mappings that cannot be inferred; or a mapping model of Xcode, or a directory with some."))
  var mapping: String?
  @Flag(
    name: .customLong("convert-types"), help: "Convert values to other types where all can be converted losslessly.")
  var convertTypes = false
  @Option(help: "The store's type, if it should not be detected from the content.", completion: Completions.types)
  var from: String?
  @Option(name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
  var readOptions: [String] = []
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard inPlace == (result.output == nil) else {
        throw CommandFailure(
          inPlace ? "take -o or --in-place, not both" : "-o names the store to make; --in-place replaces it",
          exitCode: 64)
      }
      if inPlace, store == "-" { throw CommandFailure("standard input cannot be changed in place", exitCode: 64) }
      var options = ModelMapping.Options()
      options.convertsTypes = convertTypes
      if let mapping { try read(mapping, into: &options) }
      var plan = try MigrationPlan(versionsAt: try Input.path(for: model), version: version, options: options)
      plan.allowsLoss = result.allowLoss
      if let fromModel { plan.sources.append(try ModelChoice(fromModel).model()) }
      let input = try Input.path(for: store)
      if inPlace, let database = try InstalledFormats.registry.incrementalType(from, at: input) {
        return try migrate(database, at: input, plan)
      }
      let (steps, written) = try RepeatedSave.changing(isInPlace: inPlace) { try migrate(input, plan) }
      try tell(steps, written)
    }
  }

  /// Reads a mapping file, a mapping model, or the mapping models of a directory.
  private func read(_ mapping: String, into options: inout ModelMapping.Options) throws {
    let path = try Input.path(for: mapping)
    if let model = try MappingModel.read(at: path) {
      options.mappingModels = [(mapping, model)]
    } else if try StorePath.inspect(path).kind == .folder {
      options.mappingModels = try MappingModel.all(in: path)
    } else {
      options.file = try MappingFile(json: Array(try Data(contentsOf: URL(filePath: path))), name: mapping)
    }
  }

  /// Migrates what is at a path now.
  private func migrate(
    _ input: String, _ plan: MigrationPlan
  ) throws -> (steps: [StoreMigrator.Step], report: StoreConverter.Report) {
    let (coordinator, opened) = try open(input, plan)
    defer { withExtendedLifetime(coordinator) {} }
    let migrated = try StoreMigrator(plan).migrate(
      try opened.nodesWithDeferredValues(), store: opened.identifier)
    var metadata = opened.metadata
    metadata.model = migrated.nodes.model.description
    let written = try result.write(
      StoreSnapshot(nodes: migrated.nodes, metadata: metadata), describedAs: opened.type,
      madeOf: [opened], files: mappingFiles(plan), replacing: inPlace ? opened : nil)
    return (migrated.steps, written)
  }

  /// The files that the mapping was read from.
  private func mappingFiles(_ plan: MigrationPlan) -> [String] {
    let models = plan.stages.last?.options.mappingModels ?? []
    return models.isEmpty ? mapping.flatMap { $0 == "-" ? nil : [$0] } ?? [] : models.map(\.path)
  }

  /// Changes a database where it is, in one transaction.
  private func migrate(_ type: any IncrementalStore.Type, at input: String, _ plan: MigrationPlan) throws {
    guard result.to == nil || result.to == type.storeType, result.writeOptions.isEmpty else {
      throw CommandFailure(
        "a database that is changed in place keeps its type and form: -o names another store", exitCode: 64)
    }
    var converter = try result.converter()
    converter.readOptions = try parseOptions(readOptions)
    let bar = ProgressBar()
    converter.progress = { bar.show($0) }
    defer { bar.clear() }
    let (steps, report) = try PersistentStoreCoordinator.migrateDatabase(type, at: input, by: plan, converter)
    try tell(steps, report)
  }

  private func open(_ input: String, _ plan: MigrationPlan) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let options = try parseOptions(readOptions)
    if fromModel != nil, let model = plan.sources.last {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: InstalledFormats.registry)
      return (
        coordinator,
        try readingTwice {
          try coordinator.addPersistentStore(type: from, at: input, options: options, isReadOnly: true)
        }
      )
    }
    return try readingTwice {
      try PersistentStoreCoordinator.openForMigration(
        type: from, at: input, options: options, by: plan, registry: InstalledFormats.registry)
    }
  }

  private func tell(_ taken: [StoreMigrator.Step], _ report: StoreConverter.Report) throws {
    if !common.json {
      if taken.isEmpty, mapping != nil {
        Diagnostics.say("note: the store already has this model, so that --mapping was not applied")
      }
      for step in taken {
        for loss in step.losses { Diagnostics.say("lost: \(loss)") }
      }
    }
    let steps = taken.map { step -> JSONValue in
      .object([
        ("model", step.name.map { .string($0) } ?? .null),
        (
          "renamed",
          .array(step.mapping.renamings.map { .object([("new", .string($0.new)), ("old", .string($0.old))]) })
        ),
        ("losses", .array(step.losses.map(\.json))),
      ])
    }
    try result.tell(
      report, of: store, verb: ("migrated", "would migrate"), json: common.json, fields: [("steps", .array(steps))])
  }
}

extension MigrationError: CommandError {
  package var failure: CommandFailure {
    let details = JSONValue.object([
      ("code", .string(obstacles.isEmpty ? "loss" : "migration")), ("message", .string(description)),
      (
        "obstacles",
        .array(
          obstacles.map {
            .object([
              ("entity", .string($0.entityName)), ("property", $0.propertyName.map { .string($0) } ?? .null),
              ("reason", .string($0.reason)), ("objects", $0.objectCount.map { .integer($0) } ?? .null),
            ])
          })
      ),
      ("losses", .array(losses.map(\.json))),
    ])
    let hint = obstacles.isEmpty ? "\n  (--allow-loss migrates all the same)" : ""
    return CommandFailure(description + hint, exitCode: 65, details: details)
  }
}
