import AtomicStoreSPI

/// The options of CSV stores: see `FORMAT.md`.
enum CSVOption {
  static let formulas = "formulas"
  static let delimiter = "delimiter"
  private static let entityOption = StoreOption(
    name: "entity", help: "The entity of a single file; read without it what its header says, or the file's name.")
  private static let delimiterChoice = StoreOption(
    name: delimiter,
    help: "The delimiter: of foreign files where it should not be found out, and of files that are written.",
    values: ["comma", "semicolon", "tab", "bar"])
  private static let formulasChoice = StoreOption(
    name: formulas,
    help:
      "Whether texts that a spreadsheet would run as formulas have an apostrophe before them, which reading takes away; without it as "
      + "the file was.", values: ["keep", "defuse"])

  /// An option in both lists holds for reading and writing.
  static let reading = [
    StoreOption(
      name: "edited", help: "What to do with a folder that was edited by hand.", values: ["refuse", "accept"]),
    entityOption,
    StoreOption(name: "key", help: "The columns that an object of a foreign file is known by, separated by commas."),
    StoreOption(
      name: "columns", help: "For foreign files: header=property pairs, separated by commas; header= leaves one out."),
    StoreOption(name: "types", help: "For foreign files without a model: property=type pairs, as in age=Integer 16."),
    StoreOption(name: "dateFormat", help: "How a foreign file writes dates, as in dd.MM.yyyy HH:mm:ss; times are UTC."),
    delimiterChoice,
    StoreOption(
      name: "header", help: "Whether a foreign file's first record names the columns.", values: ["yes", "no"]),
    formulasChoice,
  ]
  static let writing = [
    StoreOption(
      name: "layout", help: "A folder, or one file for one entity; the extension .csv says file too.",
      values: ["folder", "file"]),
    entityOption, delimiterChoice, formulasChoice,
  ]
}
