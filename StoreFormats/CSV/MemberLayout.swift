import AtomicStoreSPI
import StoreCodecs

/// The form of a member of a directory whose header does not say it.
struct MemberLayout: Equatable {
  /// The columns with their types, as a header of the kit has them.
  var columns: [String]
  /// The columns as the file has them.
  var names: [String]
  var delimiter: UInt8
  var style: SheetStyle

  init(_ entity: Entity, _ style: SheetStyle, _ dialect: CSVDialect) {
    columns = [Header.identifier] + entity.slots.map { Header.text($0) }
    names = Header.plain(entity)
    delimiter = dialect.delimiter
    self.style = style
  }

  var propertyList: PropertyListValue {
    [
      "columns": .array(columns.map { .string($0) }), "names": .array(names.map { .string($0) }),
      "delimiter": .string(String(Character(Unicode.Scalar(delimiter)))),
      "decimalComma": .boolean(style.hasDecimalComma), "spreadsheetDates": .boolean(style.hasSheetDates),
      "defused": .boolean(style.isDefused),
    ]
  }

  init?(_ list: PropertyListValue?) {
    guard let entries = list?.dictionaryValue,
      let columns = entries["columns"]?.arrayValue?.compactMap(\.stringValue),
      let names = entries["names"]?.arrayValue?.compactMap(\.stringValue), names.count == columns.count,
      columns.first == Header.identifier, let delimiter = entries["delimiter"]?.stringValue?.utf8.first
    else { return nil }
    self.columns = columns
    self.names = names
    self.delimiter = delimiter
    style = SheetStyle()
    style.hasPlainHeaders = true
    style.hasDecimalComma = entries["decimalComma"]?.booleanValue ?? false
    style.hasSheetDates = entries["spreadsheetDates"]?.booleanValue ?? false
    style.isDefused = entries["defused"]?.booleanValue ?? false
  }

  /// The dialect of the file: a spreadsheet may have saved it with another delimiter.
  func dialect(_ bytes: UnsafeRawBufferPointer) -> CSVDialect {
    let found = CSVDialect.detect(bytes.assumingMemoryBound(to: UInt8.self))
    return names.count > 1 ? found : CSVDialect(delimiter: delimiter, lineEnding: found.lineEnding)
  }

  /// The columns of a file with their types. A spreadsheet may have moved or removed some.
  func typedHeader(_ first: [String], file: String) throws(PersistentStoreError) -> [String] {
    var typed: [String] = []
    for (index, name) in first.enumerated() {
      guard let place = names.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) else {
        throw PersistentStoreError(
          .malformed, "'\(name)' is not a column of the store, which has \(names.joined(separator: ", "))",
          at: StoreLocation(file: file, line: 1))
      }
      guard (index == 0) == (place == 0) else {
        throw PersistentStoreError(
          .malformed, "the first column must be \(names[0])", at: StoreLocation(file: file, line: 1))
      }
      typed.append(columns[place])
    }
    return typed
  }
}
