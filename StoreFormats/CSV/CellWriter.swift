import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes cells, quoted only if necessary.
struct CellWriter {
  private let writer: ByteWriter
  private let delimiter: UInt8
  /// Whether to quote strings also because of other delimiters.
  var quotesEveryDelimiter = false
  /// Whether to prefix an apostrophe to strings that a spreadsheet would run.
  var defusesFormulas = false
  var hasDecimalComma = false
  var hasSheetDates = false
  /// Whether most references are probably strings: they are looked for first.
  var hasTexts = false

  init(_ writer: ByteWriter, dialect: CSVDialect) {
    self.writer = writer
    delimiter = dialect.delimiter
  }

  mutating func use(_ style: SheetStyle) {
    defusesFormulas = style.isDefused
    hasDecimalComma = style.hasDecimalComma
    hasSheetDates = style.hasSheetDates
  }

  func append(text: String) {
    var text = text
    text.withUTF8 { append(utf8: Span(_unsafeElements: $0)) }
  }

  func append(reference text: Span<UInt8>) { ReferenceText.append(text, to: writer) }

  /// Writes the cell of a string; the empty string is two quotes, since an empty cell is null.
  func append(utf8 bytes: Span<UInt8>) {
    let count = bytes.count
    if defusesFormulas, Formula.needsDefusing(bytes) { return appendQuoted(bytes, apostrophe: true) }
    guard count > 0, !needsQuotes(bytes) else { return appendQuoted(bytes) }
    writer.append(bytes)
  }

  func append(plain text: String) {
    var copy = self
    copy.defusesFormulas = false
    copy.append(text: text)
  }

  private func needsQuotes(_ bytes: Span<UInt8>) -> Bool {
    let last = bytes.count - 1
    if bytes[0] == UInt8(ascii: " ") || bytes[last] == UInt8(ascii: " ") || bytes[0] == UInt8(ascii: "\t")
      || bytes[last] == UInt8(ascii: "\t") || bytes[0] == 0xEF
    {
      return true
    }
    let delimiter = delimiter
    if quotesEveryDelimiter, bytes.withUnsafeBufferPointer({ $0.contains { ",;\t|".utf8.contains($0) } }) {
      return true
    }
    return bytes.withUnsafeBufferPointer { buffer in
      for byte in buffer where byte <= UInt8(ascii: "|") {
        if byte == delimiter || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
          || byte == 0
        {
          return true
        }
      }
      return false
    }
  }

  private func appendQuoted(_ bytes: Span<UInt8>, apostrophe: Bool = false) {
    writer.append(byte: UInt8(ascii: "\""))
    if apostrophe { writer.append(byte: UInt8(ascii: "'")) }
    for index in 0..<bytes.count {
      if bytes[index] == UInt8(ascii: "\"") { writer.append(byte: UInt8(ascii: "\"")) }
      writer.append(byte: bytes[index])
    }
    writer.append(byte: UInt8(ascii: "\""))
  }

  func append(_ column: CSVStore.Column, _ row: Int, _ reader: EntityReader, _ references: NodeReferences) {
    let slot = column.slot
    switch column.kind {
    case .toOne:
      if let node = reader.toOne(slot: slot, row: row) { append(node, references) }
      return
    case .toMany:
      let list = reader.toMany(slot: slot, row: row)
      for place in 0..<list.count {
        if place > 0 { writer.append(byte: UInt8(ascii: " ")) }
        append(list[place], references)
      }
      return
    default: if reader.isNull(slot: slot, row: row) { return }
    }
    if hasDecimalComma || hasSheetDates, appendForSheet(column, row, reader) { return }
    switch column.kind {
    case .string, .uri: append(utf8: reader.bytes(slot: slot, row: row))
    case .integer: writer.append(integer: reader.integer(slot: slot, row: row))
    case .double: writer.append(double: reader.double(slot: slot, row: row))
    case .float: writer.append(float: reader.float(slot: slot, row: row))
    case .boolean: reader.boolean(slot: slot, row: row) ? writer.append("true") : writer.append("false")
    case .date: writer.append(dateSeconds: reader.double(slot: slot, row: row))
    case .uuid: writer.append(uuid: reader.uuid(slot: slot, row: row))
    case .decimal: writer.append(reader.bytes(slot: slot, row: row))
    case .data:
      let bytes = reader.bytes(slot: slot, row: row)
      guard bytes.count > 0 else { return writer.append("\"\"") }
      // The only character of base64 that begins a formula.
      if defusesFormulas, bytes[0] >> 2 == 62 { writer.append(byte: UInt8(ascii: "'")) }
      Base64.encode(bytes, to: writer)
    case .undefined: append(text: reader.value(slot: slot, row: row).typedText)
    case nil, .toOne, .toMany: break
    }
  }

  /// Writes a number or a date in the form that a spreadsheet recognizes; returns false for other values.
  private func appendForSheet(_ column: CSVStore.Column, _ row: Int, _ reader: EntityReader) -> Bool {
    let own = ByteWriter()
    switch column.kind {
    case .double where hasDecimalComma: own.append(double: reader.double(slot: column.slot, row: row))
    case .float where hasDecimalComma: own.append(float: reader.float(slot: column.slot, row: row))
    case .decimal where hasDecimalComma: own.append(reader.bytes(slot: column.slot, row: row))
    case .date where hasSheetDates: own.append(dateSeconds: reader.double(slot: column.slot, row: row))
    default: return false
    }
    var text = own.takeBytes()
    if column.kind == .date {
      // Dates without a calendar text begin with an at sign.
      guard text.first != UInt8(ascii: "@"), text.last == UInt8(ascii: "Z") else {
        writer.append(text.span)
        return true
      }
      text.removeLast()
      if text.suffix(9).elementsEqual("T00:00:00".utf8) {
        text.removeLast(9)
      } else if let place = text.firstIndex(of: UInt8(ascii: "T")) {
        text[place] = UInt8(ascii: " ")
      }
      writer.append(text.span)
      return true
    }
    if let place = text.firstIndex(of: UInt8(ascii: ".")) { text[place] = UInt8(ascii: ",") }
    if needsQuotes(text.span) { appendQuoted(text.span) } else { writer.append(text.span) }
    return true
  }

  private func append(_ node: NodeHandle, _ references: NodeReferences) {
    if hasTexts, let text = references.text(of: node) { return ReferenceText.append(text, to: writer) }
    if let number = references.integer(of: node) { return writer.append(integer: number) }
    if let text = references.text(of: node) { ReferenceText.append(text, to: writer) }
  }
}
