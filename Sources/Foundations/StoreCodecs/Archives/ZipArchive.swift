import CZlib
package import StorePrimitives

/// A ZIP archive in memory: its members, checked against its bounds.
///
/// Members that no other program should need are refused by name: encrypted ones, those of ZIP64, of other methods than
/// DEFLATE, links, paths that lead elsewhere, and members that share bytes, of which archives are made that expand
/// without end.
package struct ZipArchive {
  /// A file in the archive.
  package struct Member {
    /// The path, with slashes.
    package var name: String
    /// Where the compressed bytes are.
    fileprivate var range: Range<Int>
    fileprivate var isCompressed: Bool
    fileprivate var size: Int
    fileprivate var checksum: UInt32
  }

  /// The files, in the order of the archive's list. Directories are left out.
  package private(set) var members: [Member] = []
  private let bytes: [UInt8]

  /// Whether bytes begin as an archive with a member does.
  package static func isArchive(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: localSignature) }

  private static let localSignature: [UInt8] = Array("PK".utf8) + [3, 4]
  private static let listSignature: [UInt8] = Array("PK".utf8) + [1, 2]
  private static let endSignature: [UInt8] = Array("PK".utf8) + [5, 6]
  private static let endSize = 22
  private static let listEntrySize = 46
  private static let localHeaderSize = 30
  private static let largestComment = 0xFFFF
  private static let deflate = 8
  /// The kind of file of a symbolic link, in the upper half of its attributes.
  private static let linkMode = 0xA000

  /// Reads the list of members.
  ///
  /// - Throws: `.malformed` with the offset; `.notSupported` for what the format has and this reader does not.
  package init(_ bytes: [UInt8]) throws(PersistentStoreError) {
    self.bytes = bytes
    let end = try endOfList()
    let count = number(end + 10, 2)
    let (size, start) = (number(end + 12, 4), number(end + 16, 4))
    guard number(end + 4, 2) == 0, number(end + 6, 2) == 0, number(end + 8, 2) == count else {
      throw PersistentStoreError(.notSupported, "the archive is one part of several")
    }
    guard count < 0xFFFF, size < 0xFFFF_FFFF, start < 0xFFFF_FFFF else {
      throw PersistentStoreError(.notSupported, "the archive has the form of ZIP64, which is not read")
    }
    guard start + size <= end else { throw Self.malformed("the list of members does not fit", end) }
    var place = start
    var ends: [(start: Int, end: Int, name: String)] = []
    for _ in 0..<count { try readEntry(&place, listStart: start, &ends) }
    guard place == start + size else { throw Self.malformed("the list of members has another size", place) }
    ends.sort { $0.start < $1.start }
    for (one, next) in zip(ends, ends.dropFirst()) where one.end > next.start {
      throw Self.malformed("the members '\(one.name)' and '\(next.name)' share bytes", next.start)
    }
  }

  private static func malformed(_ what: String, _ offset: Int) -> PersistentStoreError {
    PersistentStoreError(.malformed, what, at: StoreLocation(offset: offset))
  }

  /// A little-endian number. What is read has been checked to be within the archive.
  private func number(_ offset: Int, _ width: Int) -> Int {
    (0..<width).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
  }

  private func begins(_ signature: [UInt8], at offset: Int) -> Bool {
    offset >= 0 && offset + signature.count <= bytes.count && bytes[offset...].starts(with: signature)
  }

  private func endOfList() throws(PersistentStoreError) -> Int {
    var place = bytes.count - Self.endSize
    while place >= max(0, bytes.count - Self.endSize - Self.largestComment) {
      if begins(Self.endSignature, at: place), place + Self.endSize + number(place + 20, 2) == bytes.count {
        return place
      }
      place -= 1
    }
    throw Self.malformed("the archive has no list of its members: it is truncated", bytes.count)
  }

  private mutating func readEntry(
    _ place: inout Int, listStart: Int, _ ends: inout [(start: Int, end: Int, name: String)]
  ) throws(PersistentStoreError) {
    guard begins(Self.listSignature, at: place), place + Self.listEntrySize <= bytes.count else {
      throw Self.malformed("the list of members is damaged", place)
    }
    let nameLength = number(place + 28, 2)
    let next = place + Self.listEntrySize + nameLength + number(place + 30, 2) + number(place + 32, 2)
    guard next <= bytes.count else { throw Self.malformed("the list of members is truncated", place) }
    let name = String(
      decoding: bytes[place + Self.listEntrySize..<place + Self.listEntrySize + nameLength], as: UTF8.self)
    func refuse(_ what: String) -> PersistentStoreError {
      PersistentStoreError(.notSupported, "the member '\(name)' \(what)", at: StoreLocation(offset: place))
    }
    let (flags, method) = (number(place + 8, 2), number(place + 10, 2))
    let (packed, size, local) = (number(place + 20, 4), number(place + 24, 4), number(place + 42, 4))
    let (checksum, fileMode) = (number(place + 16, 4), number(place + 40, 2))
    let parts = name.split(separator: "/", omittingEmptySubsequences: false)
    guard !name.isEmpty, !name.hasPrefix("/"), !parts.contains(".."), !name.contains("\\"), !name.contains("\0"),
      !name.contains(":")
    else { throw refuse("has a path that leads out of the archive") }
    guard packed < 0xFFFF_FFFF, size < 0xFFFF_FFFF, local < 0xFFFF_FFFF else {
      throw refuse("has the form of ZIP64, which is not read")
    }
    guard flags & 1 == 0 else { throw refuse("is encrypted") }
    guard fileMode & 0xF000 != Self.linkMode else { throw refuse("is a link") }
    guard local + Self.localHeaderSize <= listStart, begins(Self.localSignature, at: local) else {
      throw Self.malformed("the member '\(name)' is not where the list says", place)
    }
    let start = local + Self.localHeaderSize + number(local + 26, 2) + number(local + 28, 2)
    guard start + packed <= listStart else { throw Self.malformed("the member '\(name)' is truncated", local) }
    place = next
    ends.append((local, start + packed, name))
    if name.hasSuffix("/") { return }
    guard method == 0 || method == Self.deflate else {
      throw refuse("is compressed with the method \(method), and not with DEFLATE")
    }
    members.append(
      Member(
        name: name, range: start..<start + packed, isCompressed: method == Self.deflate, size: size,
        checksum: UInt32(truncatingIfNeeded: checksum)))
  }

  /// The bytes of a member.
  ///
  /// - Parameter maximumCount: The maximum size of the result.
  /// - Throws: `.malformed` for a member that is damaged; `.limitExceeded` for one that is larger.
  package func contents(of member: Member, maximumCount: Int) throws(PersistentStoreError) -> [UInt8] {
    do throws(PersistentStoreError) {
      guard member.size <= maximumCount else {
        throw PersistentStoreError(.limitExceeded, "the decompressed data is larger than \(maximumCount) bytes")
      }
      let packed = Array(bytes[member.range])
      let result = member.isCompressed ? try RawDeflate.inflate(packed, maximumCount: member.size) : packed
      guard result.count == member.size else {
        throw Self.malformed("has another size than the list says", member.range.lowerBound)
      }
      let found = result.withUnsafeBufferPointer { crc32(0, $0.baseAddress, UInt32(truncatingIfNeeded: $0.count)) }
      guard found == UInt(member.checksum) else {
        throw Self.malformed("does not have the checksum that the list says: it is damaged", member.range.lowerBound)
      }
      return result
    } catch {
      // More than the list says is damage, and not a limit.
      let code = error.code == .limitExceeded && member.size > maximumCount ? error.code : .malformed
      throw PersistentStoreError(code, "the member '\(member.name)': \(error.message)", at: error.location)
    }
  }
}
