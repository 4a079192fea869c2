import AtomicStoreSPI

/// Opens the tables of an import.
enum SourceReading {
  /// Calls a body with the reader of a table.
  ///
  /// - Parameters:
  ///   - forms: What may be an object in the form of `fetch --json`, if the model is known.
  ///   - json: What a reader of this table found before: see ``RecordReader/json``.
  ///   - maximumMemory: The limit for what a reader finds now.
  static func withReader<Value>(
    _ text: StoreBytes, _ conventions: TextConventions, _ name: String, _ forms: ObjectForms? = nil,
    json: JSONRecords? = nil, maximumMemory: Int = .max,
    _ body: (inout any RecordReader) throws -> Value
  ) throws -> Value {
    do {
      return try text.withUnsafeBytes { raw in
        let bytes = raw.assumingMemoryBound(to: UInt8.self)
        try refuseOtherFiles(bytes)
        let isJSON =
          JSONRecordReader.isJSON(bytes) || ImportSource.holdsJSONLines(name) && JSONRecordReader.isBlank(bytes)
        let plain = ImportSource.plainName(name)
        guard isJSON || bytes.isEmpty || ![".json", ".ndjson", ".jsonl"].contains(where: { plain.hasSuffix($0) }) else {
          throw PersistentStoreError(.malformed, "this is neither an array of JSON objects nor objects on lines")
        }
        var reader: any RecordReader =
          isJSON
          ? try JSONRecordReader(bytes, forms, json, maximumMemory: maximumMemory)
          : try CSVRecordReader(bytes, conventions, fileName: plain)
        return try body(&reader)
      }
    } catch let error as PersistentStoreError {
      throw error.located(StoreLocation(file: name)).withHint
    }
  }
}

extension SourceReading {
  /// Files that are often taken for tables, and what their first bytes are. As text they would be one strange column.
  private static let otherFiles: [(start: [UInt8], what: String)] = [
    ([0x50, 0x4B, 0x03, 0x04], "a ZIP archive within a compressed file"),
    ([0x50, 0x4B, 0x05, 0x06], "a ZIP archive without members"),
    ([0x1F, 0x8B], "compressed with gzip twice: decompress it first"),
    (Array("%PDF-".utf8), "a PDF document"), (Array("<?xml".utf8), "an XML document"),
    (Array("<!DOCTYPE".utf8), "an XML or HTML document"), (Array("<html".utf8), "an HTML document"),
    (Array("bplist".utf8), "a binary property list"), (Array("SQLite format 3".utf8), "an SQLite database"),
  ]

  private static func refuseOtherFiles(_ bytes: UnsafeBufferPointer<UInt8>) throws(PersistentStoreError) {
    for (start, what) in otherFiles where bytes.starts(with: start) {
      throw PersistentStoreError(.foreignFormat, "this is not a table, but \(what)")
    }
  }
}

extension PersistentStoreError {
  /// The error with what would help, where the bytes are not UTF-8, or quotes not those of RFC 4180.
  var withHint: PersistentStoreError {
    if message.contains("a quote within an unquoted field") {
      var copy = self
      copy.message += "; --quotes lax reads it as a character"
      return copy
    }
    guard message.contains("not UTF-8") || message.contains("not valid UTF-8") else { return self }
    var copy = self
    copy.message += "; the encoding may be windows-1252 or latin-1"
    return copy
  }
}
