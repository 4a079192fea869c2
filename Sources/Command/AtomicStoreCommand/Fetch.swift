import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials

struct Fetch: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "fetch",
    abstract: "Print the objects of a store that match a predicate.",
    discussion: """
        atomicstore fetch Company.xml --entity Employee --where "salary > 5000 AND department.name == 'Sales'" --sort -salary
        atomicstore fetch Company.xml --entity Employee --columns "name,department.name" --format csv
        atomicstore fetch Company.xml --entity Employee --group department.name --columns "department.name,sum:(salary),@count"
        atomicstore fetch Company.xml --entity Employee --group department.name --columns "department.name,sum:(salary) AS total" --sort -total --limit 3
        atomicstore fetch Company.xml --entity Employee --group "year:(hired)" --columns "year:(hired) AS year,@count" --sort year
        atomicstore fetch Company.xml --entity Employee --columns "name,kind:(photo),size:(photo)" --limit 3
        atomicstore fetch Company.xml --entity Employee --count

      The predicate is Core Data's format language, which 'atomicstore help predicates' describes. Columns are key paths
      or expressions. Without --columns all properties are printed, and first the object itself, as objectID. '*' among the columns
      stands for all of that, and 'salary * 12 AS yearly' names a column. Lists, such as to-many relationships, are JSON
      arrays in JSON and in CSV. With --format arrow the result is an Arrow stream, which data-analysis tools read. Its
      columns have the types of the model, whatever the rows; only how decimals and dates are written depends on the values:

        atomicstore fetch Company.xml --entity Employee --format arrow | python3 -c "import sys, pyarrow as pa; print(pa.ipc.open_stream(sys.stdin.buffer).read_all())"

      With --files-from, each store is a line of JSON, with its rows or, with --count, their number:

        find stores -name '*.xml' | atomicstore fetch --files-from - --entity Employee --where "salary > 5000"
      """)
  enum Format: String, ExpressibleByArgument, CaseIterable { case table, vertical, csv, json, ndjson, arrow }
  enum Decimals: String, ExpressibleByArgument, CaseIterable { case number, string }

  @Argument(help: ArgumentHelp("The store; - for standard input.", valueName: "store")) var path: String?
  @Option(help: "The entity; its sub-entities are included.", completion: Completions.entities) var entity: String
  @Flag(name: .customLong("no-subentities"), help: "Exclude sub-entities.") var excludesSubentities = false
  @Option(name: .customLong("where"), help: "The predicate.") var predicate: String?
  @Option(
    name: .customLong("reference"),
    help: "Only objects with these references, separated by commas, as check and diff print them: 12 or Employee/12.")
  var reference: String?
  @Option(
    name: .customLong("sort"), parsing: .unconditional,
    help:
      "Key paths or expressions to sort by, or names of columns, separated by commas; prefix - for descending order.",
    completion: Completions.keyPaths) var sort: String?
  @Option(parsing: .unconditional, help: "The maximum number of rows to print; 0 for none.") var limit: Int?
  @Option(parsing: .unconditional, help: "The number of rows to skip at the beginning.") var offset: Int?
  @Option(
    help: "Key paths or expressions, separated by commas, each with AS and a name if wanted. Default: '*', all.",
    completion: Completions.keyPaths)
  var columns: String?
  @Option(
    name: .customLong("group"),
    help: "Key paths or expressions to group by, separated by commas, each with AS and a name if wanted.",
    completion: Completions.keyPaths)
  var group: String?
  @Option(help: "A predicate for groups, on sums and counts.") var having: String?
  @Flag(help: "Show what binary data contains, as JSON: its kind, its content where it is recognized, and the bytes.")
  var decode = false
  @Flag(help: "Print each row once.") var distinct = false
  @Flag(help: "Print only the number of objects; with --distinct or --group, that of rows.") var count = false
  @Flag(help: "Print only how the objects are found: by columns, or one by one and why.") var explain =
    false
  @Option(help: "By default table, or JSON with --json. vertical has a line for each value.") var format: Format?
  @Option(
    name: [.customShort("o"), .customLong("output")],
    help: "The file to write, with --format arrow: an Arrow file, or a stream if its name ends with .arrows.")
  var output: String?
  @Flag(help: "Replace the output file.") var force = false
  @Flag(help: "The same as --format vertical.") var vertical = false
  @Option(help: "How decimals are written in JSON: number, with all digits, or string.") var decimals = Decimals.number
  @Option(
    name: .customLong("step-limit"),
    help:
      "The maximum number of steps for predicates and computed columns together. The default takes about ten seconds of processor time."
  )
  var stepLimit: Int?
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup var fleet: FleetOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      if fleet.isUsed { return try fetchAll() }
      let store = try fleet.onlyStore(path)
      let (coordinator, opened) = try source.open(store, inParts: true) { readNeeds($0) }
      MemoryUntilExit.keep(opened.nodes, opened.model)
      let context = ManagedObjectContext(coordinator)
      var request = try request(opened.model)
      try select(&request, in: coordinator, opened.model)
      if explain {
        if !count { request.propertiesToFetch = try fetchColumns(opened.model) }
        let explanation = try context.explain(request)
        let json: [(String, JSONValue)] = [
          ("method", .string(explanation.method.rawValue)), ("reason", explanation.reason.map { .string($0) } ?? .null),
        ]
        return try Diagnostics.put(common.json ? JSONValue.object(json).text + "\n" : "\(explanation)\n")
      }
      if count {
        let found = try countedRows(context, request, opened.model)
        return try Diagnostics.put(
          common.json ? JSONValue.object([("count", .integer(found))]).text + "\n" : "\(found)\n")
      }
      request.propertiesToFetch = try fetchColumns(opened.model)
      let format = try chosenFormat()
      guard format != .arrow else { return try writeArrow(context, request, opened) }
      guard output == nil else {
        throw CommandFailure(
          "-o writes Arrow files and needs --format arrow; other formats are written to standard output: "
            + "--format csv > FILE", exitCode: 64)
      }
      let names = request.propertiesToFetch.map(\.name)
      if format == .json || format == .ndjson { try refuseTwice(names) }
      let rows = try parts(context, request, opened.model, of: format)
      var count = 0
      let printer = RowPrinter(
        names, quotesDecimals: decimals == .string, undeclared: undeclaredNames(in: opened.model)
      ) { body in
        try rows { part in
          count += part.count
          try body(part)
        }
      }
      // Tables escape what a terminal would interpret themselves: colors are control sequences.
      try Diagnostics.stream(isFiltered: format != .table && format != .vertical) { writer in
        switch format {
        case .arrow: break
        case .table: try printer.table(to: writer, terminal: Diagnostics.terminalWidth)
        case .vertical: try printer.vertical(to: writer)
        case .csv: try printer.csv(to: writer)
        case .json: try printer.json(to: writer)
        case .ndjson: try printer.jsonLines(to: writer)
        }
      }
      // With JSON, the output shows it.
      if count == 0, limit != 0, offset ?? 0 == 0, !common.json {
        let missing = predicate == nil ? "no \(entity)" : "no \(entity) matches the predicate"
        Diagnostics.say("atomicstore: nothing matched: \(having == nil ? missing : "no group matches --having")")
      }
    }
  }

  /// - Throws: A usage error if two options name formats.
  private func chosenFormat() throws -> Format {
    guard vertical else {
      if let format, common.json, ![.json, .ndjson, .arrow].contains(format) {
        throw CommandFailure("--json prints JSON, and --format \(format.rawValue) does not: take one", exitCode: 64)
      }
      return format ?? (common.json ? .json : .table)
    }
    guard format == nil || format == .vertical, !common.json else {
      throw CommandFailure("--vertical is a format, and another one is specified", exitCode: 64)
    }
    return .vertical
  }

  /// The number of rows that would be printed; without grouping and `--distinct`, of objects.
  func countedRows(
    _ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>, _ model: ManagedObjectModel
  ) throws -> Int {
    // In a request, a limit of 0 means no limit: here it means no rows.
    guard distinct || group != nil else { return limit == 0 ? 0 : try context.count(for: request) }
    return try rows(context, request, model).count
  }

  /// The rows of one store. With `--limit 0` the request runs anyway, so that errors in columns are reported; in a
  /// request 0 means no limit.
  func rows(
    _ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>, _ model: ManagedObjectModel
  ) throws -> FetchedRows {
    var request = request
    request.propertiesToFetch = try fetchColumns(model)
    if limit == 0 { request.fetchLimit = 1 }
    let found = try context.fetchedRows(request)
    return limit == 0 ? .computed(ComputedRows([])) : found
  }

  /// The rows of one store for a printer: of a database a part at a time, where that is possible. A table asks for them
  /// twice, and they are of one moment.
  private func parts(
    _ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>, _ model: ManagedObjectModel,
    of format: Format
  ) throws -> RowPrinter.Rows {
    guard format == .table || limit == 0 else { return { try context.forEachPart(of: request, $0) } }
    let found = try rows(context, request, model)
    return { try $0(found) }
  }

  /// The properties to which the model gives no type.
  func undeclaredNames(in model: ManagedObjectModel) -> Set<String> {
    Set((model.entity(named: entity)?.slots ?? []).filter { $0.attributeType == .undefined }.map(\.name))
  }

  /// Refuses duplicate names, because a JSON object has each key only once.
  func refuseTwice(_ names: [String]) throws {
    var seen: Set<ScalarString> = []
    for name in names where !seen.insert(ScalarString(name)).inserted {
      throw CommandFailure("--columns: '\(name)' occurs twice, but JSON has each key only once", exitCode: 64)
    }
  }

  func request(_ model: ManagedObjectModel) throws -> FetchRequest<ManagedObject> {
    let known = try model.entity(asked: entity)
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.includesSubentities = !excludesSubentities
    request.predicate = try predicate.map { try Self.parse($0, "--where", for: known) }
    if let stepLimit {
      guard stepLimit > 0 else {
        throw CommandFailure("--step-limit must be 1 or more, not \(stepLimit)", exitCode: 64)
      }
      request.stepLimit = stepLimit
    }
    for (name, value) in [("--limit", limit), ("--offset", offset)] {
      if let value, value < 0 { throw CommandFailure("\(name) must be 0 or more, not \(value)", exitCode: 64) }
    }
    request.fetchLimit = limit ?? 0
    request.fetchOffset = offset ?? 0
    request.propertiesToGroupBy = try groupColumns(known)
    request.havingPredicate = try having.map { text in
      try Self.reading("--having") { () throws(PredicateFormatError) in
        try FetchPredicate(format: text, forGroupsOf: known, by: request.propertiesToGroupBy.map(\.expression))
      }
    }
    guard having == nil || group != nil else {
      throw CommandFailure("--having selects groups: it needs --group", exitCode: 64)
    }
    try sort(&request, model, known)
    request.returnsDistinctResults = distinct
    return request
  }

  /// Sorts the rows if a key is the name of a computed column, as SQL does, and the objects otherwise.
  private func sort(_ request: inout FetchRequest<ManagedObject>, _ model: ManagedObjectModel, _ entity: Entity) throws
  {
    let keys = try Self.list(sort, "--sort").map { text in
      let isAscending = !text.hasPrefix("-")
      return (text: isAscending ? text : String(text.dropFirst()), isAscending: isAscending)
    }
    guard !keys.isEmpty else { return }
    let columns = try fetchColumns(model)
    /// What to sort by, and whether that is a column.
    let sorted = try keys.map { key -> (column: FetchColumn, isColumn: Bool) in
      if let column = columns.first(where: { $0.name.utf8.elementsEqual(key.text.utf8) }) { return (column, true) }
      let column = try Self.column(key.text, nil, "--sort", entity)
      return (column, columns.contains(column))
    }
    let isOfRows = sorted.contains { Self.isOfRows($0.column, isColumn: $0.isColumn) }
    let groupKeys = request.propertiesToGroupBy.map(\.expression)
    for (key, found) in zip(keys, sorted) where !(isOfRows && found.isColumn) {
      guard found.column.expression.keys != nil || found.column.expression == .evaluatedObject else { continue }
      guard groupKeys.isEmpty || groupKeys.contains(found.column.expression) else {
        throw CommandFailure(
          "--sort: '\(key.text)' is not one value in a group: sort by keys of --group, or by columns", exitCode: 64)
      }
      // A count sorts nothing, and would not find out.
      guard groupKeys.isEmpty, let values = found.column.expression.valuesWithoutOrder(of: entity) else { continue }
      throw CommandFailure("--sort: cannot sort by '\(key.text)': it leads to \(values)", exitCode: 64)
    }
    let sortKeys = zip(keys, sorted).map { key, found in
      let expression = found.column.expression
      let text =
        isOfRows
        ? found.isColumn ? found.column.name : "\(expression)"
        : expression.keys.map(FetchExpression.text(ofKeys:)) ?? "\(expression)"
      return SortKey(text, isAscending: key.isAscending)
    }
    if isOfRows { request.rowSortKeys = sortKeys } else { request.sortKeys = sortKeys }
  }

  /// Whether what is sorted by is not a property of the objects themselves, but a value that is computed for each row.
  private static func isOfRows(_ column: FetchColumn, isColumn: Bool) -> Bool {
    if column.expression == .evaluatedObject { return false }
    guard let path = column.expression.keys else { return true }
    // `@count` is its own name.
    return isColumn && (path.contains { $0.hasPrefix("@") } || path.joined(separator: ".") != column.name)
  }

  private static func failure(
    _ error: PredicateFormatError, _ text: String, _ option: String, _ entity: Entity
  ) -> CommandFailure {
    // The text itself cannot be parsed.
    if !error.format.isEmpty { return CommandFailure(error, of: option) }
    let message = "\(option): '\(text)': \(error.message)" + (error.suggestion.map { "; \($0)" } ?? "")
    return CommandFailure(
      message, exitCode: 64,
      details: .object([
        ("code", .string("invalidFetch")), ("message", .string(message)), ("option", .string(option)),
        ("entity", .string(entity.name)),
      ]))
  }

  /// A key path of the entity, or else an expression.
  static func column(_ text: String, _ name: String?, _ option: String, _ entity: Entity) throws -> FetchColumn {
    do throws(PredicateFormatError) {
      return try FetchColumn(keyPathOrFormat: text, as: name, for: entity)
    } catch {
      throw failure(error, text, option, entity)
    }
  }

  /// - Parameter entity: The entity that the predicate is evaluated on, if known: keys and comparisons are then checked
  ///   too.
  static func parse(_ text: String, _ option: String, for entity: Entity? = nil) throws -> FetchPredicate {
    try reading(option) { () throws(PredicateFormatError) in
      guard let entity else { return try FetchPredicate(format: text) }
      return try FetchPredicate(format: text, for: entity)
    }
  }

  static func reading<Result>(_ option: String, _ body: () throws(PredicateFormatError) -> Result) throws
    -> Result
  {
    do throws(PredicateFormatError) { return try body() } catch { throw CommandFailure(error, of: option) }
  }
}
