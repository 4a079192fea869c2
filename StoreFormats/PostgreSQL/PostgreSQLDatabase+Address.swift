import AtomicStoreSPI

/// The URL of a store.
extension PostgreSQLDatabase {
  static let invalidURL = PersistentStoreError(
    .invalidOption,
    "this is not a valid PostgreSQL URL (in a user name, a password or a parameter, write @ as %40, / as %2F, & as %26 and % as %25)"
  )

  /// The URL for libpq, and the schema.
  ///
  /// - Throws: `.invalidOption` for what libpq would take for something else: its messages would show parts of a
  ///   password.
  static func parts(of url: String) throws(PersistentStoreError) -> (url: String, schema: String) {
    // A user and a password end at the first `@`, if no slash is before it. Where they have an `@` or a slash
    // themselves, libpq takes the rest for the host, the port or the database.
    // Scalars, as libpq looks at bytes: an `@` and a combining mark are one character.
    let scalars = url.unicodeScalars
    let start = url.firstRange(of: "://")?.upperBound ?? url.startIndex
    let end = scalars[start...].firstIndex { $0 == "@" || $0 == "/" } ?? url.endIndex
    let host = scalars[end...].first == "@" ? scalars.index(after: end) : start
    let question = scalars[host...].firstIndex(of: "?") ?? url.endIndex
    guard !scalars[host..<question].contains("@") else { throw invalidURL }
    var schema = "public"
    var rest: [Substring] = []
    for parameter in scalars[question...].dropFirst().split(separator: "&").map({ Substring($0) }) {
      if parameter.hasPrefix("schema=") {
        schema = try unescaped(parameter.dropFirst("schema=".count))
      } else {
        rest.append(parameter)
      }
    }
    guard !schema.isEmpty, schema.utf8.count <= 63, !schema.utf8.contains(0) else {
      throw PersistentStoreError(
        .invalidOption, "the name of a schema has 1 to 63 bytes other than NUL; this has \(schema.utf8.count)")
    }
    return (String(url[..<question]) + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&")), schema)
  }

  /// The text with `%41` as `A`.
  private static func unescaped(_ text: Substring) throws(PersistentStoreError) -> String {
    guard let result = PercentEncoding.bytes(text.utf8).flatMap({ String(validating: $0, as: UTF8.self) }) else {
      throw invalidURL
    }
    return result
  }
}
