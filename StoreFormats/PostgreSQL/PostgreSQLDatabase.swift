public import AtomicStoreSPI
import CPostgreSQL
import FoundationEssentials
import Glibc
public import StoreSQL
import Synchronization

/// A connection to a server.
///
/// `@unchecked Sendable`: the kit calls a store by one caller at a time, under a lock, and the connection belongs to
/// one store.
public final class PostgreSQLDatabase: SQLDatabase, @unchecked Sendable {
  public static let dialect: SQLDialect = {
    var dialect = SQLDialect(isSQLite: false, retries: 100)
    dialect.systemColumns = ["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]
    return dialect
  }()

  private let url: String
  private let schema: String
  private let isReadOnly: Bool
  private var connection: OpaquePointer?
  /// How many connections were made.
  private var connectionCount = 0
  /// Statements that the server has parsed, by their text and the types of their parameters.
  private var prepared: [String: String] = [:]
  var isInTransaction = false
  private var hasSchema = false
  /// How many cursors there have been.
  var cursors = 0
  /// Whether the server gives rows in binary form, which not all servers do; nil before it was asked.
  var hasCopyOut: Bool?

  init(url: String, isReadOnly: Bool) throws(PersistentStoreError) {
    (self.url, schema) = try Self.parts(of: url)
    self.isReadOnly = isReadOnly
  }

  deinit { close() }

  private var quotedSchema: String { PostgreSQLText.quoted(schema) }

  // MARK: Connection

  public func connect(mayCreate: Bool) throws(PersistentStoreError) -> Bool {
    if connection == nil { try open() }
    if mayCreate, !hasSchema {
      // Who may use a schema need not have the right to create one.
      try query("SELECT 1 FROM pg_namespace WHERE nspname = ?1", [.text(schema)]) { _ in hasSchema = true }
      if !hasSchema { try execute("CREATE SCHEMA IF NOT EXISTS \(quotedSchema)") }
      hasSchema = true
    }
    return true
  }

  private func open() throws(PersistentStoreError) {
    close()
    if let problem = cpostgres_unavailable() {
      throw PersistentStoreError(.unavailable, "PostgreSQL: \(String(cString: problem))")
    }
    // Of a URL that libpq does not understand, its message shows parts, and these may be of a password.
    var message: UnsafeMutablePointer<CChar>?
    let options = PQconninfoParse(url, &message)
    PQfreemem(message)
    guard options != nil else { throw Self.invalidURL }
    PQconninfoFree(options)
    let made = PQconnectdb(url)
    guard let made, PQstatus(made) == CONNECTION_OK else {
      let said = made.flatMap { PQerrorMessage($0) }.map { String(cString: $0) } ?? "no memory"
      PQfinish(made)
      throw PersistentStoreError(Self.connectionCode(said), "PostgreSQL: \(PostgreSQLText.oneLine(said))")
    }
    connection = made
    connectionCount += 1
    cpostgres_silence(made)
    PQsetClientEncoding(made, "UTF8")
    try execute("SET search_path TO \(quotedSchema)")
    if isReadOnly { try execute("SET default_transaction_read_only = on") }
  }

  private static func connectionCode(_ said: String) -> PersistentStoreError.Code {
    if said.contains("timeout expired") { return .timedOut }
    if said.hasPrefix("invalid ") { return .invalidOption }
    for word in ["authentication failed", "no password supplied", "no pg_hba.conf entry", "role \""]
    where said.contains(word) {
      return .notAuthorized
    }
    return said.contains("database \"") && said.contains("\" does not exist") ? .notFound : .unavailable
  }

  /// Whether there is a connection.
  var isOpen: Bool { connection != nil }

  public func close() {
    PQfinish(connection)
    connection = nil
    prepared = [:]
    isInTransaction = false
  }

  func opened() throws(PersistentStoreError) -> OpaquePointer {
    if let connection { return connection }
    try open()
    guard let connection else { throw PersistentStoreError(.unavailable, "PostgreSQL: there is no connection") }
    return connection
  }

  /// Looks at each statement before it is sent, and may refuse it. For tests: which statements there are is part of
  /// the format.
  ///
  /// It stays for as long as the process does. A mutex would not do: what it knows of its thread is wrong in the copies
  /// of a process that checks run in.
  static func inspect(with body: @escaping @Sendable (String) throws(PersistentStoreError) -> Void) {
    inspector.store(.passRetained(Inspector(body)), ordering: .releasing)
  }

  private final class Inspector: Sendable {
    let body: @Sendable (String) throws(PersistentStoreError) -> Void

    init(_ body: @escaping @Sendable (String) throws(PersistentStoreError) -> Void) { self.body = body }
  }
  private static let inspector = Atomic<Unmanaged<Inspector>?>(nil)

  func inspect(_ sql: String) throws(PersistentStoreError) {
    guard let inspector = Self.inspector.load(ordering: .acquiring) else { return }
    try inspector.takeUnretainedValue().body(sql)
  }

  func execute(_ sql: String) throws(PersistentStoreError) {
    try inspect(sql)
    let connection = try opened()
    let result = PQexec(connection, sql)
    defer { PQclear(result) }
    try check(result, connection)
  }

  /// How often something is repeated whose connection is cut.
  private static let mostCuts = 5

  /// Does something outside of a transaction, and again on a new connection each time that one is cut: a server ends
  /// those that no one has used for long, and all of them when it restarts. A server that cannot be reached is an
  /// error at once.
  private func reconnecting<Result>(
    _ body: () throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    var cuts = 0
    while true {
      let known = connection == nil ? connectionCount : connectionCount - 1
      do throws(PersistentStoreError) { return try body() } catch {
        let isCut = connection == nil && connectionCount > known
        guard isCut, !isInTransaction, error.code == .unavailable, cuts < Self.mostCuts else { throw error }
        cuts += 1
      }
    }
  }

  /// The error of a result, if it is one. A lost connection ends a transaction, which can be repeated.
  func check(_ result: OpaquePointer?, _ connection: OpaquePointer) throws(PersistentStoreError) {
    switch PQresultStatus(result) {
    case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_COPY_IN, PGRES_COPY_OUT: return
    default: break
    }
    let said = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
    let state = cpostgres_state(result).map { String(cString: $0) } ?? ""
    if PQstatus(connection) != CONNECTION_OK {
      let wasInTransaction = isInTransaction
      close()
      throw PersistentStoreError(
        wasInTransaction ? .retry : .unavailable, "PostgreSQL: the connection was lost: \(PostgreSQLText.oneLine(said))"
      )
    }
    throw PersistentStoreError(Self.code(state), "PostgreSQL: \(PostgreSQLText.oneLine(said)) (\(state))")
  }

  static func code(_ state: String) -> PersistentStoreError.Code {
    switch state {
    case "40001", "40P01": .retry
    case "23505": .duplicateReference
    case "23502": .invalidValue
    case "57014", "55P03": .timedOut
    case "53100": .noSpace
    case "25006": .readOnly
    case "42501": .notAuthorized
    case "3D000", "3F000": .notFound
    case "42939": .invalidOption
    default:
      if state.hasPrefix("28") {
        .notAuthorized
      } else if state.hasPrefix("08") || state.hasPrefix("57P") {
        .unavailable
      } else if state.hasPrefix("53") || state.hasPrefix("54") {
        .limitExceeded
      } else {
        .malformed
      }
    }
  }

  public func hasTable(_ name: String) throws(PersistentStoreError) -> Bool {
    var isThere = false
    try query(
      "SELECT 1 FROM information_schema.tables WHERE table_schema = ?1 AND table_name = ?2",
      [.text(schema), .text(name)]
    ) { _ in isThere = true }
    return isThere
  }

  // MARK: Statements

  /// Executes a statement.
  private func result(_ sql: String, _ values: [SQLValue]) throws(PersistentStoreError) -> OpaquePointer? {
    if isInTransaction { return try resultOnce(sql, values) }
    return try reconnecting { () throws(PersistentStoreError) in try resultOnce(sql, values) }
  }

  /// Executes a statement that the server parses once.
  private func resultOnce(_ sql: String, _ values: [SQLValue]) throws(PersistentStoreError) -> OpaquePointer? {
    try inspect(sql)
    let parameters = try PostgreSQLParameters(values)
    let connection = try opened()
    let key = sql + "\0" + parameters.types.map(String.init).joined(separator: ",")
    if prepared[key] == nil, prepared.count >= Self.mostStatements { forgetStatements(of: connection) }
    guard prepared[key] != nil || Self.isReusable(sql) && prepared.count < Self.mostStatements else {
      let result = parameters.withPointers { count, values, lengths, formats in
        PQexecParams(connection, PostgreSQLText.statement(sql), count, parameters.types, values, lengths, formats, 1)
      }
      return try checked(result, connection)
    }
    let name: String
    if let known = prepared[key] {
      name = known
    } else {
      name = "s\(prepared.count)"
      let made = PQprepare(
        connection, name, PostgreSQLText.statement(sql), Int32(values.count), parameters.types)
      defer { PQclear(made) }
      try check(made, connection)
      prepared[key] = name
    }
    let result = parameters.withPointers { count, values, lengths, formats in
      PQexecPrepared(connection, name, count, values, lengths, formats, 1)
    }
    return try checked(result, connection)
  }

  /// As many as a program has different requests; those with other limits or lists are used once.
  private static let mostStatements = 300

  /// Begins again with statements that the server keeps, so that those which are used once do not fill it. In a
  /// transaction that failed the server refuses to.
  private func forgetStatements(of connection: OpaquePointer) {
    let result = PQexec(connection, "DEALLOCATE ALL")
    defer { PQclear(result) }
    if PQresultStatus(result) == PGRES_COMMAND_OK { prepared = [:] }
  }

  func checked(_ result: OpaquePointer?, _ connection: OpaquePointer) throws(PersistentStoreError)
    -> OpaquePointer?
  {
    do throws(PersistentStoreError) { try check(result, connection) } catch {
      PQclear(result)
      throw error
    }
    return result
  }

  @discardableResult
  public func run(_ sql: String, _ values: [SQLValue]) throws(PersistentStoreError) -> Int {
    let result = try result(sql, values)
    defer { PQclear(result) }
    return PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0
  }

  public func query(
    _ sql: String, _ values: [SQLValue], _ body: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let result = try result(sql, values)
    defer { PQclear(result) }
    for row in 0..<PQntuples(result) { try body(PostgreSQLRow(result, row)) }
  }

  // MARK: Transactions

  public func begin(isWriting: Bool) throws(PersistentStoreError) {
    try reconnecting { () throws(PersistentStoreError) in try askForCopyOut() }
    let level = isWriting ? "SERIALIZABLE" : "REPEATABLE READ READ ONLY"
    try reconnecting { () throws(PersistentStoreError) in try execute("BEGIN ISOLATION LEVEL \(level)") }
    isInTransaction = true
  }

  public func commit(wasSaved: ((PostgreSQLDatabase) throws(PersistentStoreError) -> Bool)?)
    throws(PersistentStoreError)
  {
    let connection = try opened()
    try inspect("COMMIT")
    let result = PQexec(connection, "COMMIT")
    defer { PQclear(result) }
    do throws(PersistentStoreError) {
      try check(result, connection)
    } catch {
      isInTransaction = false
      guard self.connection == nil, let wasSaved else { throw error }
      // No one knows whether the server got as far as that: it is asked on a new connection.
      if try isSaved(wasSaved, error) { return }
      throw PersistentStoreError(.retry, error.message)
    }
    isInTransaction = false
    let tag = PQcmdStatus(result).map { String(cString: $0) } ?? ""
    guard tag == "COMMIT" else { throw PersistentStoreError(.retry, "PostgreSQL: the transaction was rolled back") }
  }

  /// Whether a transaction whose end was not seen is in the database. The server may need a while to come back.
  private func isSaved(
    _ wasSaved: (PostgreSQLDatabase) throws(PersistentStoreError) -> Bool, _ reason: PersistentStoreError
  ) throws(PersistentStoreError) -> Bool {
    for attempt in 0..<attempts {
      do throws(PersistentStoreError) {
        if connection == nil { try open() }
        return try wasSaved(self)
      } catch {
        guard error.code == .unavailable || error.code == .timedOut, attempt + 1 < attempts else { break }
        sleep(1)
      }
    }
    throw PersistentStoreError(
      .notRolledBack,
      "it is not known whether the save was carried out, as the server cannot be reached any more: \(reason.message)")
  }
  /// How often, once a second, a server is asked that cannot be reached.
  var attempts = 30

  public func rollBack() {
    guard isInTransaction else { return }
    isInTransaction = false
    guard let connection, PQstatus(connection) == CONNECTION_OK else { return close() }
    PQclear(PQexec(connection, "ROLLBACK"))
  }
}
