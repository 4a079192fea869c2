import ArgumentParser
import AtomicStoreKit
import CommandSupport
import Glibc
import StoreCoordination
import StoreMaintenance

struct Tables: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "tables",
    abstract: "Write a store as relational tables with keys, for databases and data-analysis tools.",
    discussion: """
        atomicstore tables lib.xml -o tables
        duckdb -c "SELECT a.fullName, b.title FROM 'tables/Book.csv' b JOIN 'tables/Author.csv' a ON b.author = a.id"
        atomicstore import tables -o lib2.xml

      Each entity is a table, together with its sub-entities: then the column entity names the entity of each row,
      and columns of the others are null. The key is the column id; if a property has that name, reference in CSV,
      where names are compared without case, and objectID in Arrow, followed by _ if that is taken too. A to-one is a
      column with keys of the other table. A to-many that follows from a to-one is not written; any other is a table
      ENTITY_RELATIONSHIP with the columns owner and member, and position where it has an order. Where properties of two
      sub-entities have one name, but not one type, the second is called ENTITY_PROPERTY.

      'import FOLDER -o STORE' makes the store again: its references, its UUID, its metadata and its model are in
      metadata.plist. Tables that another program changed are imported, too, CSV with --read-option edited=accept. Have
      the program read all columns of CSV as texts: if it infers types, 007 becomes 7. The article 'Importing tables,
      checking stores' has the options of DuckDB and pandas that keep all values.

      Before anything is written, the tables are made a store again in memory, which must be equal.
      """)
  @Argument(help: "The store; - for standard input.") var store: String
  @Option(name: [.customShort("o"), .customLong("output")], help: "The directory to create.", completion: .directory)
  var output: String
  @Option(help: "csv or arrow.") var format: Form = .csv
  @Option(
    name: .customLong("write-option"),
    help: "An option of CSV files, such as delimiter=semicolon, name=value. May be repeated.",
    completion: Completions.writeOptions)
  var writeOptions: [String] = []
  @Flag(help: "Replace tables that are there.") var force = false
  @Flag(name: .customLong("allow-loss"), help: "Write the tables even if something of the store is not in them.")
  var allowLoss = false
  @Flag(name: .customLong("dry-run"), help: "Do everything except publishing the result.") var dryRun = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  enum Form: String, ExpressibleByArgument, CaseIterable {
    case csv, arrow

    var storeType: String {
      switch self {
      case .csv: "CSV"
      case .arrow: "Arrow"
      }
    }
  }

  func run() throws {
    try guarded(common) {
      guard output != "-" else {
        throw CommandFailure(
          "the tables are several files: -o names a directory; 'fetch --entity NAME --format arrow' writes one table to standard output",
          exitCode: 64)
      }
      let (coordinator, opened) = try source.open(store)
      defer { withExtendedLifetime(coordinator) {} }
      let nodes = try opened.nodesWithDeferredValues()
      let form = try RelationalForm(nodes.model)
      let tables = try StoreSnapshot(nodes: nodes, metadata: opened.metadata).asTables(form)
      let bar = ProgressBar()
      defer { bar.clear() }
      var converter = try converter()
      converter.limitsPermissions = !Input.isStaged(opened.path)
      converter.progress = { bar.show($0) }
      let report = try converter.write(tables, to: output, describedAs: opened.type, madeOf: [opened])
      bar.clear()
      try tell(report, form, tables.nodes)
    }
  }

  private func converter() throws -> StoreConverter {
    var converter = StoreConverter(registry: InstalledFormats.registry)
    converter.targetType = format.storeType
    var options = try parseOptions(writeOptions)
    for name in ["layout", "entity"] where options[name] != nil {
      throw CommandFailure(
        "--write-option \(name) is for one CSV file, and 'tables' writes a directory: 'fetch --entity NAME --format csv' writes one table",
        exitCode: 64)
    }
    if format == .csv {
      // Also without an extension, or with that of a file, it is a directory.
      options["layout"] = "folder"
      if options["headers"] == nil { options["headers"] = "plain" }
    }
    converter.writeOptions = options
    converter.replacesTarget = force
    converter.allowsLoss = allowLoss
    converter.isDryRun = dryRun
    return converter
  }

  private func tell(_ report: StoreConverter.Report, _ form: RelationalForm, _ tables: NodeTable) throws {
    guard common.json else {
      for loss in report.losses { Diagnostics.say(loss.reportLine) }
      guard dryRun || isatty(STDERR_FILENO) == 1 else { return }
      return Diagnostics.say(
        "\(dryRun ? "would write" : "wrote") \(Input.shown(store)) to \(Input.shown(output)): "
          + "\(Diagnostics.count(form.roots.count + form.joins.count, "table")), "
          + Diagnostics.count(tables.count, "row"))
    }
    let list = form.roots.map { json($0, form, tables) } + form.joins.map { json($0, tables) }
    let fields = [("target", JSONValue.string(Input.shown(output)))] + report.jsonFields + [("tables", .array(list))]
    try Diagnostics.put(JSONValue.object(fields).text + "\n")
  }

  /// A table of objects: with the columns of each entity, by property, since they may have other names.
  private func json(_ root: RelationalForm.RootTable, _ form: RelationalForm, _ tables: NodeTable) -> JSONValue {
    let entities = root.entity.hierarchy.map { entity -> JSONValue in
      let columns = entity.slots.compactMap { slot in
        form.column(slot, of: entity).map { (slot.name, JSONValue.string($0)) }
      }
      return .object([
        ("entity", .string(entity.name)), ("superentity", entity.superentity.map { .string($0.name) } ?? .null),
        ("isAbstract", .boolean(entity.isAbstract)), ("columns", .object(columns)),
      ])
    }
    return .object(
      Self.fields(of: root.table, tables) + [
        ("entityColumn", root.entityName.map { .string($0.name) } ?? .null), ("entities", .array(entities)),
      ])
  }

  private func json(_ join: RelationalForm.JoinTable, _ tables: NodeTable) -> JSONValue {
    .object(
      Self.fields(of: join.table, tables) + [
        ("relationship", .string("\(join.entity.name).\(join.relationship.name)"))
      ])
  }

  private static func fields(of table: Entity, _ tables: NodeTable) -> [(String, JSONValue)] {
    let keys = table.slots.compactMap { slot in
      slot.destination.map { (slot.name, JSONValue.string(table.model.entity(at: $0).name)) }
    }
    return [
      ("table", .string(table.name)), ("rows", .integer(tables.count(of: table.index))),
      ("columns", .array(table.slots.map { .string($0.name) })), ("foreignKeys", .object(keys)),
    ]
  }
}
