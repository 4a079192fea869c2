import TestSupport

@testable import PostgreSQLStoreFormat

/// A program that does not use the kit, and writes into the tables of a store.
enum OtherProgram {
  /// - Parameters:
  ///   - statement: Names of columns are in quotes.
  ///   - path: A file, or the URL of a schema.
  static func run(_ statement: String, in path: String) throws {
    guard path.contains("://") else {
      _ = try ChildProcess.output(of: "sqlite3", [path, statement])
      return
    }
    let database = try PostgreSQLDatabase(url: path, isReadOnly: false)
    defer { database.close() }
    _ = try database.connect(mayCreate: false)
    try database.run(statement, [])
  }
}
