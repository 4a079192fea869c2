import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// Files as the harness itself handles them: nothing of the kit, whose files are what is being tested.
enum Files {
  static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let got = Glibc.read(descriptor, &buffer, buffer.count)
      if got < 0 { return nil }
      if got == 0 { return bytes }
      bytes += buffer[0..<got]
    }
  }

  @discardableResult static func write(_ bytes: [UInt8], to path: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var place = 0
    while place < bytes.count {
      let put = bytes[place...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard put > 0 else { return false }
      place += put
    }
    return true
  }

  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  static func status(_ path: String, followsLinks: Bool = false) -> stat? {
    var info = stat()
    return (followsLinks ? stat(path, &info) : lstat(path, &info)) == 0 ? info : nil
  }
  static func isFolder(_ path: String) -> Bool {
    status(path, followsLinks: true).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }
  static func exists(_ path: String) -> Bool { status(path) != nil }

  static func makeFolder(_ path: String) { mkdir(path, 0o755) }

  static func remove(_ path: String) {
    if let info = status(path), info.st_mode & S_IFMT == S_IFDIR {
      for name in names(in: path) { remove(path + "/" + name) }
      rmdir(path)
    } else {
      unlink(path)
    }
  }

  static func copy(_ from: String, to: String) {
    if isFolder(from) {
      makeFolder(to)
      for name in names(in: from) { copy(from + "/" + name, to: to + "/" + name) }
    } else if let bytes = read(from) {
      write(bytes, to: to)
    }
  }

  /// Everything that is at a path: names and bytes. Nil where nothing is.
  static func content(_ path: String) -> [String: [UInt8]]? {
    guard exists(path) else { return nil }
    guard isFolder(path) else { return read(path).map { ["": $0] } }
    var all: [String: [UInt8]] = [:]
    for name in names(in: path) {
      for (inner, bytes) in content(path + "/" + name) ?? [:] { all[inner.isEmpty ? name : name + "/" + inner] = bytes }
    }
    return all
  }
}
