import AtomicStoreSPI
import StoreCodecs

/// The first record of files written by the kit: the name and type of each column.
///
/// `id:Reference`, in a single file `id:Reference Person`; `name:String`, `badge:Integer 16`, `department->Department`,
/// `projects->>Project`, `tasks->>Project (ordered)`. In names `%`, `:`, `>` and `(` are percent-encoded.
enum Header {
  /// The first column of every file written by the kit, by which such files are recognized. In a single file the entity
  /// follows, so that it does not depend on the file name.
  static let identifier = "id:Reference"
  /// The suffixes in a file that is written for spreadsheets, in this order.
  private static let decimalCommaMark = " (decimal comma)"
  private static let sheetDatesMark = " (spreadsheet dates)"
  private static let defusedMark = " (defused)"

  /// What a first column says.
  struct First {
    /// The entity of a single file; nil in a directory, whose metadata specify it.
    var entity: String?
    var style = SheetStyle()
  }

  /// The first column.
  ///
  /// - Parameter entity: The entity of a single file; nil in a directory, whose metadata specify it.
  static func identifier(entity: String?, style: SheetStyle) -> String {
    identifier + (entity.map { " " + entityEncoding.encoded($0) } ?? "")
      + (style.hasDecimalComma ? decimalCommaMark : "") + (style.hasSheetDates ? sheetDatesMark : "")
      + (style.isDefused ? defusedMark : "")
  }

  /// Parses a first column; nil if the kit did not write it.
  static func first(_ text: String) -> First? {
    guard text.hasPrefix(identifier) else { return nil }
    var rest = text.dropFirst(identifier.count)
    func take(_ mark: String) -> Bool {
      guard rest.hasSuffix(mark) else { return false }
      rest = rest.dropLast(mark.count)
      return true
    }
    var result = First()
    result.style.isDefused = take(defusedMark)
    result.style.hasSheetDates = take(sheetDatesMark)
    result.style.hasDecimalComma = take(decimalCommaMark)
    if rest.isEmpty { return result }
    guard rest.first == " ", let name = entityEncoding.decoded(rest.dropFirst()), !name.isEmpty else { return nil }
    result.entity = name
    return result
  }

  /// The names of the columns of a file with plain headers: the object's reference, then the properties.
  static func plain(_ entity: Entity) -> [String] {
    var first = "id"
    let names = Set(entity.slots.map { $0.name.lowercased() })
    while names.contains(first) { first = first == "id" ? "reference" : first + "_" }
    return [first] + entity.slots.map(\.name)
  }

  /// Neither a delimiter nor a quote nor a space is kept.
  private static let entityEncoding = PercentEncoding(keeping: "_.", keepsNonASCII: true)

  private static let orderedMark = " (ordered)"
  /// It is not known whether the order matters: the model was inferred from a store that does not specify it.
  private static let unknownOrderMark = " (order unknown)"

  static func text(_ slot: Slot) -> String {
    switch slot.kind {
    case .attribute(let type): escaped(slot.name) + ":" + type.modelName
    case .toOne: escaped(slot.name) + "->" + escaped(slot.relationship?.destinationEntityName ?? "")
    case .toMany(let ordered):
      escaped(slot.name) + "->>" + escaped(slot.relationship?.destinationEntityName ?? "")
        + (ordered ? orderedMark : slot.keepsSequence ? unknownOrderMark : "")
    }
  }

  /// Parses a column of the kit's form; nil if it is not one.
  static func property(_ text: String) -> PropertyDescription? {
    if let arrow = arrow(in: text) {
      guard let name = unescaped(text[..<arrow.lowerBound]), !name.isEmpty else { return nil }
      var rest = text[arrow.upperBound...]
      let isToMany = rest.first == ">"
      if isToMany { rest = rest.dropFirst() }
      let isOrdered = isToMany && rest.hasSuffix(orderedMark)
      if isOrdered { rest = rest.dropLast(orderedMark.count) }
      let hasUnknownOrder = isToMany && rest.hasSuffix(unknownOrderMark)
      if hasUnknownOrder { rest = rest.dropLast(unknownOrderMark.count) }
      guard let destination = unescaped(rest), !destination.isEmpty else { return nil }
      return .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, maximumCount: isToMany ? 0 : 1, isOrdered: isOrdered,
          hasUnknownOrder: hasUnknownOrder))
    }
    guard let colon = firstIndex(of: ":", in: text), let name = unescaped(text[..<colon]), !name.isEmpty,
      let type = AttributeType(modelName: String(text[text.index(after: colon)...]))
    else { return nil }
    return .attribute(name, type)
  }

  private static func arrow(in text: String) -> Range<String.Index>? {
    guard isASCII(text) else { return text.firstRange(of: "->") }
    var start = text.startIndex
    while let dash = text.utf8[start...].firstIndex(of: UInt8(ascii: "-")) {
      start = text.utf8.index(after: dash)
      guard start < text.endIndex else { return nil }
      if text.utf8[start] == UInt8(ascii: ">") { return dash..<text.utf8.index(after: start) }
    }
    return nil
  }

  private static func firstIndex(of character: Unicode.Scalar, in text: String) -> String.Index? {
    isASCII(text) ? text.utf8.firstIndex(of: UInt8(ascii: character)) : text.firstIndex(of: Character(character))
  }

  /// Whether bytes can be searched for: where characters consist of several scalars, that takes many times as long.
  private static func isASCII(_ text: String) -> Bool { text.utf8.allSatisfy { $0 < 0x80 } }

  private static func escaped(_ name: String) -> String {
    var result = ""
    for scalar in name.unicodeScalars {
      switch scalar {
      case "%": result += "%25"
      case ":": result += "%3A"
      case ">": result += "%3E"
      case "(": result += "%28"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func unescaped(_ text: Substring) -> String? {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return String(text) }
    var result = text[...]
    var name = ""
    while let percent = result.firstIndex(of: "%") {
      name += result[..<percent]
      let code = result[percent...].prefix(3)
      switch code {
      case "%25": name += "%"
      case "%3A": name += ":"
      case "%3E": name += ">"
      case "%28": name += "("
      default: return nil
      }
      result = result[code.endIndex...]
    }
    return name + result
  }
}

/// References as cells: an integer in digits, a string as `s:` and its percent-encoded text, so that several can be
/// separated by spaces.
enum ReferenceText {
  static func append(_ text: Span<UInt8>, to writer: ByteWriter) {
    writer.append("s:")
    guard !isWithoutEscapes(text) else { return writer.append(text) }
    var start = 0
    for index in 0..<text.count where isEscaped(text[index]) {
      writer.append(text.extracting(start..<index))
      writer.append(byte: UInt8(ascii: "%"))
      for digit in [text[index] >> 4, text[index] & 0xF] {
        writer.append(byte: digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "A") + digit - 10)
      }
      start = index + 1
    }
    writer.append(text.extracting(start..<text.count))
  }

  /// Control characters, the space, and `"`, `%`, `,`, `;`, `|`: a bit for each of them, from 0 to 63 and from 64
  /// to 127.
  private static let escapedBytes: (low: UInt64, high: UInt64) = (0x0800_1025_FFFF_FFFF, 0x9000_0000_0000_0000)

  @inline(__always) private static func isEscaped(_ byte: UInt8) -> Bool {
    byte < 0x80 && (byte < 0x40 ? escapedBytes.low : escapedBytes.high) & (1 << UInt64(byte & 63)) != 0
  }

  private static func isWithoutEscapes(_ text: Span<UInt8>) -> Bool {
    for index in 0..<text.count where isEscaped(text[index]) { return false }
    return true
  }

  /// Whether bytes begin with `s:`, and what follows is the string itself: ASCII without escapes.
  static func isPlain(_ bytes: Span<UInt8>) -> Bool {
    bytes.withUnsafeBytes { raw in
      guard raw.count >= 2, raw[0] == UInt8(ascii: "s"), raw[1] == UInt8(ascii: ":") else { return false }
      // Without a branch for each byte.
      var high: UInt8 = 0
      var hasPercent = false
      for byte in raw[2...] {
        high |= byte
        hasPercent = hasPercent || byte == UInt8(ascii: "%")
      }
      return high < 0x80 && !hasPercent
    }
  }

  /// Decodes a string reference, as UTF-8, from bytes that begin with `s:`. False for an invalid escape, and for what
  /// is not UTF-8.
  static func decode(_ bytes: Span<UInt8>, into result: inout [UInt8]) -> Bool {
    guard bytes.count >= 2, bytes[0] == UInt8(ascii: "s"), bytes[1] == UInt8(ascii: ":") else { return false }
    let text = bytes.withUnsafeBufferPointer { PercentEncoding.bytes($0.dropFirst(2)) }
    guard let text else { return false }
    result = text
    return (try? UTF8Span(validating: result.span)) != nil
  }
}
