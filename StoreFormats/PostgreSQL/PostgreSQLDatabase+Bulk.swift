public import AtomicStoreSPI
import CPostgreSQL
public import StoreSQL

/// Many rows at a time.
extension PostgreSQLDatabase {
  /// In parts, so that a whole table does not have to be in memory twice.
  public func stream(
    _ sql: String, _ body: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    guard isInTransaction else { return try query(sql, [], body) }
    let name = "atomicstore_cursor_\(cursors)"
    cursors += 1
    try execute("DECLARE \(name) NO SCROLL CURSOR FOR \(PostgreSQLText.statement(sql))")
    // As many rows at a time as fit into a few megabytes.
    var wanted = 100
    while true {
      let connection = try opened()
      let fetch = "FETCH FORWARD \(wanted) FROM \(name)"
      try inspect(fetch)
      let result = try checked(PQexecParams(connection, fetch, 0, nil, nil, nil, nil, 1), connection)
      defer { PQclear(result) }
      let count = PQntuples(result)
      for row in 0..<count { try body(PostgreSQLRow(result, row)) }
      if count < wanted { break }
      let size = PQresultMemorySize(result)
      if size > 4 << 20 { wanted = max(1, wanted / 2) } else if size < 1 << 20 { wanted = min(5000, wanted * 2) }
    }
    try execute("CLOSE \(name)")
  }

  public func copyOut(
    _ sql: String, columns: [SQLType], _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool {
    guard isInTransaction, hasCopyOut == true else { return false }
    try checkTypes(sql, columns)
    let connection = try opened()
    let statement = "COPY (\(PostgreSQLText.statement(sql))) TO STDOUT BINARY"
    try inspect(statement)
    let result = PQexec(connection, statement)
    defer { PQclear(result) }
    try check(result, connection)
    var failure: PersistentStoreError?
    var size: Int32 = 0
    while true {
      var part: UnsafeMutablePointer<CChar>?
      size = PQgetCopyData(connection, &part, 0)
      guard size > 0, let part else { break }
      defer { PQfreemem(part) }
      // After an error the rest is skipped: the connection goes on then.
      guard failure == nil else { continue }
      do throws(PersistentStoreError) { try body(UnsafeRawBufferPointer(start: part, count: Int(size))) } catch {
        failure = error
        guard error.code == .cancelled else { continue }
        // The rest may be most of a large table. The next statement connects again.
        close()
        throw error
      }
    }
    try end(connection, failure)
    return true
  }

  /// Finds out whether the server gives rows in binary form. Outside of a transaction, which an error would end.
  func askForCopyOut() throws(PersistentStoreError) {
    guard hasCopyOut == nil else { return }
    let connection = try opened()
    let statement = "COPY (SELECT 1) TO STDOUT BINARY"
    try inspect(statement)
    let result = PQexec(connection, statement)
    defer { PQclear(result) }
    // CockroachDB: "unimplemented".
    if cpostgres_state(result).map({ String(cString: $0) }) == "0A000" {
      hasCopyOut = false
      return
    }
    try check(result, connection)
    var part: UnsafeMutablePointer<CChar>?
    while PQgetCopyData(connection, &part, 0) > 0 { PQfreemem(part) }
    try end(connection, nil)
    hasCopyOut = true
  }

  /// Refuses a query with columns of other types: a table may have been altered.
  private func checkTypes(_ sql: String, _ columns: [SQLType]) throws(PersistentStoreError) {
    let connection = try opened()
    let statement = PostgreSQLText.statement(sql) + " LIMIT 0"
    try inspect(statement)
    // Not a statement that the server has parsed before: the table may have been another one then.
    let found = try checked(PQexecParams(connection, statement, 0, nil, nil, nil, nil, 1), connection)
    defer { PQclear(found) }
    for (index, type) in columns.enumerated() where !PostgreSQLType.is(PQftype(found, Int32(index)), type) {
      let name = PQfname(found, Int32(index)).map { String(cString: $0) } ?? ""
      throw PersistentStoreError(
        .malformed,
        "the column '\(name)' is of another type than \(Self.dialect.name(of: type)): restore it, or convert a backup")
    }
  }

  public func copyIn(
    into table: String, columns: [String],
    _ body: ((UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool {
    let connection = try opened()
    let names = columns.map { PostgreSQLText.quoted($0) }.joined(separator: ", ")
    try execute("COPY \(PostgreSQLText.quoted(table)) (\(names)) FROM STDIN BINARY")
    do throws(PersistentStoreError) {
      try body { part throws(PersistentStoreError) in try self.send(part, connection) }
    } catch {
      PQputCopyEnd(connection, "the writer failed")
      while let result = PQgetResult(connection) { PQclear(result) }
      throw error
    }
    PQputCopyEnd(connection, nil)
    try end(connection, nil)
    return true
  }

  /// Reads what the server says at the end of a COPY.
  private func end(_ connection: OpaquePointer, _ failure: PersistentStoreError?) throws(PersistentStoreError) {
    var failure = failure
    while let result = PQgetResult(connection) {
      defer { PQclear(result) }
      let status = PQresultStatus(result)
      if status == PGRES_COPY_OUT || status == PGRES_COPY_IN {
        // libpq gave up in the middle, as without memory for a row: the connection would say so forever.
        let said = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        close()
        throw failure
          ?? PersistentStoreError(.limitExceeded, "PostgreSQL: COPY was cut off: \(PostgreSQLText.oneLine(said))")
      }
      do throws(PersistentStoreError) { try check(result, connection) } catch {
        failure = failure ?? error
        // The connection is closed then, and has no further results.
        if !isOpen { break }
      }
    }
    if let failure { throw failure }
  }

  private func send(_ bytes: UnsafeRawBufferPointer, _ connection: OpaquePointer) throws(PersistentStoreError) {
    // A value can be larger than what libpq takes at once.
    var start = 0
    while start < bytes.count {
      let part = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + 1 << 24, bytes.count)])
      guard PQputCopyData(connection, part.bindMemory(to: CChar.self).baseAddress, Int32(part.count)) == 1 else {
        throw PersistentStoreError(.retry, "PostgreSQL: the connection was lost while rows were sent")
      }
      start += part.count
    }
  }
}
