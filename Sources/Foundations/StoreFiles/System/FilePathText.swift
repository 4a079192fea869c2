import Glibc

/// Operations on paths as bytes.
enum FilePathText {
  /// The directory that contains the last component: `.` for a bare name.
  static func folder(_ path: String) -> String {
    let trimmed = trim(path)
    guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == trimmed.startIndex ? "/" : String(trimmed[..<slash])
  }
  static func name(_ path: String) -> String {
    let trimmed = trim(path)
    guard let slash = trimmed.utf8.lastIndex(of: UInt8(ascii: "/")) else { return trimmed }
    return String(trimmed[trimmed.utf8.index(after: slash)...])
  }
  /// In lower case, without the leading dot; empty if there is none.
  static func fileExtension(_ path: String) -> String {
    let name = name(path)
    guard let point = name.utf8.lastIndex(of: UInt8(ascii: ".")), point != name.startIndex else { return "" }
    return String(name[name.utf8.index(after: point)...]).lowercased()
  }
  /// The absolute form of a path, which remains valid when the current directory changes. Unchanged if there is no
  /// current directory.
  static func absolute(_ path: String) -> String {
    guard !path.hasPrefix("/"), let current = getcwd(nil, 0) else { return path }
    defer { free(current) }
    let folder = String(cString: current)
    return (folder == "/" ? "" : folder) + "/" + path
  }
  /// The path without slashes at its end, which a root directory keeps.
  static func trim(_ path: String) -> String {
    var bytes = Array(path.utf8)
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    return String(decoding: bytes, as: UTF8.self)
  }
}
