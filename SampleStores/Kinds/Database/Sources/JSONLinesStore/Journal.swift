import AtomicStoreSPI
import Glibc

/// The file: a header, and one record after the other.
///
/// The header says which part of the file counts. A record is written behind that part and synced before the header
/// says so: what is there when a process is killed is the last transaction that was completed, and nothing of the next.
/// The file itself is never replaced: the kit refuses to use a connection whose path has another file.
struct Journal: Sendable {
  static let magic: StaticString = "JSONLines journal 1\n"
  private static let magicBytes = magic.withUTF8Buffer { Array($0) }
  /// The header is the magic text, start and end of what counts, and a checksum of both. A record is its length, a
  /// checksum, and its bytes. All numbers have eight bytes, the least significant first.
  private static let numberSize = 8
  private static let headerSize = magicBytes.count + 3 * numberSize
  private static let recordHead = 2 * numberSize

  /// The part of the file that counts: the record that replaced all that came before it, and what follows it.
  struct Extent: Equatable {
    var start: Int
    var end: Int
  }

  let path: String
  let isReadOnly: Bool
  private var descriptor: Int32 = -1

  init(path: String, isReadOnly: Bool) {
    self.path = path
    self.isReadOnly = isReadOnly
  }

  // MARK: The file

  /// Opens the file, unless it is open; false if there is none.
  mutating func open(creates: Bool) throws(PersistentStoreError) -> Bool {
    if descriptor >= 0 { return true }
    let access = (isReadOnly ? O_RDONLY : O_RDWR) | O_CLOEXEC | (creates ? O_CREAT : 0)
    let opened = Glibc.open(path, access, 0o666)
    if opened < 0, errno == ENOENT, !creates { return false }
    guard opened >= 0 else { throw failure("cannot open the file") }
    var status = stat()
    guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      Glibc.close(opened)
      throw PersistentStoreError(.unsupportedFileKind, "this is not a file", at: StoreLocation(file: path))
    }
    descriptor = opened
    return true
  }

  mutating func close() {
    if descriptor >= 0 { Glibc.close(descriptor) }
    descriptor = -1
  }

  mutating func remove() throws(PersistentStoreError) {
    close()
    guard unlink(path) == 0 || errno == ENOENT else { throw failure("cannot remove the file") }
  }

  /// Waits until no other connection writes; alone, until no other one reads either.
  func lock(alone: Bool) throws(PersistentStoreError) {
    while flock(descriptor, alone ? LOCK_EX : LOCK_SH) != 0 {
      guard errno == EINTR else { throw failure("cannot lock the file") }
    }
  }
  func unlock() { flock(descriptor, LOCK_UN) }

  // MARK: Header and records

  /// The current records; nil for a file without a store, which is empty, or whose creator was killed.
  func extent() throws(PersistentStoreError) -> Extent? {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("cannot read the file") }
    guard status.st_nlink > 0 else { throw PersistentStoreError(.unavailable, "the file was removed") }
    if status.st_size == 0 { return nil }
    guard status.st_size >= Self.headerSize else { throw malformed("the file is shorter than its header", at: 0) }
    let header = try bytes(at: 0, count: Self.headerSize)
    guard header.starts(with: Self.magicBytes) else {
      throw PersistentStoreError(.foreignFormat, "the file is not a journal", at: StoreLocation(file: path))
    }
    let numbers = Array(header.dropFirst(Self.magicBytes.count))
    if numbers.allSatisfy({ $0 == 0 }) { return nil }
    let extent = Extent(start: Self.number(numbers, 0), end: Self.number(numbers, 1))
    guard Self.checksum(numbers.prefix(2 * Self.numberSize)) == UInt64(truncatingIfNeeded: Self.number(numbers, 2)),
      extent.start >= Self.headerSize, extent.end >= extent.start
    else { throw malformed("the header is damaged", at: Self.magicBytes.count) }
    guard extent.end <= status.st_size else {
      throw malformed("the file ends before the \(extent.end) bytes that its header counts", at: Int(status.st_size))
    }
    return extent
  }

  /// The bytes of the record at a position, and where the next one begins.
  func record(at position: Int, until end: Int) throws(PersistentStoreError) -> (bytes: [UInt8], end: Int) {
    guard end - position >= Self.recordHead else { throw malformed("half a record", at: position) }
    let head = try bytes(at: position, count: Self.recordHead)
    let length = Self.number(head, 0)
    guard length >= 0, length <= end - position - Self.recordHead else {
      throw malformed("the record is longer than what is left", at: position)
    }
    let bytes = try bytes(at: position + Self.recordHead, count: length)
    guard Self.checksum(bytes[...]) == UInt64(truncatingIfNeeded: Self.number(head, 1)) else {
      throw malformed("the record is damaged", at: position)
    }
    return (bytes, position + Self.recordHead + length)
  }

  /// Writes a header of which nothing counts yet.
  func begin() throws(PersistentStoreError) {
    guard ftruncate(descriptor, 0) == 0 else { throw failure("cannot write the file") }
    try write(Self.magicBytes + [UInt8](repeating: 0, count: Self.headerSize - Self.magicBytes.count), at: 0)
  }

  /// Appends a record, durably.
  ///
  /// - Parameter startsHere: Whether nothing before it counts any more.
  /// - Returns: What counts now. If it fails, nothing has changed.
  func append(_ record: [UInt8], startsHere: Bool) throws(PersistentStoreError) -> Extent {
    let before = try extent()
    let position = before?.end ?? Self.headerSize
    try write(
      Self.bytes(record.count) + Self.bytes(Int(truncatingIfNeeded: Self.checksum(record[...]))) + record, at: position)
    guard fdatasync(descriptor) == 0 else { throw failure("cannot write the file") }
    let new = Extent(
      start: startsHere ? position : before?.start ?? position, end: position + Self.recordHead + record.count)
    let numbers = Self.bytes(new.start) + Self.bytes(new.end)
    try write(numbers + Self.bytes(Int(truncatingIfNeeded: Self.checksum(numbers[...]))), at: Self.magicBytes.count)
    guard fdatasync(descriptor) == 0 else { throw failure("cannot write the file") }
    return new
  }

  // MARK: Bytes

  private func bytes(at position: Int, count: Int) throws(PersistentStoreError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    var done = 0
    while done < count {
      let got = bytes.withUnsafeMutableBytes { raw in
        pread(descriptor, raw.baseAddress.map { $0 + done }, count - done, off_t(position + done))
      }
      if got < 0, errno == EINTR { continue }
      guard got >= 0 else { throw failure("cannot read the file") }
      guard got > 0 else { throw malformed("the file ends here", at: position + done) }
      done += got
    }
    return bytes
  }

  private func write(_ bytes: [UInt8], at position: Int) throws(PersistentStoreError) {
    var done = 0
    while done < bytes.count {
      let put = bytes.withUnsafeBytes { raw in
        pwrite(descriptor, raw.baseAddress.map { $0 + done }, bytes.count - done, off_t(position + done))
      }
      if put < 0, errno == EINTR { continue }
      guard put >= 0 else { throw failure("cannot write the file") }
      done += put
    }
  }

  private static func bytes(_ number: Int) -> [UInt8] { withUnsafeBytes(of: number.littleEndian) { Array($0) } }

  /// The number at an index in a list of numbers.
  private static func number(_ bytes: [UInt8], _ index: Int) -> Int {
    bytes[index * numberSize..<(index + 1) * numberSize].reversed().reduce(0) { $0 << 8 | Int($1) }
  }

  /// FNV-1a, of 64 bits.
  private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.withUnsafeBytes { raw in raw.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 } }
  }

  // MARK: Errors

  private func malformed(_ message: String, at offset: Int) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(file: path, offset: offset))
  }

  /// The error of the last call of the system.
  private func failure(_ what: String) -> PersistentStoreError {
    let number = errno
    let code: PersistentStoreError.Code =
      switch number {
      case EACCES, EPERM: .permissionDenied
      case ENOSPC, EDQUOT: .noSpace
      case EROFS: .readOnly
      default: .inputOutput
      }
    return PersistentStoreError(
      code, "\(what): \(String(cString: strerror(number)))", at: StoreLocation(file: path))
  }
}
