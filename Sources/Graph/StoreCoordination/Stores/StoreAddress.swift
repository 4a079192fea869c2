package import AtomicStoreSPI

/// Where an incremental store is: a path, or a URL with one of the schemes that its type names.
package struct StoreAddress: Sendable {
  /// What the store gets: a path, or the URL with everything in it.
  package let full: String
  /// What is shown: without a password.
  package let shown: String
  /// Whether it is a file, which can be looked at.
  package let isFile: Bool

  package init(_ text: String, of type: any IncrementalStore.Type) {
    guard let scheme = Self.scheme(of: text), type.urlSchemes.contains(scheme) else {
      let path = StorePath.absolute(text)
      (full, shown, isFile) = (path, path, true)
      return
    }
    if type.traits.fileExtensions.isEmpty {
      (full, shown, isFile) = (text, Self.withoutPassword(text), false)
      return
    }
    // `sqlite:name` and `sqlite:///absolute`.
    var rest = text.dropFirst(scheme.utf8.count + 1)
    if rest.hasPrefix("//") { rest = rest.dropFirst(2) }
    let path = StorePath.absolute(Self.unescaped(rest))
    (full, shown, isFile) = (path, path, true)
  }

  /// The scheme of a URL, in lower case; nil for a path. A letter alone is a drive of other systems, not a scheme.
  package static func scheme(of text: String) -> String? {
    guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let scheme = text[..<colon]
    guard scheme.utf8.count > 1, let first = scheme.utf8.first, isLetter(first),
      scheme.utf8.allSatisfy({ isLetter($0) || isDigit($0) || [UInt8(ascii: "+"), UInt8(ascii: "-")].contains($0) })
    else { return nil }
    return scheme.lowercased()
  }

  /// Whether a text is a URL, and not a path with a colon.
  package static func isCertainURL(_ text: String) -> Bool {
    scheme(of: text) != nil && text.firstRange(of: "://") != nil
  }

  /// The text with `%41` as `A`. What is not a valid escape stays.
  private static func unescaped(_ text: Substring) -> String {
    String(decoding: PercentEncoding.bytes(text.utf8, keepsInvalid: true) ?? [], as: UTF8.self)
  }

  private static func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }
  private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

  /// The URL without what must not be shown: a password before `@`, and parameters named so.
  package static func withoutPassword(_ text: String) -> String {
    var text = text
    if let range = passwordRange(in: text) { text.removeSubrange(range) }
    guard let question = text.firstIndex(of: "?") else { return text }
    let parameters = text[text.index(after: question)...].split(separator: "&").filter { parameter in
      let name = unescaped(parameter.prefix { $0 != "=" }).lowercased()
      // Without a value it is perhaps the end of a password that has a `&`.
      return parameter.contains("=") && !["password", "sslpassword", "passfile", "sslkey"].contains(name)
    }
    let head = String(text[..<question])
    return parameters.isEmpty ? head : head + "?" + parameters.joined(separator: "&")
  }

  /// The password of a URL with the colon before it; nil if there is none.
  ///
  /// A password should have `%2F` for a slash and the like. Where it does not, the URL is not valid, but it is shown in
  /// a message.
  package static func passwordRange(in text: String) -> Range<String.Index>? {
    let bytes = text.utf8
    guard scheme(of: text) != nil, let first = bytes.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    var start = bytes.index(after: first)
    if bytes[start...].starts(with: "//".utf8) { start = bytes.index(start, offsetBy: 2) }
    // An address in brackets has its own colons.
    let isBracketed = bytes[start...].first == UInt8(ascii: "[")
    let after = isBracketed ? bytes[start...].firstIndex(of: UInt8(ascii: "]")) ?? start : start
    guard let colon = bytes[after...].firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let value = bytes.index(after: colon)
    // As libpq: user and password end at the first `@`, unless a slash comes before it.
    let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "@") || $0 == UInt8(ascii: "/") }
    let known = end.flatMap { bytes[$0] == UInt8(ascii: "@") ? $0 : nil }
    let question = bytes[start...].firstIndex(of: UInt8(ascii: "?")) ?? bytes.endIndex
    let last = colon < question ? bytes[value..<question].lastIndex(of: UInt8(ascii: "@")) : nil
    let at = max(known ?? value, last ?? value)
    if at > value { return colon..<at }
    // After a question mark, an `@` belongs to a parameter, or to the password of `user:pass/w?rd@host`.
    guard colon < question, known == nil, let at = bytes[question...].lastIndex(of: UInt8(ascii: "@")) else {
      return nil
    }
    let port = bytes[value..<question].prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ",") }
    let isPort = port.allSatisfy { isDigit($0) }
    return isPort && bytes[question..<at].contains(UInt8(ascii: "=")) ? nil : colon..<at
  }
}

extension StoreRegistry {
  /// The incremental type of what is opened; nil if it is not one.
  package func incrementalType(_ type: String?, at path: String) throws(PersistentStoreError)
    -> (any IncrementalStore.Type)?
  {
    if let scheme = StoreAddress.scheme(of: path) {
      try refuseAbsent(urlScheme: scheme, at: StoreAddress.withoutPassword(path))
    }
    if let type { return incrementalType(named: type) }
    if let scheme = StoreAddress.scheme(of: path),
      let found = incrementalType(urlScheme: scheme, isCertain: StoreAddress.isCertainURL(path))
    {
      return found
    }
    if let open = OpenDatabases.type(at: path) { return open }
    // No incremental store is a directory, whose files need not be inspected for that.
    guard let kind = try? StorePath.kind(of: path), kind != .folder, let place = try? StorePath.inspect(path) else {
      return nil
    }
    if place.holdsContent {
      guard let probe = try? place.probe() else { return nil }
      return incrementalType(recognizing: probe)
    }
    return incrementalType(forFileExtension: place.fileExtension)
  }
}
