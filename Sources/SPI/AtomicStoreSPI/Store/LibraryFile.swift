import Glibc

/// The headers and notes of a dynamic library (ELF), read before the dynamic loader maps it: the loader relies on the
/// sizes in the headers, so that a truncated file would terminate the program with SIGBUS.
struct LibraryFile {
  /// A note: data that a linker puts into the file for other programs.
  struct Note {
    var owner: [UInt8]
    var type: UInt64
    var content: [UInt8]
  }

  /// The part of a file that is mapped, and where.
  private struct Segment {
    var type: UInt64
    var offset: UInt64
    var address: UInt64
    var fileSize: UInt64
    var memorySize: UInt64
    var alignment: UInt64

    init(_ entry: [UInt8]) {
      type = LibraryFile.number(entry, at: 0, 4)
      offset = LibraryFile.number(entry, at: 8, 8)
      address = LibraryFile.number(entry, at: 16, 8)
      fileSize = LibraryFile.number(entry, at: 32, 8)
      memorySize = LibraryFile.number(entry, at: 40, 8)
      alignment = LibraryFile.number(entry, at: 48, 8)
    }
    static let load: UInt64 = 1
    static let dynamic: UInt64 = 2
    static let note: UInt64 = 4
  }

  /// The size of the file's header (`Elf64_Ehdr`), of an entry for a segment and of one for a section.
  private static let headerSize = 64
  private static let segmentSize = 56
  private static let sectionSize = 64
  /// A section with the symbols that the dynamic loader binds (`SHT_DYNSYM`), and the size of a symbol (`Elf64_Sym`).
  private static let sectionOfSymbols: UInt64 = 11
  private static let symbolSize = 24
  private static let maximumNameBytes = 65_536
  private static let maximumSymbolBytes: UInt64 = 64 << 20
  /// A section that does not occupy the file (`SHT_NOBITS`).
  private static let sectionOfZeros: UInt64 = 8
  /// Notes are small; a file may claim any size.
  private static let maximumNoteBytes: UInt64 = 1 << 20

  private let descriptor: Int32
  private let path: String
  private let size: UInt64

  /// Returns the notes of a dynamic library.
  ///
  /// - Throws: `.notSupported` if it is not a complete dynamic library for this kind of machine.
  static func notes(_ path: String) throws(PersistentStoreError) -> [Note] {
    try opened(path) { file throws(PersistentStoreError) in
      var notes: [Note] = []
      for segment in try file.segments() where segment.type == Segment.note { notes += try file.notes(in: segment) }
      return notes
    }
  }

  /// Returns the names of the symbols that a dynamic library takes from others: none if it has no table of sections.
  ///
  /// - Throws: As ``notes(_:)``, and `.notSupported` if the table of symbols is damaged.
  static func neededSymbols(_ path: String) throws(PersistentStoreError) -> [String] {
    try opened(path) { file throws(PersistentStoreError) in
      _ = try file.segments()
      return try file.undefinedSymbols()
    }
  }

  private static func opened<Value>(
    _ path: String, _ body: (LibraryFile) throws(PersistentStoreError) -> Value
  ) throws(PersistentStoreError) -> Value {
    let descriptor = try SystemCall.open(path, O_RDONLY, doing: "open the plug-in")
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw SystemCall.error(errno, "inspect the plug-in", path) }
    let file = LibraryFile(descriptor: descriptor, path: path, size: UInt64(clamping: status.st_size))
    return try body(file)
  }

  private func refused(_ reason: String) -> PersistentStoreError {
    PersistentStoreError(.notSupported, reason, at: StoreLocation(file: path))
  }

  /// The number of this kind of machine (`e_machine`).
  private static var machine: UInt64? {
    #if arch(x86_64)
      62
    #elseif arch(arm64)
      183
    #elseif arch(riscv64)
      243
    #else
      nil
    #endif
  }

  // MARK: Headers

  private func segments() throws(PersistentStoreError) -> [Segment] {
    let isNot = "this is not a dynamic library"
    guard size >= 4, try bytes(0, 4) == [0x7F, UInt8(ascii: "E"), UInt8(ascii: "L"), UInt8(ascii: "F")] else {
      throw refused(isNot)
    }
    guard size >= Self.headerSize else { throw cut(UInt64(Self.headerSize)) }
    let header = try bytes(0, Self.headerSize)
    // 64 bits, little-endian, as on all supported machines; a shared object.
    let machine = Self.number(header, at: 18, 2)
    guard header[4] == 2, header[5] == 1, Self.machine.map({ $0 == machine }) ?? true else {
      throw refused("this is a library for another kind of machine")
    }
    guard Self.number(header, at: 16, 2) == 3 else { throw refused(isNot) }
    let entry = (size: Self.number(header, at: 54, 2), count: Self.number(header, at: 56, 2))
    let offset = Self.number(header, at: 32, 8)
    guard entry.size >= Self.segmentSize else { throw refused(isNot) }
    try checkWithin(offset, entry.size * entry.count)
    var segments: [Segment] = []
    for index in 0..<entry.count {
      let segment = Segment(try bytes(offset + index * entry.size, Self.segmentSize))
      try checkWithin(segment.offset, segment.fileSize)
      segments.append(segment)
    }
    try checkSections(header)
    try checkMapping(segments)
    return segments
  }

  private func checkSections(_ header: [UInt8]) throws(PersistentStoreError) {
    let offset = Self.number(header, at: 40, 8)
    let entry = (size: Self.number(header, at: 58, 2), count: Self.number(header, at: 60, 2))
    guard entry.count == 0 || entry.size >= Self.sectionSize else { throw refused("this is not a dynamic library") }
    try checkWithin(offset, entry.size * entry.count)
    for index in 0..<entry.count {
      let section = try bytes(offset + index * entry.size, Self.sectionSize)
      guard Self.number(section, at: 4, 4) != Self.sectionOfZeros else { continue }
      try checkWithin(Self.number(section, at: 24, 8), Self.number(section, at: 32, 8))
    }
  }

  /// The loader maps the segments as they are described, and relies on their order.
  private func checkMapping(_ segments: [Segment]) throws(PersistentStoreError) {
    let damaged = refused("its headers contradict each other: the file is damaged; copy it again")
    var end: UInt64 = 0
    let loads = segments.filter { $0.type == Segment.load }
    for load in loads {
      let (last, isBeyond) = load.address.addingReportingOverflow(load.memorySize)
      guard !isBeyond, last <= UInt64(Int64.max), load.address >= end, load.fileSize <= load.memorySize,
        load.alignment.nonzeroBitCount == 1, load.address % load.alignment == load.offset % load.alignment
      else { throw damaged }
      end = last
    }
    let dynamic = segments.filter { $0.type == Segment.dynamic }
    guard dynamic.count == 1,
      loads.contains(where: { load in
        dynamic[0].address >= load.address && dynamic[0].address - load.address <= load.fileSize
          && dynamic[0].fileSize <= load.fileSize - (dynamic[0].address - load.address)
      })
    else { throw damaged }
  }

  private func checkWithin(_ offset: UInt64, _ length: UInt64) throws(PersistentStoreError) {
    let (end, isBeyond) = offset.addingReportingOverflow(length)
    guard !isBeyond, end <= size else { throw cut(isBeyond ? .max : end) }
  }

  private func cut(_ end: UInt64) -> PersistentStoreError {
    refused("the file is truncated: it has \(size) bytes, but its headers refer to \(end); copy it again")
  }

  // MARK: Notes

  /// Notes follow each other: three sizes, then owner and content, each filled up to four bytes.
  private func notes(in segment: Segment) throws(PersistentStoreError) -> [Note] {
    // Notes with another alignment are of another kind.
    guard segment.alignment <= 4, segment.fileSize <= Self.maximumNoteBytes else { return [] }
    let all = try bytes(segment.offset, Int(segment.fileSize))
    var notes: [Note] = []
    var place = 0
    while all.count - place >= 12 {
      let owner = place + 12..<place + 12 + Int(Self.number(all, at: place, 4))
      let start = owner.lowerBound + Self.filledUp(owner.count)
      let content = start..<start + Int(Self.number(all, at: place + 4, 4))
      guard content.upperBound <= all.count else { break }
      notes.append(
        Note(owner: Array(all[owner]), type: Self.number(all, at: place + 8, 4), content: Array(all[content])))
      place = start + Self.filledUp(content.count)
    }
    return notes
  }

  private static func filledUp(_ count: Int) -> Int { (count + 3) / 4 * 4 }

  // MARK: Symbols

  private func undefinedSymbols() throws(PersistentStoreError) -> [String] {
    let header = try bytes(0, Self.headerSize)
    let offset = Self.number(header, at: 40, 8)
    let entry = (size: Self.number(header, at: 58, 2), count: Self.number(header, at: 60, 2))
    var found: [String] = []
    for index in 0..<entry.count {
      let section = try bytes(offset + index * entry.size, Self.sectionSize)
      guard Self.number(section, at: 4, 4) == Self.sectionOfSymbols else { continue }
      let link = Self.number(section, at: 40, 4)
      guard link < entry.count else { throw refused("its table of symbols has no names: the file is damaged") }
      let symbols = try content(of: section)
      let names = try content(of: try bytes(offset + link * entry.size, Self.sectionSize))
      // Names may share bytes, so that their lengths say more than the table's.
      var total = 0
      for place in stride(from: 0, through: symbols.count - Self.symbolSize, by: Self.symbolSize)
      where Self.number(symbols, at: place + 6, 2) == 0 {
        let name = names.dropFirst(Int(Self.number(symbols, at: place, 4))).prefix(Self.maximumNameBytes + 1)
          .prefix { $0 != 0 }
        total += name.count
        guard name.count <= Self.maximumNameBytes, total <= Int(Self.maximumSymbolBytes) else {
          throw refused("the names of its symbols are too long")
        }
        found.append(String(decoding: name, as: UTF8.self))
      }
    }
    return found
  }

  private func content(of section: [UInt8]) throws(PersistentStoreError) -> [UInt8] {
    let size = Self.number(section, at: 32, 8)
    guard size <= Self.maximumSymbolBytes else { throw refused("its table of symbols is too large") }
    return try bytes(Self.number(section, at: 24, 8), Int(size))
  }

  // MARK: Bytes

  private func bytes(_ offset: UInt64, _ count: Int) throws(PersistentStoreError) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: count)
    let got = buffer.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, count, off_t(clamping: offset)) }
    guard got == count else { throw refused("the plug-in cannot be read") }
    return buffer
  }

  /// A little-endian number.
  static func number(_ bytes: [UInt8], at place: Int, _ length: Int) -> UInt64 {
    (0..<length).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
  }
}
