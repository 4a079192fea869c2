import Glibc

/// The headers of a dynamic library (ELF), checked before the dynamic loader maps it: the loader relies on the sizes in
/// the headers, so that a truncated file would terminate the program with SIGBUS.
struct LibraryFile {
  private let descriptor: Int32
  private let path: String
  private let size: UInt64

  /// - Throws: `.notSupported` if it is not a complete dynamic library for this kind of machine.
  static func check(_ path: String) throws(PersistentStoreError) {
    let descriptor = try SystemCall.open(path, O_RDONLY, doing: "open the plug-in")
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "inspect the plug-in", path) }
    try LibraryFile(descriptor: descriptor, path: path, size: UInt64(clamping: status.st_size)).check()
  }

  private func refused(_ reason: String) -> PersistentStoreError {
    PersistentStoreError(.notSupported, reason, at: StoreLocation(file: path))
  }

  private func check() throws(PersistentStoreError) {
    let isNot = "this is not a dynamic library"
    guard size >= 4, try bytes(0, 4) == [0x7F, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")] else {
      throw refused(isNot)
    }
    guard size >= 64 else { throw cut(64) }
    let header = try bytes(0, 64)
    // 64 bits, little-endian, as on all supported machines; a shared object.
    guard header[4] == 2, header[5] == 1 else { throw refused("this is a library for another kind of machine") }
    guard Self.number(header, at: 16, 2) == 3 else { throw refused(isNot) }
    let programs = (
      offset: Self.number(header, at: 32, 8), size: Self.number(header, at: 54, 2),
      count: Self.number(header, at: 56, 2)
    )
    let sections = (
      offset: Self.number(header, at: 40, 8), size: Self.number(header, at: 58, 2),
      count: Self.number(header, at: 60, 2)
    )
    guard programs.size >= 56, sections.count == 0 || sections.size >= 64 else { throw refused(isNot) }
    try checkWithin(programs.offset, programs.size * programs.count)
    try checkWithin(sections.offset, sections.size * sections.count)
    for index in 0..<programs.count {
      let entry = try bytes(programs.offset + index * programs.size, 56)
      try checkWithin(Self.number(entry, at: 8, 8), Self.number(entry, at: 32, 8))
    }
    for index in 0..<sections.count {
      let entry = try bytes(sections.offset + index * sections.size, 64)
      // A section of zeroes (SHT_NOBITS) does not occupy the file.
      if Self.number(entry, at: 4, 4) != 8 {
        try checkWithin(Self.number(entry, at: 24, 8), Self.number(entry, at: 32, 8))
      }
    }
  }

  private func checkWithin(_ offset: UInt64, _ length: UInt64) throws(PersistentStoreError) {
    let (end, isBeyond) = offset.addingReportingOverflow(length)
    guard !isBeyond, end <= size else { throw cut(isBeyond ? .max : end) }
  }

  private func cut(_ end: UInt64) -> PersistentStoreError {
    refused("the file is truncated: it has \(size) bytes, but its headers refer to \(end); copy it again")
  }

  private func bytes(_ offset: UInt64, _ count: Int) throws(PersistentStoreError) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let got = buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(clamping: offset)) }
    guard got == count else { throw refused("the plug-in cannot be read") }
    return buffer
  }

  private static func number(_ bytes: [UInt8], at place: Int, _ length: Int) -> UInt64 {
    (0..<length).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
  }
}
