import AtomicStoreSPI

extension DocumentReader {
  /// Reads the document the fast way, if all of it has the form that Core Data and this format write.
  ///
  /// - Returns: False after anything unexpected, whether an error or only unusual. This reader, and what it filled,
  ///   must then be discarded: a new one has to ``read(_:chunk:)`` the document.
  ///
  /// - Throws: Only the errors of reading the file, never because of its content.
  final func readCanonical(_ source: StoreSource) throws(PersistentStoreError) -> Bool {
    let scanner = CanonicalScanner(self)
    let size = (try? source.totalSize()) ?? 0
    var read = 0
    try source.readChunks(size: Self.canonicalChunk) { bytes throws(PersistentStoreError) in
      read += bytes.count
      noteProgress(read, of: size)
      return scanner.take(bytes)
    }
    guard scanner.isComplete() else { return false }
    do throws(PersistentStoreError) { try endDocument() } catch { return false }
    return true
  }

  private static var canonicalChunk: Int { 64 * 1024 }

  /// Reads only the head in the same way, without libxml2.
  ///
  /// - Returns: The head with its bytes; nil after anything unexpected.
  /// - Throws: Only the errors of reading the file, never because of its content.
  final func readPlainHead(_ source: StoreSource) throws(PersistentStoreError) -> KnownHead? {
    let scanner = CanonicalScanner(self, wantsHeadOnly: true)
    try source.readChunks(size: 16 * 1024) { bytes throws(PersistentStoreError) in scanner.take(bytes) }
    return scanner.foundHead
  }

  /// Reads one of the parts of a document in the same way.
  ///
  /// - Returns: The number of lines that end in it; nil after anything unexpected, or an error of reading.
  final func readCanonical(part: Int, of parts: DocumentParts, _ file: StoreFileReader) -> Int? {
    let scanner = CanonicalScanner(self, isContinuation: part > 0)
    let range = parts.ranges[part]
    var offset = range.lowerBound
    let end = range.upperBound
    while offset < end {
      let room = scanner.room(for: min(Self.canonicalChunk, end - offset))
      guard let got = try? file.read(at: offset, into: room), got > 0 else { return nil }
      offset += got
      noteProgress(offset - range.lowerBound, of: range.count)
      guard scanner.takeRoom(got) else { return nil }
    }
    if part == parts.ranges.count - 1 { return scanner.isComplete() ? 0 : nil }
    return scanner.endOfPart().map { $0 - 1 }
  }
}

/// The parts of a document that can be read at the same time: each but the first begins with an object.
///
/// In the form that ``CanonicalScanner`` understands, a `<` only begins an element. So what looks like the beginning of
/// an object is one, or a part before it contains something unexpected. The first part has the head.
struct DocumentParts: Sendable {
  let ranges: [Range<Int>]

  /// Divides a document into at most that many parts of similar sizes; nil if it cannot be divided.
  init?(_ file: StoreFileReader, count: Int) throws(PersistentStoreError) {
    var starts = [0]
    for number in 1..<max(count, 1) {
      let (product, overflow) = file.size.multipliedReportingOverflow(by: number)
      guard !overflow, let start = try Self.object(in: file, from: product / count) else { break }
      if let last = starts.last, start > last { starts.append(start) }
    }
    guard starts.count > 1 else { return nil }
    ranges = starts.indices.map { starts[$0]..<($0 + 1 < starts.count ? starts[$0 + 1] : file.size) }
  }

  /// Objects that are further away than this many bytes are not searched for.
  private static let reach = 16 << 20

  /// The offset of the first beginning of an object from an offset on.
  private static func object(in file: StoreFileReader, from offset: Int) throws(PersistentStoreError) -> Int? {
    let word = Array("<object type=\"".utf8)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
    defer { buffer.deallocate() }
    var start = offset
    while start < min(offset + reach, file.size) {
      let got = try file.read(at: start, into: buffer)
      guard got >= word.count else { return nil }
      for place in 0...(got - word.count) where buffer[place] == word[0] {
        if buffer[place..<place + word.count].elementsEqual(word) { return start + place }
      }
      start += got - word.count + 1
    }
    return nil
  }
}
