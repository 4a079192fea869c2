import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import StoreCoordination
import Testing

@testable import AtomicStoreCommand

/// Rows of a database that are printed a part at a time.
@Suite("atomicstore fetch prints a database in parts") struct DatabaseRowTests {
  @Test("every format is to the byte what it is of all rows at once", arguments: ["Employee", "Department", "Project"])
  func formats(entity: String) throws {
    let folder = try Folder()
    try #require(try Command.run("convert", Command.company, "s.sqlgraph", in: folder.path).code == 0)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    let store = try coordinator.addPersistentStore(at: folder("s.sqlgraph"), isReadOnly: true)
    let context = ManagedObjectContext(coordinator)
    var request = FetchRequest<ManagedObject>(entityName: entity)
    let slots = try #require(store.model.entity(named: entity)).slots.filter { !$0.isToMany }
    request.propertiesToFetch =
      [FetchColumn("objectID", .evaluatedObject)] + slots.map { FetchColumn($0.name, .keyPath([$0.name])) }
    let names = request.propertiesToFetch.map(\.name)
    for predicate in [nil, "TRUEPREDICATE", "FALSEPREDICATE"] {
      request.predicate = try predicate.map { try FetchPredicate(format: $0) }
      let rows = try context.fetchedRows(request)
      for rowsAtOnce in [1, 2, 1000] {
        var (parts, count) = (0, 0)
        let printer = RowPrinter(names) { body in
          try context.forEachPart(of: request, rowsAtOnce: rowsAtOnce) { part in
            (parts, count) = (parts + 1, count + part.count)
            try body(part)
          }
        }
        func printed(_ printer: RowPrinter, _ print: (RowPrinter, ByteWriter) throws -> Void) throws -> String {
          let writer = ByteWriter()
          try print(printer, writer)
          return String(decoding: writer.takeBytes(), as: UTF8.self)
        }
        for print: (RowPrinter, ByteWriter) throws -> Void in [
          { try $0.csv(to: $1) }, { try $0.json(to: $1) }, { try $0.jsonLines(to: $1) }, { try $0.vertical(to: $1) },
          { try $0.table(to: $1, terminal: nil) },
        ] {
          (parts, count) = (0, 0)
          #expect(try printed(printer, print) == printed(RowPrinter(names, rows), print))
          // Few rows that fulfil a condition are found by the database.
          #expect(count % max(rows.count, 1) == 0 && (rowsAtOnce > 1 || predicate != nil || parts == count))
        }
      }
    }
  }

  /// Makes a database with more rows than are read at once, and than are kept before they are written.
  private func people(_ folder: borrowing Folder) throws {
    let result = try Command.shell(
      """
      (echo name,age; seq 9000 | sed 's/.*/person & \(String(repeating: ".", count: 150)),&/') > people.csv
      "$0" import Person=people.csv -o s.sqlgraph
      """, in: folder.path)
    try #require(result.code == 0, "\(result.errors)")
  }

  @Test("more rows than a part has are those of a file", arguments: ["csv", "ndjson", "json", "table", "vertical"])
  func manyRows(format: String) throws {
    let folder = try Folder()
    try people(folder)
    try #require(try Command.run("convert", "s.sqlgraph", "s.plist", in: folder.path).code == 0)
    for arguments in [
      [], ["--offset", "8190", "--limit", "5"], ["--where", "age > 500"], ["--where", "age > 9999"],
    ] {
      let outcomes = try ["s.sqlgraph", "s.plist"].map { store in
        try Command.run(
          arguments: ["fetch", store, "--entity", "Person", "--format", format] + arguments, in: folder.path)
      }
      #expect(outcomes[0].code == 0 && outcomes[0].output == outcomes[1].output)
      #expect(outcomes[0].errors == outcomes[1].errors)
    }
  }

  @Test(
    "a damaged row that comes late is the error that it is of a table, after the rows before it",
    .enabled(if: SQLiteProgram.path != nil, "needs the sqlite3 program"))
  func damaged() throws {
    let folder = try Folder()
    try people(folder)
    let result = try Command.shell(
      #"sqlite3 s.sqlgraph "UPDATE Person SET name = x'FF' WHERE age = 8500""#, in: folder.path)
    try #require(result.code == 0, "\(result.errors)")
    let fetch = ["fetch", "s.sqlgraph", "--entity", "Person"]
    let table = try Command.run(arguments: fetch, in: folder.path)
    #expect(table.code == 65 && table.output.isEmpty && table.errors.contains("8500"), "\(table.errors)")
    for format in ["csv", "ndjson", "json"] {
      let cut = try Command.run(arguments: fetch + ["--format", format], in: folder.path)
      #expect(cut.code == table.code && cut.errors == table.errors)
      // Whole rows, and fewer than there are before the damaged one.
      #expect(cut.output.contains("person 1") && !cut.output.contains("person 8499"))
      #expect(format == "json" ? !cut.output.hasSuffix("]\n") : cut.output.hasSuffix("\n"))
    }
  }

  @Test("a reader that has enough ends the output without an error")
  func closedPipe() throws {
    let folder = try Folder()
    try people(folder)
    let result = try Command.shell(
      """
      { "$0" fetch s.sqlgraph --entity Person --format csv; echo $? > code; } | head -n 2
      exit $(cat code)
      """, in: folder.path)
    #expect(result.code == 0 && result.errors.isEmpty && result.output.split(separator: "\n").count == 2)
  }
}
