import FoundationEssentials
import Glibc

/// The paths of a list of stores.
package struct StoreList: Sendable {
  /// A path of the list, or why a line is not a path.
  package struct Entry: Sendable {
    /// The path, as it is in the list; for messages if it is not UTF-8.
    package var path: String
    /// The error of an entry that is not a path.
    package var problem: String?
  }

  package let entries: [Entry]

  /// Reads a list from a file, or from standard input for `-`.
  ///
  /// - Throws: 66 if there is no such file, 74 if it cannot be read.
  package init(readFrom path: String) throws {
    let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      let code: Int32 = errno == ENOENT || errno == ENOTDIR ? 66 : errno == EACCES ? 77 : 74
      throw CommandFailure("\(path): cannot read the list of stores: \(Descriptor.text(errno))", exitCode: code)
    }
    defer { if descriptor != STDIN_FILENO { close(descriptor) } }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let got = buffer.withUnsafeMutableBytes { Descriptor.read(descriptor, into: $0) }
      guard got >= 0 else {
        throw CommandFailure(
          "\(path == "-" ? "standard input" : path): cannot read the list of stores: \(Descriptor.text(Int32(-got)))",
          exitCode: 74)
      }
      guard got > 0 else { break }
      bytes += buffer[..<got]
    }
    self.init(bytes)
  }

  /// A path cannot contain NUL: if there is one, NUL is the separator, and paths may contain line feeds.
  package init(_ bytes: [UInt8]) {
    let separator = bytes.contains(0) ? 0 : UInt8(ascii: "\n")
    entries = bytes.split(separator: separator).map { part in
      guard let path = String(validating: part, as: UTF8.self) else {
        return Entry(path: String(decoding: part, as: UTF8.self), problem: "the path is not UTF-8")
      }
      // In a list, it is the name of a file.
      return Entry(path: path == "-" ? "./-" : path)
    }
  }
}
