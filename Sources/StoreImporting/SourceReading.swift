import AtomicStoreSPI

/// Opens the tables of an import.
enum SourceReading {
  /// Calls a body with the reader of a table.
  static func withReader<Value>(
    _ text: StoreBytes, _ conventions: TextConventions, _ name: String,
    _ body: (inout any RecordReader) throws -> Value
  ) throws -> Value {
    do {
      return try text.withUnsafeBytes { raw in
        let bytes = raw.assumingMemoryBound(to: UInt8.self)
        var reader: any RecordReader =
          JSONRecordReader.isJSON(bytes) ? try JSONRecordReader(bytes) : try CSVRecordReader(bytes, conventions)
        return try body(&reader)
      }
    } catch let error as PersistentStoreError {
      throw error.located(StoreLocation(file: name)).withEncodingHint
    }
  }
}

extension PersistentStoreError {
  /// The error with what would help, where the bytes are not UTF-8.
  fileprivate var withEncodingHint: PersistentStoreError {
    guard message.contains("not UTF-8") else { return self }
    var copy = self
    copy.message += "; the encoding may be windows-1252 or latin-1"
    return copy
  }
}
