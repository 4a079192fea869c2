import AtomicStoreSPI

/// Values that Core Data keeps in their own files beside the store: binary attributes that allow external storage.
///
/// A cell begins with 1, and the data follow, or with 2, and a file's name follows: a UUID of 36 characters and a NUL.
/// Where the model is not known, a column that holds such a name, and nothing else than such cells, is one of these.
final class ExternalData {
  /// The first byte of a cell that the value follows.
  static let inlineMark: UInt8 = 1
  /// The first byte of a cell that the name of a file follows.
  static let fileMark: UInt8 = 2

  private let source: StoreSource
  private let folder: String?
  private let limits: StoreLimits
  private var missing: [ScalarString: (count: Int, example: String, first: StoreLocation)] = [:]

  /// Conditions in SQL: for a cell that names a file, and for one that is neither null nor external data.
  static func conditions(_ column: String) -> (isFileName: String, isOther: String) {
    let name = SQLiteDatabase.quoted(column)
    func byte(_ place: Int, _ value: String) -> String { "substr(\(name), \(place), 1) IS X'\(value)'" }
    // The name of a file is a UUID, with its hyphens.
    let marks = [byte(1, "02"), byte(10, "2D"), byte(15, "2D"), byte(20, "2D"), byte(25, "2D"), byte(38, "00")]
    let isFileName = "(typeof(\(name)) = 'blob' AND length(\(name)) = 38 AND \(marks.joined(separator: " AND ")))"
    let isInline = "(typeof(\(name)) = 'blob' AND \(byte(1, "01")))"
    return (isFileName, "(\(name) IS NOT NULL AND NOT \(isFileName) AND NOT \(isInline))")
  }

  init(_ source: StoreSource, _ limits: StoreLimits) {
    self.source = source
    self.limits = limits
    folder = source.fileName.map { Self.directory(of: $0) }
  }

  /// The directory beside a store's file.
  static func directory(of fileName: String) -> String { ".\(stem(fileName))_SUPPORT/_EXTERNAL_DATA" }

  /// A file's name without its extension.
  private static func stem(_ name: String) -> String {
    guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return name }
    return String(name[..<dot])
  }

  /// Sets the value of a cell.
  ///
  /// - Throws: `.malformed` for a cell that is neither form.
  func set(_ cell: UnsafeRawBufferPointer, slot: Int, of nodes: NodeTableBuilder) throws(PersistentStoreError) {
    switch cell.first {
    case Self.inlineMark:
      try nodes.set(
        bytes: Span(_unsafeElements: UnsafeRawBufferPointer(rebasing: cell[1...]).assumingMemoryBound(to: UInt8.self)),
        slot: slot)
    case Self.fileMark:
      let name = try Self.fileName(cell, at: nodes.location(slot))
      guard
        let file = try folder.map({ (folder) throws(PersistentStoreError) in
          try source.companion(named: folder + "/" + name)
        }) ?? nil, !file.isFolder
      else { return note(name, nodes.location(slot)) }
      let size = try file.totalSize()
      guard size <= limits.valueBytes else {
        throw PersistentStoreError(
          .limitExceeded,
          "the file \(name) has \(size) bytes: more than the limit 'maximumValueBytes' of \(limits.valueBytes)",
          at: nodes.location(slot))
      }
      let bytes = try file.bytes()
      nodes.addInput(bytes: size)
      try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
        try nodes.set(bytes: Span(_unsafeElements: raw.assumingMemoryBound(to: UInt8.self)), slot: slot)
      }
    default:
      throw PersistentStoreError(
        .malformed,
        "the value says neither that it is stored here (1) nor in a file (2): it begins with \(cell.first.map { String($0) } ?? "nothing")",
        at: nodes.location(slot))
    }
  }

  private static func fileName(_ cell: UnsafeRawBufferPointer, at place: StoreLocation) throws(PersistentStoreError)
    -> String
  {
    guard let name = fileName(cell) else {
      throw PersistentStoreError(.malformed, "the name of the value's file is not a UUID", at: place)
    }
    return name
  }

  /// The name of the file that a cell names; nil if it does not name one.
  static func fileName(_ cell: UnsafeRawBufferPointer) -> String? {
    guard cell.first == fileMark else { return nil }
    let text = cell.dropFirst().prefix { $0 != 0 }
    let isName =
      text.count == 36
      && text.allSatisfy {
        $0 == UInt8(ascii: "-") || $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9")
          || $0 | 0x20 >= UInt8(ascii: "a") && $0 | 0x20 <= UInt8(ascii: "f")
      }
    return isName ? String(decoding: text, as: UTF8.self) : nil
  }

  private func note(_ name: String, _ place: StoreLocation) {
    let subject = ScalarString("\(place.entity ?? "").\(place.property ?? "")")
    if missing[subject] != nil {
      missing[subject]?.count += 1
      return
    }
    let file = (folder.map { $0 + "/" } ?? "") + name
    missing[subject] = (1, "\(place.entity ?? "")/\(place.reference ?? ""), file \(file)", place)
  }

  func report(to source: StoreSource) {
    for (subject, entry) in missing.sorted(by: { $0.key < $1.key }) {
      source.report(
        LoadNote(
          subject: subject.string, count: entry.count, text: "data in files that are missing", example: entry.example,
          isLoss: true, location: entry.first.filled(from: StoreLocation(file: source.name))))
    }
  }
}
