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

/// Parts of a path: what is behind the last slash, and its extension.
package enum PathParts {
  /// The name of the file or directory; for `/` itself, `/`.
  package static func name(of path: String) -> String {
    guard let name = path.split(separator: "/").last else { return path.isEmpty ? "" : "/" }
    return String(name)
  }

  /// The directory that a file is in; `.` for a name alone.
  package static func directory(of path: String) -> String {
    let end = path.lastIndex { $0 != "/" }.map { path.index(after: $0) } ?? path.endIndex
    guard let slash = path[..<end].lastIndex(of: "/") else { return path.hasPrefix("/") ? "/" : "." }
    let directory = path[..<slash]
    return directory.isEmpty ? "/" : String(directory)
  }

  /// What follows the last dot of the name, if it is neither first nor last; otherwise empty.
  package static func fileExtension(of path: String) -> String {
    let name = name(of: path)
    guard let dot = name.lastIndex(of: "."), name[..<dot].contains(where: { $0 != "." }) else { return "" }
    return String(name[name.index(after: dot)...])
  }

  /// The name without its extension.
  package static func stem(of path: String) -> String {
    let name = name(of: path)
    let suffix = fileExtension(of: path)
    return suffix.isEmpty ? name : String(name.dropLast(suffix.count + 1))
  }

  /// The directory for files that are soon removed, with a slash at its end: `$TMPDIR`, or `/tmp`.
  package static var temporaryDirectory: String {
    let path = FileManager.default.temporaryDirectory.path(percentEncoded: false)
    return path.hasSuffix("/") ? path : path + "/"
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
