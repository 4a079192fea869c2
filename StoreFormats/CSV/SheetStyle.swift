import AtomicStoreSPI

/// How files of the kit are written so that a spreadsheet opens them right. All of it is read back as the same values.
struct SheetStyle: Sendable, Equatable {
  /// Strings that a spreadsheet would run as formulas have an apostrophe before them.
  var isDefused = false
  /// The file begins with a byte-order mark, by which spreadsheets recognize UTF-8.
  var hasByteOrderMark = false
  /// Numbers with a fraction have a comma before it.
  var hasDecimalComma = false
  /// Dates are `2009-03-20 15:51:51`, and `2009-03-20` at midnight, in UTC.
  var hasSheetDates = false
  /// Columns have the names of properties, and the metadata of the directory have their types.
  var hasPlainHeaders = false

  static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

  /// The style that options ask for; what they do not mention stays as it was read.
  init(_ options: StoreOptions, read: SheetStyle = SheetStyle()) {
    self = read
    if let value = options[CSVOption.formulas] { isDefused = value == "defuse" }
    if let value = options[CSVOption.byteOrderMark] { hasByteOrderMark = value == "yes" }
    if let value = options[CSVOption.decimal] { hasDecimalComma = value == "comma" }
    if let value = options[CSVOption.dates] { hasSheetDates = value == "spreadsheet" }
    if let value = options[CSVOption.headers] { hasPlainHeaders = value == "plain" }
  }

  init() {}

  /// Adds what another file of the same directory shows.
  mutating func add(_ other: SheetStyle) {
    isDefused = isDefused || other.isDefused
    hasByteOrderMark = hasByteOrderMark || other.hasByteOrderMark
    hasDecimalComma = hasDecimalComma || other.hasDecimalComma
    hasSheetDates = hasSheetDates || other.hasSheetDates
    hasPlainHeaders = hasPlainHeaders || other.hasPlainHeaders
  }
}
