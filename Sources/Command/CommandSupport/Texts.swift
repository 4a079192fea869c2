import FoundationEssentials
import Glibc

extension StringProtocol {
  /// The text without spaces, tabs and line ends around it.
  package var trimmed: String {
    guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace }) else {
      return ""
    }
    return String(self[first...last])
  }

  /// The text with spaces behind it, so that it has this many characters; a longer one as it is.
  package func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }
}

extension String {
  /// The text with each occurrence of another one replaced. Bytes are compared: an accent behind a quotation mark does
  /// not hide it.
  package func replacingBytes(_ old: String, with new: String) -> String {
    let sought = Array(old.utf8)
    guard !sought.isEmpty else { return self }
    let bytes = Array(utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var place = 0
    while place < bytes.count {
      if bytes[place] == sought[0], bytes[place...].starts(with: sought) {
        result += new.utf8
        place += sought.count
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}

/// Parts of a path, by its bytes: what is behind the last slash, and its extension.
package enum PathParts {
  private static let slash = UInt8(ascii: "/")
  private static let dot = UInt8(ascii: ".")

  /// The name of the file or directory; for `/` itself, `/`.
  package static func name(of path: String) -> String {
    guard let name = path.utf8.split(separator: slash).last else { return path.isEmpty ? "" : "/" }
    return String(Substring(name))
  }

  /// The directory that a file is in; `.` for a name alone.
  package static func directory(of path: String) -> String {
    let bytes = path.utf8
    guard let last = bytes.lastIndex(where: { $0 != slash }), let end = bytes[...last].lastIndex(of: slash) else {
      return bytes.first == slash ? "/" : "."
    }
    let directory = String(Substring(bytes[..<end]))
    return directory.isEmpty ? "/" : directory
  }

  /// What follows the last dot of the name, if it is neither first nor last; otherwise empty.
  package static func fileExtension(of path: String) -> String {
    let name = name(of: path).utf8
    guard let place = name.lastIndex(of: dot), name[..<place].contains(where: { $0 != dot }) else { return "" }
    return String(Substring(name[name.index(after: place)...]))
  }

  /// The name without its extension.
  package static func stem(of path: String) -> String {
    let name = name(of: path)
    let suffix = fileExtension(of: path)
    return suffix.isEmpty ? name : String(Substring(name.utf8.dropLast(suffix.utf8.count + 1)))
  }
}

/// What is written to the standard error as it is.
package enum StandardError {
  package static func write(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Glibc.write(
          2, UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(bytes)[rest.indices]).baseAddress, rest.count)
        guard count > 0 || errno == EINTR else { return }
        rest = rest.dropFirst(max(count, 0))
      }
    }
  }
}

extension Error {
  /// What the system said about a file, where a method of Foundation failed.
  package var systemReason: String {
    if let error = self as? CocoaError, let reason = error.userInfo["NSUnderlyingError"] as? POSIXError {
      return String(cString: strerror(reason.code.rawValue))
    }
    return (self as? any LocalizedError)?.errorDescription ?? String(describing: self)
  }
}
