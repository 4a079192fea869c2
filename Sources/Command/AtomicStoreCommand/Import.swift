import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import ModelFiles
import StoreCoordination
import StoreImporting

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Make a store of CSV and JSON tables; with --into, change a store in place by adding them to it.",
    discussion: """
        atomicstore import authors.csv books.csv -o lib.xml --model Library.xcdatamodeld
        atomicstore import Author=people.csv Book=- -o lib.xml --model M.xcdatamodeld --relationship Book.author=writer

      Each table holds the records of one entity: the one that the file is named after, in singular or plural,
      or ENTITY=FILE. Several files that are parts of one table are ENTITY=FILE,FILE, or ENTITY=DIRECTORY; columns are
      found by name, and a file without one has no values of it. JSON is an array of objects, or one object on each line; with a model also what fetch --json
      prints of an entity. A directory stands for all its tables, and so does a ZIP archive; a table may be compressed
      with gzip. A directory that 'tables' wrote is imported as the whole store that it contains; of the options below,
      only --read-option and the options for the result can be used with it.

      A column is the property of its name, whatever its case and separators: in_print is inPrint. The column id
      is the key, and author_id the relationship author; --key and --relationship name others. Keys become
      references, and need not be properties. Other columns are ignored and listed.

      Without --model one is inferred from all records: integers, decimals, Booleans, dates, UUIDs, texts, and
      relationships. --types overrides it, --write-model saves it.

      All problems are found in one pass and printed with file, line and column; then nothing is written, and the
      exit code is 65. --reject leaves the bad records out, and those that refer to them, and goes on.

      --dangling decides about a record with a key of a record that does not exist or was skipped. refuse: it is
      a problem, and nothing is written, even with --reject. reject, which needs --reject and is its default: the record
      is left out. nullify: it is imported without that key, which is noted. keep-as-text: the same, and the key is kept
      in the store's metadata, as --read-option dangling=keep-as-text does. Where the model requires the relationship,
      a record without it is a problem, or left out with --reject.

      Derived attributes are computed. A column for one is ignored if it has the computed value, or the store's old one,
      and reported as an error otherwise. --write-model, --report and --reject write their files with the store; with
      --dry-run nothing is written, and problems are printed.

      With --into the tables are added to a store, which is changed in place unless -o names another one; a database
      gets the changes in one save. What other programs save meanwhile is kept. A record
      whose key is the reference of an object is a problem; with --upsert key it updates that object, and with
      --upsert ENTITY.PROPERTY objects are found by that property. An object keeps what the record has no column for,
      or what a JSON object has no member for. Inverse relationships of objects
      without a record are updated.
      """)
  @Argument(help: "Tables: FILE, ENTITY=FILE, ENTITY=FILE,FILE, or a directory; - for standard input.") var tables:
    [String]
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @Option(help: "The model: a model file of any kind, or a store that carries one.") var model: String?
  @OptionGroup var columns: ImportColumnOptions
  @OptionGroup var texts: ImportTextOptions
  @OptionGroup var problems: ImportProblemOptions
  @Option(help: "The store to add to. It is changed in place unless -o names another one.") var into: String?
  @Flag(help: "Add to the store that -o names, or --into. Records whose key an object has are a problem.")
  var append = false
  @Option(
    help:
      "Update objects that exist already: 'key' finds them by reference, ENTITY.PROPERTY by a value. May be repeated.")
  var upsert: [String] = []
  @Option(
    name: .customLong("read-option"),
    help:
      "A limit of the tables, such as maximumMemory, or an option of the format of the store that is added to: name=value. May be repeated."
  )
  var readOptions: [String] = []
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      if tables.count == 1, let path = tables.first, try TablesFolder.exists(at: path) { return try importStore(path) }
      var importer = StoreImporter()
      var options = try parseOptions(readOptions)
      importer.limits = try StoreLimits(taking: &options)
      if let name = options.keys.sorted().first, !isOfExisting {
        throw CommandFailure("'\(name)' is not a limit, and no store is read", exitCode: 64)
      }
      try columns.apply(to: &importer)
      importer.conventions = try texts.conventions()
      importer.maximumProblemCount = problems.maximum
      importer.rejectsBadRecords = problems.reject != nil
      importer.danglingKeys = try problems.danglingKeys()
      guard importer.types.isEmpty || model == nil && into == nil && !append && upsert.isEmpty else {
        throw CommandFailure("--types is for a model that is inferred, not with --model or --into", exitCode: 64)
      }
      guard into == nil || columns.writeModel == nil else {
        throw CommandFailure(
          "--write-model is not possible with --into: 'model convert' writes a store's model", exitCode: 64)
      }
      // What other programs save meanwhile is kept, and the tables are added to that.
      var told: Set<String> = []
      try RepeatedSave.changing(isInPlace: isOfExisting) { try run(importer, &told) }
    }
  }

  /// Imports a directory that `tables` wrote.
  private func importStore(_ path: String) throws {
    if let option = optionOfOtherTables {
      throw CommandFailure(
        "\(option) is not for a directory that 'tables' wrote, which is a whole store: import it to a new store, and 'merge' that",
        exitCode: 64)
    }
    let folder = try TablesFolder(path, options: try parseOptions(readOptions))
    guard folder.findings.isEmpty else {
      throw problems.failure(ImportError(folder.findings, in: path), isDryRun: result.dryRun)
    }
    let report = try result.write(
      folder.snapshot, describedAs: "tables", notes: folder.notes, madeOf: [folder.store])
    if !common.json { for note in folder.notes { Diagnostics.say("note: \(note)") } }
    try result.tell(report, of: path, verb: ("imported", "would import"), json: common.json)
  }

  /// An option that is for tables of other programs; nil if there is none.
  private var optionOfOtherTables: String? {
    let given: [(String, Bool)] = [
      ("--into", into != nil), ("--append", append), ("--upsert", !upsert.isEmpty), ("--model", model != nil),
      ("--key", !columns.key.isEmpty), ("--relationship", !columns.relationship.isEmpty),
      ("--join", !columns.join.isEmpty), ("--types", !columns.types.isEmpty),
      ("--write-model", columns.writeModel != nil), ("--report", problems.reportPath != nil),
      ("--reject", problems.reject != nil), ("--dangling", problems.dangling != nil),
      ("--max-errors", problems.maximum != nil), ("--encoding", texts.encoding != nil),
      ("--delimiter", texts.delimiter != nil), ("--decimal", texts.decimal != nil),
      ("--thousands", texts.thousands != nil), ("--date-format", !texts.dateFormats.isEmpty),
      ("--comment", texts.comment != nil), ("--quotes", texts.quotes != nil), ("--columns", texts.columnNames != nil),
      ("--null", !texts.nullWords.isEmpty), ("--boolean", !texts.boolean.isEmpty),
    ]
    return given.first { $0.1 }?.0
  }

  /// Whether tables are added to a store that exists.
  private var isOfExisting: Bool { into != nil || append || !upsert.isEmpty }

  /// - Parameter told: The problems that an earlier attempt has printed.
  private func run(_ prepared: StoreImporter, _ told: inout Set<String>) throws {
    var importer = prepared
    let store = try openExisting()
    defer { withExtendedLifetime(store) {} }
    let graph = try store.flatMap { try DatabaseGraph($0.1, of: $0.0, at: into ?? result.output ?? "") }
    if let store {
      importer.lastReference = store.1.metadata.lastReference
      importer.existing = try graph?.nodes ?? store.1.nodesWithDeferredValues()
      importer.existingObjects = try existingObjects()
    } else {
      importer.model = try model.map { try ModelChoice($0).model() }
    }
    let sources = try self.sources()
    let imported: StoreImporter.Result
    do {
      imported = try importer.read(sources)
    } catch let error as ImportError {
      let files = try pendingFiles(reading: sources)
      try problems.report(error.problems, to: files, result, told: &told)
      if !result.dryRun { try files.commit() }
      throw problems.failure(error, isDryRun: result.dryRun)
    }
    let modelPath = store == nil ? columns.writeModel : nil
    let files = try pendingFiles(reading: sources)
    if let modelPath {
      try files.reserve(modelPath)
      try checkModelFile(modelPath)
    }
    // First what cannot be told again: once the store is written, the records that were left out must not be lost.
    // A dry run stages the files, too, to fail where they cannot be written.
    try problems.report(imported.problems, to: files, result, told: &told)
    try problems.add(imported.tables + imported.joinTables, to: files, force: result.force)
    if let modelPath { try add(imported.nodes.model, at: modelPath, to: files.publication) }
    let written = try write(imported, sources, store?.1, graph, files.publication)
    // A result without a name, on standard output, was not published with the files.
    do { if !result.dryRun { try files.commit() } } catch {
      Diagnostics.say("the store was written; not all of the files beside it were")
      // Doing all again would not find what was changed.
      throw CommandFailure(error, json: common.json)
    }
    try tell(imported, written)
  }

  private func pendingFiles(reading sources: [ImportSource]) throws -> PendingFiles {
    try PendingFiles(
      besides: [result.output, into].compactMap(\.self),
      reading: sources.compactMap(\.path) + (model.map { [$0] } ?? []))
  }

  /// The files that an argument names: `FILE`, `ENTITY=FILE`, or `ENTITY=FILE,FILE`.
  private static func files(of argument: String) -> [(entity: String?, path: String)] {
    guard let equals = argument.firstIndex(of: "="), equals != argument.startIndex,
      !FileManager.default.fileExists(atPath: argument)
    else { return [(nil, argument)] }
    let entity = String(argument[..<equals])
    let path = String(argument[argument.index(after: equals)...])
    if FileManager.default.fileExists(atPath: path) { return [(entity, path)] }
    return path.split(separator: ",", omittingEmptySubsequences: false).map { (entity, String($0)) }
  }

  /// The tables that the arguments name.
  private func sources() throws -> [ImportSource] {
    let named = tables.flatMap { Self.files(of: $0) }
    guard named.count(where: { $0.path == "-" }) < 2 else {
      throw CommandFailure("only one table can be standard input", exitCode: 64)
    }
    var sources: [ImportSource] = []
    for (entity, path) in named {
      // What 'fetch --format ndjson' prints of no objects adds nothing. A new store would be empty, or replace another.
      let mayBeEmpty = path == "-" ? isOfExisting : ImportSource.holdsJSONLines(path)
      let input = try Input.path(for: path, mayBeEmpty: mayBeEmpty)
      var isDirectory = false
      if FileManager.default.fileExists(atPath: input, isDirectory: &isDirectory), isDirectory {
        let names = try FileManager.default.contentsOfDirectory(atPath: input).filter { ImportSource.isTable($0) }
          .sorted()
        guard !names.isEmpty else { throw CommandFailure("\(path): there is no CSV or JSON table in it", exitCode: 65) }
        for name in names { sources.append(try ImportSource(path: path + "/" + name, entityName: entity)) }
        continue
      }
      var source = try ImportSource(path: input, entityName: entity)
      if path == "-" {
        if case .zeroLength = try StorePath.kind(of: input) {
          source = ImportSource(bytes: Array("[]".utf8), name: "", entityName: entity)
        }
        source.name = "standard input"
        guard entity != nil else { throw CommandFailure("ENTITY=- says what standard input holds", exitCode: 64) }
      } else {
        source.name = path
      }
      sources.append(source)
    }
    return sources
  }

  // MARK: An existing store

  private func openExisting() throws -> (PersistentStoreCoordinator, PersistentStore)? {
    guard isOfExisting else { return nil }
    guard let path = into ?? result.output, path != "-" else {
      throw CommandFailure("--into names the store to add to", exitCode: 64)
    }
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try model.map { try ModelChoice($0).model(for: path) }, registry: InstalledFormats.registry)
    let input = try Input.path(for: path)
    let options = try parseOptions(readOptions)
    return (
      coordinator,
      try readingTwice { try coordinator.addPersistentStore(at: input, options: options, isReadOnly: true) }
    )
  }

  private func existingObjects() throws -> StoreImporter.ExistingObjects {
    if upsert.isEmpty { return .refuse }
    if append { throw CommandFailure("--append adds objects, --upsert updates them: take one", exitCode: 64) }
    if upsert == ["key"] { return .update }
    var properties: [String: String] = [:]
    for text in upsert {
      guard let dot = text.firstIndex(of: ".") else {
        throw CommandFailure("--upsert takes 'key' or ENTITY.PROPERTY, not '\(text)'", exitCode: 64)
      }
      properties[String(text[..<dot])] = String(text[text.index(after: dot)...])
    }
    return .updateByProperty(properties)
  }

  // MARK: Results

  private func write(
    _ imported: StoreImporter.Result, _ sources: [ImportSource], _ store: PersistentStore?, _ graph: DatabaseGraph?,
    _ unit: Publication
  ) throws -> StoreConverter.Report {
    var metadata = store?.metadata ?? StoreMetadata(storeType: result.to ?? "")
    // The same objects in another form, as a conversion keeps them.
    if store == nil, let uuid = imported.storeUUID { metadata.uuid = uuid }
    metadata.model = imported.nodes.model.description
    metadata.entries.keep(danglingReferences: imported.danglingReferences)
    metadata.lastReference = max(metadata.lastReference, imported.nodes.greatestIntegerReference)
    let snapshot = StoreSnapshot(nodes: imported.nodes, metadata: metadata)
    var result = result
    if store != nil, into == nil { result.output = nil }
    return try result.write(
      snapshot, describedAs: "tables", notes: imported.notes, madeOf: store.map { [$0] } ?? [],
      files: sources.compactMap(\.path), replacing: store, editing: store, read: graph.map { [$0] } ?? [],
      with: unit)
  }

  /// Refuses a model file that could not be written after the store was.
  private func checkModelFile(_ path: String) throws {
    guard ["xcdatamodel", "xcdatamodeld"].contains(PathParts.fileExtension(of: path)) else {
      throw CommandFailure("a model is named .xcdatamodel or .xcdatamodeld, not '\(path)'", exitCode: 64)
    }
    try ModelFile.checkTarget(path, overwrite: result.force)
    let parent = path.lastIndex(of: "/").map { path[..<$0].isEmpty ? "/" : String(path[..<$0]) } ?? "."
    guard FileManager.default.isWritableFile(atPath: parent) else {
      throw CommandFailure(
        "\(path): the model cannot be written: '\(parent)' is not a directory that can be written to",
        exitCode: 73)
    }
  }

  private func add(_ model: ManagedObjectModel, at path: String, to unit: Publication) throws {
    let (kept, _) = ModelFile.withoutWhatFilesCannotHold(model.description)
    guard PathParts.fileExtension(of: path) == "xcdatamodeld" else {
      return try unit.add(kept, at: path, overwrite: result.force)
    }
    let name = PathParts.stem(of: path)
    try unit.add(versions: [(name, kept)], current: name, at: path, overwrite: result.force)
  }

  private func tell(_ imported: StoreImporter.Result, _ report: StoreConverter.Report) throws {
    if !common.json {
      for table in imported.tables {
        if !table.ignoredColumns.isEmpty {
          let columns = table.ignoredColumns.joined(separator: ", ")
          Diagnostics.say("left out: \(table.file): no property of \(table.entityName): \(columns)")
        }
      }
      for table in imported.tables + imported.joinTables where table.rejectedCount > 0 {
        Diagnostics.say("left out: \(table.file): \(Diagnostics.count(table.rejectedCount, "bad record"))")
      }
      // That the other end of a relationship follows is what an import is for.
      for note in imported.notes where !note.text.hasPrefix("taken from") && !note.text.hasPrefix("changed to agree") {
        Diagnostics.say("note: \(note)")
      }
    }
    let list = imported.tables.map { table -> JSONValue in
      .object([
        ("file", .string(table.file)), ("entity", .string(table.entityName)), ("records", .integer(table.count)),
        ("key", .array(table.keyColumns.map { .string($0) })),
        ("ignoredColumns", .array(table.ignoredColumns.map { .string($0) })),
        ("rejected", .integer(table.rejectedCount)),
      ])
    }
    let joins = imported.joinTables.map { table -> JSONValue in
      .object([
        ("file", .string(table.file)), ("entity", .string(table.entityName)), ("records", .integer(table.count)),
        ("rejected", .integer(table.rejectedCount)),
      ])
    }
    try result.tell(
      report, of: imported.tables.map(\.file).joined(separator: ", "), into: into,
      verb: ("imported", "would import"), json: common.json,
      fields: [
        ("tables", .array(list)), ("joinTables", .array(joins)), ("problems", .array(imported.problems.map(\.json))),
      ])
  }
}
