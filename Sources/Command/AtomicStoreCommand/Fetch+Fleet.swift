import AtomicStoreKit
import CommandSupport
import StoreCodecs

extension Fetch {
  /// Fetches from each store of a list.
  func fetchAll() throws {
    guard format == nil || format == .ndjson, output == nil, !explain else {
      throw CommandFailure(
        "with --files-from, each store is a line of JSON: --format, -o and --explain are for one store", exitCode: 64)
    }
    try checkArguments()
    let stores = try fleet.list(besides: path)
    let model = try source.loadCommonModel()
    try FleetRun(stores, json: common.json).run { _, store in
      let (coordinator, opened) = try source.open(store, commonModel: model, inParts: true) { readNeeds($0) }
      return FleetAnswer(.object([try answer(ManagedObjectContext(coordinator), opened.model)]))
    }
  }

  /// - Throws: A usage error for what is wrong for every store: it is reported once, before a store is read.
  private func checkArguments() throws {
    _ = try predicate.map { try Self.parse($0, "--where") }
    for (name, text) in [("--sort", sort), ("--group", group), ("--columns", columns)] {
      _ = try Self.list(text, name)
    }
    _ = try Self.list(reference, "--reference", hasEscapes: false)
    for (name, value) in [("--limit", limit), ("--offset", offset)] {
      if let value, value < 0 { throw CommandFailure("\(name) must be 0 or more, not \(value)", exitCode: 64) }
    }
  }

  /// The rows of one store, or with `--count` their number.
  private func answer(_ context: ManagedObjectContext, _ model: ManagedObjectModel) throws -> (String, JSONValue) {
    var request = try request(model)
    try select(&request, in: context.persistentStoreCoordinator, model)
    if count { return ("count", .integer(try countedRows(context, request, model))) }
    let names = try fetchColumns(model).map(\.name)
    try refuseTwice(names)
    let printer = RowPrinter(
      names, try rows(context, request, model), quotesDecimals: decimals == .string,
      undeclared: undeclaredNames(in: model))
    return ("rows", .array(try printer.jsonRows()))
  }
}
