import Foundation
import Testing

/// The functions that an executable or a shared library defines for the whole program: those of its dynamic symbol
/// table.
///
/// A table read wrongly would look like one without system calls. So whatever does not fit is an error, and the tests
/// also read files that do define such calls.
struct DefinedFunctions {
  let names: Set<String>

  init(of path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path), options: .alwaysMapped))
    let file = try ELFFile(bytes)
    let sections = try file.sections()
    let symbols = try #require(sections.first { $0.type == ELFFile.dynamicSymbols }, "\(path) has no dynamic symbols")
    try #require(symbols.link < sections.count && symbols.size % 24 == 0 && symbols.size > 24)
    let strings = sections[symbols.link]
    var names: Set<String> = []
    for offset in stride(from: symbols.offset, to: symbols.offset + symbols.size, by: 24) {
      let information = try file.number(at: offset + 4, bytes: 1)
      let section = try file.number(at: offset + 6, bytes: 2)
      // Of another file: this one only calls it.
      guard section != 0, [ELFFile.function, ELFFile.indirectFunction].contains(information & 15) else { continue }
      let start = strings.offset + (try file.number(at: offset, bytes: 4))
      let end = try #require(bytes[start...].firstIndex(of: 0))
      names.insert(String(decoding: bytes[start..<end], as: UTF8.self))
    }
    self.names = names
  }
}

/// The shared libraries that an executable or a library names: the loader loads them before it starts.
struct NeededLibraries {
  let names: [String]

  init(of path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: path), options: .alwaysMapped))
    let file = try ELFFile(bytes)
    let sections = try file.sections()
    let dynamic = try #require(sections.first { $0.type == ELFFile.dynamic }, "\(path) names no libraries")
    try #require(dynamic.link < sections.count && dynamic.size % 16 == 0)
    let strings = sections[dynamic.link]
    var names: [String] = []
    for offset in stride(from: dynamic.offset, to: dynamic.offset + dynamic.size, by: 16)
    where try file.number(at: offset, bytes: 8) == 1 {
      let start = strings.offset + (try file.number(at: offset + 8, bytes: 8))
      let end = try #require(bytes[start...].firstIndex(of: 0))
      names.append(String(decoding: bytes[start..<end], as: UTF8.self))
    }
    self.names = names
  }
}

/// A 64-bit little-endian ELF file, as System V's gABI describes it.
private struct ELFFile {
  static let dynamicSymbols = 11
  static let dynamic = 6
  static let function = 2
  static let indirectFunction = 10

  struct Section {
    var type: Int
    var offset: Int
    var size: Int
    var link: Int
  }
  let bytes: [UInt8]

  init(_ bytes: [UInt8]) throws {
    self.bytes = bytes
    try #require(bytes.starts(with: [0x7F] + Array("ELF".utf8) + [2, 1]), "not a 64-bit little-endian ELF file")
  }

  func number(at offset: Int, bytes count: Int) throws -> Int {
    try #require(offset >= 0 && offset + count <= bytes.count, "the file is cut short")
    return (0..<count).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }

  func sections() throws -> [Section] {
    let (start, size, count) = (
      try number(at: 40, bytes: 8), try number(at: 58, bytes: 2), try number(at: 60, bytes: 2)
    )
    try #require(start > 0 && size == 64 && count > 0, "no section headers")
    return try (0..<count).map { index in
      let header = start + index * size
      return Section(
        type: try number(at: header + 4, bytes: 4), offset: try number(at: header + 24, bytes: 8),
        size: try number(at: header + 32, bytes: 8), link: try number(at: header + 40, bytes: 4))
    }
  }
}
