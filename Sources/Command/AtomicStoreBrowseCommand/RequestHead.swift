/// The request line and the headers of an HTTP/1.1 request without a body: all that a page's questions need.
struct RequestHead: Equatable {
  /// The greatest size in bytes, blank line included. Browsers send less than 2 KB.
  static let greatestSize = 16 * 1024
  /// The greatest size of the request line in bytes.
  static let greatestLine = 8 * 1024

  /// Why a request is refused before its content is looked at: an HTTP status.
  enum Refusal: Error, Equatable { case malformed, hasBody, addressTooLong, headersTooLarge }

  let method: String
  /// As it was sent, percent-encoded.
  let path: String
  /// What follows the question mark; empty if there is none.
  let query: String
  /// By name in lower case.
  private(set) var headers: [String: String] = [:]

  /// - Parameter bytes: The lines, without the blank line at the end.
  init(_ bytes: ArraySlice<UInt8>) throws(Refusal) {
    // Split as bytes: to Swift, CR and LF together are one character.
    var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map {
      String(validating: $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0, as: UTF8.self)
    }[...]
    guard let line = lines.popFirst(), let line else { throw .malformed }
    let parts = line.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 3, !parts[0].isEmpty, parts[1].hasPrefix("/"), parts[2].hasPrefix("HTTP/1.") else {
      throw .malformed
    }
    method = String(parts[0])
    let target = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(target[0])
    query = target.count > 1 ? String(target[1]) : ""
    for line in lines {
      guard let field = line?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false),
        field.count == 2, !field[0].isEmpty, !field[0].contains(where: \.isWhitespace)
      else { throw .malformed }
      // Which of two would count depends on the reader, which is how requests are smuggled.
      guard headers.updateValue(Self.trimmed(field[1]), forKey: field[0].lowercased()) == nil else { throw .malformed }
    }
    guard headers["transfer-encoding"] == nil, headers["content-length"] ?? "0" == "0" else { throw .hasBody }
  }

  private static func trimmed(_ text: Substring) -> String {
    let isSpace = { (character: Character) in character == " " || character == "\t" }
    var text = text.drop(while: isSpace)
    while let last = text.last, isSpace(last) { text.removeLast() }
    return String(text)
  }
}

/// The bytes of a request until its head is complete. Each byte is looked at once, and no more are kept than a head may
/// have.
struct RequestBuffer {
  private var bytes: [UInt8] = []
  /// Where the line begins that is not complete yet.
  private var lineStart = 0

  /// Adds bytes that were received.
  ///
  /// - Returns: The head once it is complete; what follows it is ignored.
  mutating func append(_ more: [UInt8]) throws(RequestHead.Refusal) -> RequestHead? {
    for byte in more {
      guard bytes.count < RequestHead.greatestSize else { throw .headersTooLarge }
      bytes.append(byte)
      guard byte == UInt8(ascii: "\n") else {
        if lineStart == 0, bytes.count > RequestHead.greatestLine { throw .addressTooLong }
        continue
      }
      let line = bytes[lineStart..<bytes.count - 1]
      if lineStart > 0, line.isEmpty || line.elementsEqual([UInt8(ascii: "\r")]) {
        return try RequestHead(bytes[..<(lineStart - 1)])
      }
      lineStart = bytes.count
    }
    return nil
  }
}
