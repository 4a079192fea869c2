import AtomicStoreSPI
import StoreCodecs

/// Parses the text of a cell by the type of its column.
struct Cell {
  var isForeign = false
  var dateFormat: DateFormat?
  var hasKeys = false
  var isDefused = false
  var hasDecimalComma = false
  private var referenceText: [UInt8] = []
  /// Of this cell and its copies: lists are read one after the other.
  private let members = NumberList()

  init(isForeign: Bool = false, dateFormat: DateFormat? = nil, hasKeys: Bool = false, isDefused: Bool = false) {
    self.isDefused = isDefused
    self.isForeign = isForeign
    self.dateFormat = dateFormat
    self.hasKeys = hasKeys
  }

  mutating func set(_ bytes: Span<UInt8>, _ column: CSVStore.Column, _ nodes: NodeTableBuilder)
    throws(PersistentStoreError)
  {
    // No number, date or Boolean begins with an apostrophe, so the column's type is not needed.
    if isDefused, Formula.isDefused(bytes) { return try setPlain(bytes.extracting(1..<bytes.count), column, nodes) }
    try setPlain(bytes, column, nodes)
  }

  private mutating func setPlain(
    _ bytes: Span<UInt8>, _ column: CSVStore.Column, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    let slot = column.slot
    if hasDecimalComma, column.kind == .double || column.kind == .float || column.kind == .decimal {
      var number: [UInt8] = []
      for index in 0..<bytes.count {
        // A point would be that of thousands, which a spreadsheet may show: it is never read as a decimal point.
        guard bytes[index] != UInt8(ascii: ".") else { throw Self.unfit(bytes, slot, nodes) }
        number.append(bytes[index] == UInt8(ascii: ",") ? UInt8(ascii: ".") : bytes[index])
      }
      return try setValue(number.span, column, slot, nodes)
    }
    try setValue(bytes, column, slot, nodes)
  }

  private mutating func setValue(
    _ bytes: Span<UInt8>, _ column: CSVStore.Column, _ slot: Int, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) {
    switch column.kind {
    case nil: return
    case .toOne: try setReference(bytes, slot, nodes, isToMany: false)
    case .toMany:
      var start = try appendNumbers(bytes, slot, nodes)
      guard start < bytes.count else { return }
      for index in start...bytes.count where index == bytes.count || bytes[index] == UInt8(ascii: " ") {
        if index > start { try setReference(bytes.extracting(start..<index), slot, nodes, isToMany: true) }
        start = index + 1
      }
    case .string, .uri: try nodes.set(utf8: bytes, slot: slot)
    case .integer:
      guard let number = ExactText.integer(bytes) else { throw Self.unfit(bytes, slot, nodes) }
      try nodes.set(integer: number, slot: slot)
    case .double:
      guard let number = ExactText.double(bytes) else { throw Self.unfit(bytes, slot, nodes) }
      try nodes.set(double: number, slot: slot)
    case .float:
      guard let number = ExactText.float(bytes) else { throw Self.unfit(bytes, slot, nodes) }
      try nodes.set(float: number, slot: slot)
    case .decimal: try nodes.set(decimal: bytes, slot: slot)
    case .boolean:
      guard let flag = boolean(bytes) else { throw Self.unfit(bytes, slot, nodes) }
      try nodes.set(boolean: flag, slot: slot)
    case .date:
      guard let seconds = dateFormat.map({ $0.seconds(bytes) }) ?? ExactText.date(bytes) else {
        throw Self.unfit(bytes, slot, nodes)
      }
      try nodes.set(dateSeconds: seconds, slot: slot)
    case .uuid:
      guard let uuid = ExactText.uuid(bytes) else { throw Self.unfit(bytes, slot, nodes) }
      try nodes.set(uuid: uuid, slot: slot)
    case .data:
      try bytes.withUnsafeBufferPointer { text throws(PersistentStoreError) in
        try nodes.set(bytesUpTo: Base64.decodedRoom(text.count), slot: slot) { target throws(PersistentStoreError) in
          do throws(Base64.DecodingError) {
            return try Base64.decode(Span(_unsafeElements: text), to: target)
          } catch {
            throw PersistentStoreError(.invalidValue, "byte \(error.offset + 1) of the text is not base64")
          }
        }
      }
    case .undefined:
      // A third-party file does not have type prefixes: the value is a string.
      guard let value = isForeign ? .string(Self.text(bytes)) : StoredValue(typedText: Self.text(bytes)) else {
        throw Self.unfit(bytes, "value with its type")
      }
      try nodes.set(value, slot: slot)
    }
  }

  /// Adds objects to a to-many as far as their references are numbers, as in most files; returns the offset of the
  /// first that is not.
  private mutating func appendNumbers(
    _ bytes: Span<UInt8>, _ slot: Int, _ nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> Int {
    if isForeign, hasKeys { return 0 }
    let end = bytes.withUnsafeBufferPointer { text in
      text.baseAddress.map { members.read($0, length: text.count) } ?? 0
    }
    let found = members
    try nodes.append(toMany: found.span, slot: slot)
    return end
  }

  private mutating func setReference(
    _ bytes: Span<UInt8>, _ slot: Int, _ nodes: NodeTableBuilder, isToMany: Bool
  ) throws(PersistentStoreError) {
    if isForeign, hasKeys {
      try Self.setText(bytes, slot, nodes, isToMany: isToMany)
    } else if let number = ExactText.integer(bytes) {
      if isToMany { return try nodes.append(toMany: number, slot: slot) }
      return try nodes.set(toOne: number, slot: slot)
    } else if ReferenceText.isPlain(bytes) {
      try Self.setText(bytes.extracting(2..<bytes.count), slot, nodes, isToMany: isToMany)
    } else if ReferenceText.decode(bytes, into: &referenceText) {
      try Self.setText(referenceText.span, slot, nodes, isToMany: isToMany)
    } else {
      throw Self.unfit(bytes, "reference")
    }
  }

  private static func setText(
    _ text: Span<UInt8>, _ slot: Int, _ nodes: NodeTableBuilder, isToMany: Bool
  ) throws(PersistentStoreError) {
    if isToMany { try nodes.append(toManyUTF8: text, slot: slot) } else { try nodes.set(toOneUTF8: text, slot: slot) }
  }

  private func boolean(_ bytes: Span<UInt8>) -> Bool? {
    // Files written by the kit have two words, which are compared without creating strings.
    if bytes.count == 4, bytes[0] == UInt8(ascii: "t"), bytes[1] == UInt8(ascii: "r"), bytes[2] == UInt8(ascii: "u"),
      bytes[3] == UInt8(ascii: "e")
    {
      return true
    }
    let text = Self.text(bytes)
    // Spreadsheets write TRUE, and pandas True.
    switch text.lowercased() {
    case "true": return true
    case "false": return false
    case "yes" where isForeign, "1" where isForeign: return true
    case "no" where isForeign, "0" where isForeign: return false
    default: return nil
    }
  }

  private static func text(_ bytes: Span<UInt8>) -> String {
    bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
  }

  private static func unfit(_ bytes: Span<UInt8>, _ slot: Int, _ nodes: NodeTableBuilder) -> PersistentStoreError {
    unfit(bytes, nodes.typeName(slot: slot))
  }

  private static func unfit(_ bytes: Span<UInt8>, _ what: String) -> PersistentStoreError {
    let text = text(bytes)
    let shown = text.count > 60 ? text.prefix(60) + "…" : text[...]
    let article = ["I", "i", "U"].contains(what.prefix(1)) && what != "URI" && what != "UUID" ? "an" : "a"
    return PersistentStoreError(.invalidValue, "'\(shown)' is not \(article) \(what)")
  }
}
