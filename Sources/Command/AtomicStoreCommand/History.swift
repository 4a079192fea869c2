import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs
import StoreCoordination

struct History: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "List who changed which objects when, as far as the store records it.",
    discussion: """
        atomicstore history App.sqlite
        atomicstore history App.sqlite --entity Note --since 2026-01-01 --author Ada
        atomicstore history App.sqlite --json | jq '.[] | select(.change == "delete")'
        atomicstore history App.sqlite --system

      Core Data's SQLite stores have a persistent history if the application asked for it; SQLiteGraph and PostgreSQL
      always have one. Other stores have none, and the list is empty. Of a deleted object, the values are left that the
      model preserves after deletion. Without the store's model, properties are listed as bits.

      --json prints an array with an object for each change: time, author, context, bundle, process, entity, reference,
      change (insert, update or delete), properties, tombstone. What is not known is null.
      """)

  @Argument(help: ArgumentHelp("The store; - for standard input.", valueName: "store")) var path: String
  @Option(
    help: "Only changes of this entity; its sub-entities are included. May be repeated.",
    completion: Completions.entities) var entity: [String] = []
  @Option(help: "Only changes that this author saved. May be repeated.") var author: [String] = []
  @Option(help: "Only what was saved at this time or later: ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z.")
  var since: String?
  @Option(help: "Only what was saved before this time.") var until: String?
  @Flag(help: "Print the tables of a CoreDataSQLite store that hold nothing of its objects, such as those of CloudKit.")
  var system = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let first = try since.map { try Self.date($0, "--since") }
      let end = try until.map { try Self.date($0, "--until") }
      guard !system || entity.isEmpty && author.isEmpty && first == nil && end == nil else {
        throw CommandFailure("--system prints whole tables: --entity, --author and times do not apply", exitCode: 64)
      }
      try InstalledFormats.check(type: source.from)
      let input = try Input.path(for: path)
      let options = try source.options()
      let model = try source.loadModel(for: path)
      if system {
        let tables = try readingTwice {
          try PersistentStoreCoordinator.systemTablesOfPersistentStore(
            type: source.from, at: input, options: options, model: model, registry: InstalledFormats.registry)
        }
        return try common.json ? printJSON(tables) : printText(tables)
      }
      let names = try entityNames(input, options, model)
      var transactions = try readingTwice {
        try PersistentStoreCoordinator.historyOfPersistentStore(
          type: source.from, at: input, options: options, model: model, registry: InstalledFormats.registry)
      }
      if let first { transactions.removeAll { $0.date < first } }
      if let end { transactions.removeAll { $0.date >= end } }
      if !author.isEmpty {
        let authors = Set(author.map { ScalarString($0) })
        transactions.removeAll { transaction in
          !(transaction.author.map { authors.contains(ScalarString($0)) } ?? false)
        }
      }
      if let names {
        for index in transactions.indices {
          transactions[index].changes.removeAll { !names.contains(ScalarString($0.object.entityName)) }
        }
        transactions.removeAll(where: \.changes.isEmpty)
      }
      try common.json ? printJSON(transactions) : printText(transactions)
    }
  }

  private static func date(_ text: String, _ option: String) throws -> Date {
    guard let date = DateText.date(text) else {
      throw CommandFailure(
        "\(option): '\(text)' is not a time in ISO 8601, such as 2026-01-31 or 2026-01-31T12:00:00Z", exitCode: 64)
    }
    return date
  }

  /// The wanted entities and their sub-entities; nil for all.
  private func entityNames(
    _ input: String, _ options: StoreOptions, _ model: ManagedObjectModel?
  ) throws -> Set<ScalarString>? {
    guard !entity.isEmpty else { return nil }
    let known =
      try model
      ?? PersistentStoreCoordinator.metadataAndModelForPersistentStore(
        type: source.from, at: input, options: options, registry: InstalledFormats.registry
      ).model
    var names: Set<ScalarString> = []
    for name in entity {
      let asked = try known.entity(asked: name)
      for other in known.entities where other.isKindOf(entity: asked) { names.insert(ScalarString(other.name)) }
    }
    return names
  }

  // MARK: Transactions

  private func printText(_ transactions: [HistoryTransaction]) throws {
    try Diagnostics.stream { writer in
      for (index, transaction) in transactions.enumerated() {
        writer.append(index == 0 ? "" : "\n")
        writer.append(DateText.exactText(transaction.date))
        for (title, text) in [
          ("author", transaction.author), ("context", transaction.contextName), ("bundle", transaction.bundleID),
          ("process", transaction.processID),
        ] {
          if let text { writer.append("  \(title) \(Dump.name(text))") }
        }
        writer.append("\n")
        for change in transaction.changes {
          let reference = Dump.name(change.object.reference.description)
          var line = "  \(change.kind.rawValue)  \(Dump.name(change.object.entityName))/\(reference)"
          if !change.properties.isEmpty {
            line += "  " + change.properties.map { Dump.name($0) }.joined(separator: ", ")
          }
          let kept = (change.tombstone ?? [:]).sorted { ScalarString($0.key) < ScalarString($1.key) }
          if !kept.isEmpty {
            line +=
              "  had "
              + kept.map { "\(Dump.name($0.key)): \(GraphComparison.fullText($0.value))" }.joined(separator: ", ")
          }
          writer.append(line + "\n")
          try writer.flushIfNeeded()
        }
      }
    }
  }

  private func printJSON(_ transactions: [HistoryTransaction]) throws {
    func text(_ text: String?) -> JSONValue { text.map { .string($0) } ?? .null }
    try Diagnostics.stream { writer in
      var count = 0
      writer.append("[")
      for transaction in transactions {
        for change in transaction.changes {
          JSONValue.begin(count, to: writer, indent: 0)
          count += 1
          let kept = change.tombstone.map { values in
            JSONValue.object(
              values.sorted { ScalarString($0.key) < ScalarString($1.key) }.map { ($0.key, $0.value.json()) })
          }
          JSONValue.object([
            ("time", .date(transaction.date)), ("author", text(transaction.author)),
            ("context", text(transaction.contextName)), ("bundle", text(transaction.bundleID)),
            ("process", text(transaction.processID)), ("entity", .string(change.object.entityName)),
            ("reference", change.object.reference.json), ("change", .string(change.kind.rawValue)),
            ("properties", .array(change.properties.map { .string($0) })), ("tombstone", kept ?? .null),
          ]).write(to: writer, indent: 1)
          try writer.flushIfNeeded()
        }
      }
      JSONValue.end(count == 0, to: writer, indent: 0)
      writer.append("]\n")
    }
  }

  // MARK: Tables

  private func printText(_ tables: [SystemTable]) throws {
    try Diagnostics.stream { writer in
      for (index, table) in tables.enumerated() {
        writer.append(
          "\(index == 0 ? "" : "\n")\(Dump.name(table.name)): \(Diagnostics.count(table.rows.count, "row"))\n")
        for row in table.rows {
          writer.append(
            "  " + row.map { "\(Dump.name($0.column)): \(GraphComparison.fullText($0.value))" }.joined(separator: ", ")
              + "\n")
          try writer.flushIfNeeded()
        }
      }
    }
  }

  private func printJSON(_ tables: [SystemTable]) throws {
    try Diagnostics.stream { writer in
      writer.append("[")
      for (index, table) in tables.enumerated() {
        JSONValue.begin(index, to: writer, indent: 0)
        JSONValue.object([
          ("table", .string(table.name)), ("columns", .array(table.columns.map { .string($0) })),
          (
            "rows",
            .array(table.rows.map { row in .object(row.map { ($0.column, $0.value.json(isDeclared: false)) }) })
          ),
        ]).write(to: writer, indent: 1)
        try writer.flushIfNeeded()
      }
      JSONValue.end(tables.isEmpty, to: writer, indent: 0)
      writer.append("]\n")
    }
  }
}
