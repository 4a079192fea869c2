import AtomicStoreSPI

/// The options of CSV stores: see `FORMAT.md`.
enum CSVOption {
  static let formulas = "formulas"
  static let delimiter = "delimiter"
  static let byteOrderMark = "bom"
  static let decimal = "decimal"
  static let dates = "dates"
  static let headers = "headers"
  private static let entityOption = StoreOption(
    name: "entity",
    help: "The entity of a single file. By default, reading takes it from the header or the file's name.")
  private static let delimiterChoice = StoreOption(
    name: delimiter,
    help: "The delimiter: of third-party files if it should not be detected, and of files that are written.",
    values: ["comma", "semicolon", "tab", "bar"])
  private static let formulasChoice = StoreOption(
    name: formulas,
    help:
      "Whether strings that a spreadsheet would run as formulas are prefixed by an apostrophe, which reading removes; by default as "
      + "in the file that was read.", values: ["keep", "defuse"])

  /// An option in both lists is valid for reading and writing.
  static let reading = [
    StoreOption(
      name: "edited", help: "How to treat a directory that was edited by hand.", values: ["refuse", "accept"]),
    entityOption,
    StoreOption(
      name: "key", help: "The key columns that identify an object of a third-party file, separated by commas."),
    StoreOption(
      name: "columns",
      help: "For third-party files: header=property pairs, separated by commas; header= ignores a column."),
    StoreOption(
      name: "types", help: "For third-party files without a model: property=type pairs, such as age=Integer 16."),
    StoreOption(
      name: "dateFormat", help: "The date format of a third-party file, such as dd.MM.yyyy HH:mm:ss; times are UTC."),
    delimiterChoice,
    StoreOption(
      name: "header", help: "Whether the first record of a third-party file contains column names.",
      values: ["yes", "no"]),
    formulasChoice,
  ]
  static let writing = [
    StoreOption(
      name: "layout", help: "A directory, or one file for one entity; the extension .csv also selects a file.",
      values: ["folder", "file"]),
    entityOption, delimiterChoice, formulasChoice,
    StoreOption(
      name: byteOrderMark, help: "Whether files begin with a byte-order mark, by which spreadsheets recognize UTF-8.",
      values: ["yes", "no"]),
    StoreOption(
      name: decimal,
      help: "The decimal separator; with a comma, the delimiter is a semicolon unless the option says otherwise.",
      values: ["point", "comma"]),
    StoreOption(
      name: dates, help: "Dates as ISO 8601 with T and Z, or as spreadsheets recognize them: 2009-03-20 15:51:51.",
      values: ["iso", "spreadsheet"]),
    StoreOption(
      name: headers,
      help: "For directories: columns are called name:String, or name, with the types in the metadata.",
      values: ["typed", "plain"]),
  ]
}
