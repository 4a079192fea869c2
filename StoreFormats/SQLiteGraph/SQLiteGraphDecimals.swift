import CSQLite
import StoreSQL

/// SQLite has no decimals: a function gives it bytes in their order.
enum SQLiteGraphDecimals {
  /// - Returns: SQLite's result code.
  static func add(to handle: OpaquePointer?, as name: String?) -> Int32 {
    sqlite3_create_function_v2(
      handle, name, 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nil,
      { context, _, arguments in
        guard let value = arguments?[0], sqlite3_value_type(value) != SQLITE_NULL else {
          return sqlite3_result_null(context)
        }
        if sqlite3_value_type(value) == SQLITE_TEXT, let start = sqlite3_value_text(value) {
          let text = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(value)))
          let isDecimal = SQLDecimal.withKey(of: text) { key in
            guard let key else { return sqlite3_result_null(context) }
            csqlite_result_blob(context, key.baseAddress, UInt64(key.count))
          }
          if isDecimal { return }
        }
        let name = arguments?[1].flatMap { sqlite3_value_text($0) }.map { String(cString: $0) } ?? ""
        sqlite3_result_error(context, "a value of '\(name)' is not a decimal number", -1)
      }, nil, nil, nil)
  }
}
