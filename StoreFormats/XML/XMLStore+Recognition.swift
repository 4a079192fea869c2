public import AtomicStoreSPI

extension XMLStore {
  /// Returns `.yes` for `<database>` with `<databaseInfo>` in it, as far as the first bytes show; also for a document
  /// that begins like Core Data's and is then truncated or damaged, so that reading reports the location.
  public static func recognize(_ probe: StoreProbe) -> Recognition {
    guard !probe.isFolder else { return .no }
    var scanner = ProbeScanner(probe.prefix)
    guard scanner.startsDocument() else { return .no }
    while true {
      scanner.skipBlanks()
      if scanner.isAtEnd { return scanner.namesDatabase ? .yes : probe.size == 0 ? .no : .unsure }
      if scanner.skip("<?") {
        guard scanner.skip(past: "?>") else { return .unsure }
      } else if scanner.skip("<!--") {
        guard scanner.skip(past: "-->") else { return .unsure }
      } else if scanner.skip("<!DOCTYPE") {
        scanner.skipDocumentType()
      } else {
        break
      }
    }
    guard scanner.skip("<database"), scanner.isAtEnd || scanner.isAtNameEnd else {
      return scanner.namesDatabase && scanner.isAtEnd ? .yes : .no
    }
    _ = scanner.skip(past: ">")
    while true {
      scanner.skipBlanks()
      if scanner.isAtEnd { return scanner.namesDatabase ? .yes : .unsure }
      guard scanner.skip("<!--") else { break }
      guard scanner.skip(past: "-->") else { return scanner.namesDatabase ? .yes : .unsure }
    }
    if scanner.skip("<databaseInfo") { return .yes }
    return scanner.namesDatabase ? .yes : .no
  }
}

/// Scans the first bytes of a document leniently.
private struct ProbeScanner {
  private var bytes: [UInt8]
  private var index = 0
  /// Whether a document type declaration has the name `database` and Core Data's address.
  private(set) var namesDatabase = false

  init(_ prefix: [UInt8]) {
    // In UTF-16, every second byte of the relevant letters is zero.
    let isWide =
      prefix.starts(with: [0xFF, 0xFE]) || prefix.starts(with: [0xFE, 0xFF])
      || prefix.starts(with: [UInt8(ascii: "<"), 0x00]) || prefix.starts(with: [0x00, UInt8(ascii: "<")])
    bytes = isWide ? prefix.filter { $0 != 0 && $0 != 0xFF && $0 != 0xFE } : prefix
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes.removeFirst(3) }
  }

  mutating func startsDocument() -> Bool {
    skipBlanks()
    return index < bytes.count && bytes[index] == UInt8(ascii: "<")
  }

  var isAtEnd: Bool { index >= bytes.count }
  var isAtNameEnd: Bool {
    isBlank(bytes[index]) || bytes[index] == UInt8(ascii: ">") || bytes[index] == UInt8(ascii: "/")
  }

  private func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
  }

  mutating func skipBlanks() { while index < bytes.count, isBlank(bytes[index]) { index += 1 } }

  mutating func skip(_ word: StaticString) -> Bool {
    let count = word.utf8CodeUnitCount
    guard bytes.count - index >= count else { return false }
    for offset in 0..<count where bytes[index + offset] != word.utf8Start[offset] { return false }
    index += count
    return true
  }

  /// Skips past the word; to the end if it does not occur.
  mutating func skip(past word: StaticString) -> Bool {
    while index < bytes.count {
      if skip(word) { return true }
      index += 1
    }
    return false
  }

  mutating func skipDocumentType() {
    let start = index
    var depth = 0
    while index < bytes.count {
      let byte = bytes[index]
      index += 1
      if byte == UInt8(ascii: "[") {
        depth += 1
      } else if byte == UInt8(ascii: "]") {
        depth -= 1
      } else if byte == UInt8(ascii: ">"), depth <= 0 {
        break
      }
    }
    let text = String(decoding: bytes[start..<index], as: UTF8.self)
    namesDatabase = text.contains("database") && text.contains("CoreData.dtd")
  }
}
