public import AtomicStoreSPI
import StoreCodecs

/// Changing the metadata alone.
extension XMLStore {
  /// Replaces the `<metadata>` element and copies everything else byte for byte, including Core Data's order of
  /// elements, which a full save would change, and anything between them.
  ///
  /// - Returns: False for a document that is not UTF-8, or does not have this element.
  public mutating func saveMetadata(
    _ metadata: StoreMetadata, in source: StoreSource, to staged: StagedFiles
  ) throws(PersistentStoreError) -> Bool {
    try Self.refuseOwnKeys(metadata.entries)
    let reader = HeaderReader(file: source.name)
    reader.maximumDepth = maximumDepth
    try reader.read(source, chunk: 16 * 1024)
    guard let header = reader.header else { return false }
    var entries = metadata.entries
    // The model is kept as in the file.
    entries[Schema.key] = header.entries[Schema.key]
    let bytes = try source.bytes()
    return try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      let text: Bytes = raw.assumingMemoryBound(to: UInt8.self)
      guard let range = MetadataElement.range(in: text) else { return false }
      let file = try staged.file()
      let writer = ByteWriter { bytes throws(PersistentStoreError) in try file.write(bytes) }
      writer.append(UnsafeRawBufferPointer(rebasing: raw[..<range.lowerBound]))
      try MetadataText.append(entries, isInline: true, to: writer)
      writer.append(UnsafeRawBufferPointer(rebasing: raw[range.upperBound...]))
      try writer.finish()
      return true
    }
  }

  /// - Throws: `.invalidValue` for entries whose keys the format uses itself.
  static func refuseOwnKeys(_ entries: PropertyListDictionary) throws(PersistentStoreError) {
    for key in [Schema.key, MetadataText.exactKey] where entries[key] != nil {
      throw PersistentStoreError(.invalidValue, "the metadata key '\(key)' is reserved by the format")
    }
  }
}

/// Locates the metadata in a document that was read without an error, so it is known to be well-formed.
enum MetadataElement {
  /// The range from `<metadata` to the end of `</metadata>`; nil if the document does not have it, or is not UTF-8.
  static func range(in bytes: Bytes) -> Range<Int>? {
    var scanner = TagScanner(bytes)
    guard scanner.isUTF8() else { return nil }
    var depth = 0
    var start: Int?
    while let tag = scanner.next() {
      switch tag.kind {
      case .end:
        depth -= 1
        if let start, depth == 2 { return start..<tag.range.upperBound }
      case .start, .empty:
        // Inside <database> and <databaseInfo>; no object precedes it.
        if depth == 2, start == nil, tag.isNamed("metadata", in: bytes) {
          if tag.kind == .empty { return tag.range }
          start = tag.range.lowerBound
        }
        if tag.kind == .start { depth += 1 }
      }
    }
    return nil
  }
}

/// Iterates over tags, skipping comments, processing instructions, CDATA and the document type.
private struct TagScanner {
  enum Kind { case start, end, empty }
  struct Tag {
    var kind: Kind
    var range: Range<Int>

    func isNamed(_ name: StaticString, in bytes: Bytes) -> Bool {
      let count = name.utf8CodeUnitCount
      guard range.count > count + 1 else { return false }
      for index in 0..<count where bytes[range.lowerBound + 1 + index] != name.utf8Start[index] { return false }
      return [
        UInt8(ascii: ">"), UInt8(ascii: "/"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"),
        UInt8(ascii: "\r"),
      ]
      .contains(bytes[range.lowerBound + 1 + count])
    }
  }

  private let bytes: Bytes
  private var position = 0

  init(_ bytes: Bytes) { self.bytes = bytes }

  /// Whether neither a byte-order mark, nor zeros between letters, nor the declaration specifies another encoding.
  func isUTF8() -> Bool {
    guard let first = bytes.first, first != 0, first != 0xFE, first != 0xFF, bytes.count > 1, bytes[1] != 0 else {
      return false
    }
    let declaration = String(decoding: bytes.prefix(200).prefix { $0 != UInt8(ascii: ">") }, as: UTF8.self).lowercased()
    return !declaration.contains("encoding") || declaration.contains("utf-8")
  }

  mutating func next() -> Tag? {
    while position < bytes.count {
      guard bytes[position] == UInt8(ascii: "<") else {
        position += 1
        continue
      }
      if skip("<!--", to: "-->") || skip("<![CDATA[", to: "]]>") || skip("<?", to: "?>") { continue }
      let start = position
      let end = endOfTag()
      position = end
      guard start + 1 < end, bytes[start + 1] != UInt8(ascii: "!") else { continue }
      if bytes[start + 1] == UInt8(ascii: "/") { return Tag(kind: .end, range: start..<end) }
      return Tag(kind: end - start > 2 && bytes[end - 2] == UInt8(ascii: "/") ? .empty : .start, range: start..<end)
    }
    return nil
  }

  /// The offset after the `>` that is not inside quotes.
  private func endOfTag() -> Int {
    var index = position
    var quote: UInt8?
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      if let open = quote {
        if byte == open { quote = nil }
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        quote = byte
      } else if byte == UInt8(ascii: ">") {
        break
      }
    }
    return index
  }

  private mutating func skip(_ opening: StaticString, to closing: StaticString) -> Bool {
    guard matches(opening, at: position) else { return false }
    position += opening.utf8CodeUnitCount
    while position < bytes.count, !matches(closing, at: position) { position += 1 }
    position = min(position + closing.utf8CodeUnitCount, bytes.count)
    return true
  }

  private func matches(_ word: StaticString, at place: Int) -> Bool {
    guard bytes.count - place >= word.utf8CodeUnitCount else { return false }
    for index in 0..<word.utf8CodeUnitCount where bytes[place + index] != word.utf8Start[index] { return false }
    return true
  }
}
