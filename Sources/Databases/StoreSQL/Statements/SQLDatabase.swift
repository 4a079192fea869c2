public import AtomicStoreSPI
public import FoundationEssentials

/// A value as a database gets it.
public enum SQLValue: Sendable, Hashable {
  /// NULL.
  case null
  /// An integer.
  case integer(Int64)
  /// A truth value.
  case boolean(Bool)
  /// A double, kept to the bit.
  case double(Double)
  /// A float, kept to the bit.
  case float(Float)
  /// A text, which may contain NUL.
  case text(String)
  /// Bytes.
  case blob(Data)
  /// A UUID.
  case uuid(UUID)
}

/// The type of a column.
public enum SQLType: Sendable, Hashable {
  /// Integers of 16, 32 and 64 bits.
  case integer16, integer32, integer64
  /// A truth value.
  case boolean
  /// Floating-point numbers of 64 and 32 bits.
  case double, float
  /// UTF-8.
  case text
  /// Bytes.
  case blob
  /// 16 bytes.
  case uuid
}

/// A database that speaks SQL: a connection, used by one caller at a time.
public protocol SQLDatabase: AnyObject, Sendable {
  /// What is particular about its SQL.
  static var dialect: SQLDialect { get }

  /// Connects to the place that a configuration names. Called before everything else.
  ///
  /// - Parameter mayCreate: Whether a database that is not there is created. Otherwise the result is false.
  func connect(mayCreate: Bool) throws(PersistentStoreError) -> Bool

  /// Whether a table is there.
  func hasTable(_ name: String) throws(PersistentStoreError) -> Bool

  /// Executes a statement. Parameters are `?1`, `?2` and so on, in the text of every dialect.
  ///
  /// - Returns: The number of rows that it changed.
  @discardableResult
  func run(_ sql: String, _ values: [SQLValue]) throws(PersistentStoreError) -> Int

  /// Executes a query and calls `body` with each row.
  func query(
    _ sql: String, _ values: [SQLValue], _ body: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError)

  /// Executes a query without parameters whose result may be long.
  func stream(
    _ sql: String, _ body: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError)

  /// Reads a query without parameters, whose result may be long, in the binary form of PostgreSQL's COPY.
  ///
  /// - Parameters:
  ///   - sql: The query.
  ///   - columns: The types that its columns have to have. Others are an error.
  ///   - body: Called with one part of the stream after another, wherever the database cuts it. It executes nothing.
  /// - Returns: Whether the database gives rows in that form; otherwise `body` was not called, and the query is read
  ///   with ``stream(_:_:)``. The default is false.
  func copyOut(
    _ sql: String, columns: [SQLType], _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool

  /// Adds many rows to a table in the binary form of PostgreSQL's COPY.
  ///
  /// - Parameters:
  ///   - table: The name of the table.
  ///   - columns: The names of the columns, in the order in which rows have them.
  ///   - body: Called once with a function that takes the parts of the stream.
  /// - Returns: Whether the database takes rows in that form; otherwise `body` was not called, and the rows are added
  ///   with ``insert(into:columns:count:_:)``. The default is false.
  func copyIn(
    into table: String, columns: [String],
    _ body: ((UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool

  /// Adds many rows to a table. The default refuses: it is for databases that have ``copyIn(into:columns:_:)``.
  ///
  /// - Parameters:
  ///   - table: The name of the table.
  ///   - columns: The columns in the order in which they are set.
  ///   - count: The number of rows.
  ///   - fill: Called with the number of each row; it sets the columns in order.
  func insert(
    into table: String, columns: [(name: String, type: SQLType)], count: Int,
    _ fill: (Int, any SQLRowWriter) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError)

  /// Begins a transaction.
  func begin(isWriting: Bool) throws(PersistentStoreError)
  /// Ends a transaction.
  ///
  /// - Parameter wasSaved: Asked on a new connection if the old one was lost meanwhile: whether the transaction is in
  ///   the database. Nil for one that may be repeated.
  func commit(wasSaved: ((Self) throws(PersistentStoreError) -> Bool)?) throws(PersistentStoreError)
  /// Ends a transaction without its changes. Cannot fail: a connection that is lost has none.
  func rollBack()
  /// Closes the connection. It may be opened again.
  func close()
}

extension SQLDatabase {
  public func stream(
    _ sql: String, _ body: (any SQLRow) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) { try query(sql, [], body) }

  public func copyOut(
    _ sql: String, columns: [SQLType], _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool { false }

  public func copyIn(
    into table: String, columns: [String],
    _ body: ((UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) -> Bool { false }

  public func insert(
    into table: String, columns: [(name: String, type: SQLType)], count: Int,
    _ fill: (Int, any SQLRowWriter) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    throw PersistentStoreError(.notSupported, "this database does not add rows one by one")
  }
}

/// A row of a result. Columns count from 0. Valid until the next one.
public protocol SQLRow {
  /// Whether the column is NULL.
  func isNull(_ column: Int) -> Bool
  /// Whether a column that is not NULL holds a value of a type. The default is true, for databases that see to it.
  func holds(_ column: Int, _ type: SQLType) -> Bool
  /// The value of an integer column of any width.
  func integer(_ column: Int) -> Int64
  /// The value of a column of truth values.
  func boolean(_ column: Int) -> Bool
  /// The value of a double column, to the bit.
  func double(_ column: Int) -> Double
  /// The value of a float column, to the bit.
  func float(_ column: Int) -> Float
  /// The value of a UUID column.
  func uuid(_ column: Int) -> UUID
  /// The value of a text column.
  func text(_ column: Int) -> String
  /// The value of a blob column.
  func data(_ column: Int) -> Data
  /// The UTF-8 of a text.
  func withText<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure)
  /// The bytes of a blob.
  func withBytes<Failure: Error>(_ column: Int, _ body: (Span<UInt8>) throws(Failure) -> Void) throws(Failure)
}

extension SQLRow {
  public func holds(_ column: Int, _ type: SQLType) -> Bool { true }
}

/// A row that is being added, column after column.
public protocol SQLRowWriter: AnyObject {
  /// Sets the next column to NULL.
  func null()
  /// Sets the next column to an integer that its type holds.
  func integer(_ value: Int64)
  /// Sets the next column to a truth value.
  func boolean(_ value: Bool)
  /// Sets the next column to a double.
  func double(_ value: Double)
  /// Sets the next column to a float.
  func float(_ value: Float)
  /// Sets the next column to a UUID.
  func uuid(_ value: UUID)
  /// Sets the next column to a text.
  func text(_ utf8: Span<UInt8>) throws(PersistentStoreError)
  /// Sets the next column to bytes.
  ///
  /// - Throws: `.limitExceeded` for more than the database keeps.
  func blob(_ bytes: Span<UInt8>) throws(PersistentStoreError)
}

/// What is particular about the SQL of a database.
public struct SQLDialect: Sendable {
  /// Whether not-a-number and negative zero are 8-byte blobs, as SQLite's REAL cannot hold them.
  var keepsSpecialDoublesAsBlobs: Bool
  /// Whether text is compared as bytes, so that it must be cast where SQL functions are to see all of it.
  var isSQLite: Bool
  /// How many values one `IN (…)` may list.
  var listLimit = 500
  /// The longest name of a table or column, in bytes.
  var nameLimit = 56
  /// Columns that the database itself adds to every table.
  public var systemColumns: [String] = []
  /// The name of a function of SQL that turns the text of a decimal into its key (``SQLDecimal``), for a database
  /// without decimals that has such functions. Its second argument is what the text is a value of, for errors. Without
  /// it, the kit compares and sorts decimals itself.
  public var decimalFunction: String?
  /// How often a transaction that the database refused for others' sake is repeated.
  var retries: Int

  /// Creates a dialect.
  public init(isSQLite: Bool, retries: Int) {
    self.isSQLite = isSQLite
    keepsSpecialDoublesAsBlobs = isSQLite
    self.retries = retries
  }

  /// The name of a type in `CREATE TABLE`.
  public func name(of type: SQLType) -> String {
    switch type {
    case .integer16: isSQLite ? "INTEGER" : "int2"
    case .integer32: isSQLite ? "INTEGER" : "int4"
    case .integer64: isSQLite ? "INTEGER" : "int8"
    case .boolean: isSQLite ? "INTEGER" : "bool"
    case .double: isSQLite ? "REAL" : "float8"
    case .float: isSQLite ? "REAL" : "float4"
    case .text: isSQLite ? "TEXT" : "text COLLATE \"C\""
    case .blob: isSQLite ? "BLOB" : "bytea"
    case .uuid: isSQLite ? "BLOB" : "uuid"
    }
  }

  /// What makes a table with a key of two columns one tree, where it would be another one beside the index.
  var byKey: String { isSQLite ? " WITHOUT ROWID" : "" }

  /// A literal of a truth value.
  func literal(_ flag: Bool) -> String { isSQLite ? (flag ? "1" : "0") : (flag ? "TRUE" : "FALSE") }

  /// What a decimal column is compared and sorted by, NULL for not-a-number; nil if the kit does that. A text that is
  /// not a decimal is an error of the statement, which names what it is a value of.
  func decimal(_ column: String, of name: String) -> String? {
    // A statement ends at NUL.
    let name = name.replacing("'", with: "''").replacing("\0", with: "\u{FFFD}")
    guard isSQLite else { return Self.numeric(column, "a value of ''\(name)'' is not a decimal number") }
    return decimalFunction.map { "\($0)(\(column), '\(name)')" }
  }

  /// A decimal column as PostgreSQL's numbers, if ``DecimalNumber`` reads its text: the server also reads spaces,
  /// infinity, and far more digits.
  private static func numeric(_ column: String, _ error: String) -> String {
    let mantissa = "SPLIT_PART(UPPER(\(column)), 'E', 1)"
    let power = "CAST(COALESCE(NULLIF(SPLIT_PART(UPPER(\(column)), 'E', 2), ''), '0') AS int4)"
    let exponent = "\(power) - LENGTH(SPLIT_PART(\(mantissa), '.', 2))"
    // The column makes it no constant, which the server would compute in any case.
    let failure = "CAST('\(error)' || LEFT(\(column), 0) AS numeric)"
    // What most numbers are comes first, with a pattern that takes half as long as one of all that is a number: of
    // such characters the server reads numbers only. A bound within the pattern takes several times as long. Each
    // condition relies on those before it.
    return "(CASE WHEN OCTET_LENGTH(\(column)) < 39 AND \(column) !~ '[^-0-9.]' THEN CAST(\(column) AS numeric)"
      + " WHEN \(column) IS NULL OR \(column) = 'NaN' THEN NULL"
      + " WHEN LENGTH(\(column)) > 999 OR \(column) !~ '^[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]{1,4})?$' THEN \(failure)"
      + " WHEN CAST(TRANSLATE(\(mantissa), '-+.', '0') AS numeric) > \(UInt128.max) THEN \(failure)"
      + " WHEN NOT \(exponent) BETWEEN \(Int8.min) AND \(Int8.max) THEN \(failure)"
      + " ELSE CAST(\(column) AS numeric) END)"
  }

  /// The number of a double column as the language of predicates sees it: -0.0 is 0.0, and not-a-number is NULL.
  func number(_ column: String) -> String {
    guard keepsSpecialDoublesAsBlobs else {
      return "NULLIF(\(column), 'NaN')"
    }
    return
      "(CASE typeof(\(column)) WHEN 'blob' THEN (CASE WHEN \(column) IN (x'8000000000000000', x'80000000') THEN 0.0 END) ELSE \(column) END)"
  }
}

extension SQLDatabase {
  /// Whether a statement is worth keeping for the next time: with a list of values it is another one each time.
  public static func isReusable(_ sql: String) -> Bool {
    sql.ranges(of: " IN (").allSatisfy { sql[$0.upperBound...].hasPrefix("SELECT ") }
  }
}

extension String {
  /// The text as the name of a table or column.
  var quoted: String {
    "\"" + split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
  }
}
