import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs
import StoreImporting

/// What the columns of imported tables are.
struct ImportColumnOptions: ParsableArguments {
  @Option(help: "The key of an entity's records, ENTITY=COLUMN; several columns with commas. May be repeated.")
  var key: [String] = []
  @Option(
    help:
      "A column with keys of other records, ENTITY.RELATIONSHIP=COLUMN; several columns with commas, in the order of the key; without --model with :ENTITY after it. May be repeated."
  )
  var relationship: [String] = []
  @Option(
    help:
      "A table of pairs for a to-many relationship, ENTITY.RELATIONSHIP=FILE:COLUMN,COLUMN: the key of ENTITY, then the other; without --model with :ENTITY after it if the column is called otherwise. May be repeated."
  )
  var join: [String] = []
  @Option(
    help: "Without --model: types that are not inferred, such as Book.price=Decimal,year=Integer 16. May be repeated."
  )
  var types: [String] = []
  @Option(name: .customLong("write-model"), help: "Save the inferred model: .xcdatamodel or .xcdatamodeld.")
  var writeModel: String?

  /// The names of columns with commas between them, none of which is empty.
  private static func columns(
    _ list: String, _ option: String, _ form: String, _ text: String
  ) throws -> [String] {
    let columns = list.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    guard !columns.contains("") else { throw failure(option, form, text) }
    return columns
  }

  func apply(to importer: inout StoreImporter) throws {
    for text in key {
      let (name, value) = try Self.pair(text, "--key", "ENTITY=COLUMN")
      importer.keyColumns[name] = try Self.columns(value, "--key", "ENTITY=COLUMN", text)
    }
    for text in relationship {
      let form = "ENTITY.RELATIONSHIP=COLUMN"
      let (path, value) = try Self.pair(text, "--relationship", form)
      let (entity, name) = try Self.path(path, "--relationship", form)
      let parts = value.split(separator: ":", maxSplits: 1).map(String.init)
      importer.relationshipColumns.append(
        .init(
          entityName: entity, relationshipName: name,
          columns: try Self.columns(parts.first ?? "", "--relationship", form, text),
          destinationEntityName: parts.count > 1 ? parts[1] : nil))
    }
    for text in join {
      let form = "ENTITY.RELATIONSHIP=FILE:COLUMN,COLUMN"
      let (path, value) = try Self.pair(text, "--join", form)
      let (entity, name) = try Self.path(path, "--join", form)
      var parts = value.split(separator: ":", omittingEmptySubsequences: false)
      // Behind the columns, which are at least two.
      let other = parts.last.flatMap { $0.contains(",") ? nil : String($0) }
      if other != nil { parts.removeLast() }
      guard parts.count > 1, let last = parts.popLast() else { throw Self.failure("--join", form, text) }
      let columns = try Self.columns(String(last), "--join", form, text)
      guard columns.count >= 2 else { throw Self.failure("--join", form, text) }
      let file = parts.joined(separator: ":")
      importer.joinTables.append(
        .init(
          entityName: entity, relationshipName: name,
          source: try ImportSource(path: try Input.path(for: file, mayBeEmpty: ImportSource.holdsJSONLines(file))),
          columns: columns, destinationEntityName: other))
    }
    for text in types.flatMap({ $0.split(separator: ",").map(String.init) }) {
      let (name, value) = try Self.pair(text, "--types", "PROPERTY=TYPE")
      guard let type = AttributeType(modelName: value) else {
        throw CommandFailure("--types: '\(value)' is not a type; one is 'Integer 64', another 'Decimal'", exitCode: 64)
      }
      importer.types[name] = type
    }
  }

  private static func failure(_ option: String, _ form: String, _ text: String) -> CommandFailure {
    CommandFailure("\(option) takes \(form), not '\(text)'", exitCode: 64)
  }

  private static func pair(_ text: String, _ option: String, _ form: String) throws -> (String, String) {
    guard let equals = text.firstIndex(of: "="), equals != text.startIndex else { throw failure(option, form, text) }
    return (String(text[..<equals]), String(text[text.index(after: equals)...]))
  }

  private static func path(_ text: String, _ option: String, _ form: String) throws -> (String, String) {
    guard let dot = text.firstIndex(of: ".") else { throw failure(option, form, text) }
    return (String(text[..<dot]), String(text[text.index(after: dot)...]))
  }
}

/// How the texts of imported tables are written.
struct ImportTextOptions: ParsableArguments {
  @Option(
    help: "utf-8, utf-16, latin-1 or windows-1252. Default: UTF-8, or UTF-16 if the file has a byte order mark.",
    transform: { try Self.choice($0) })
  var encoding: TextConventions.Encoding?
  @Option(
    help: "Delimiter: comma, semicolon, tab, bar, or one character. Default: detected from the first record.")
  var delimiter: String?
  @Option(help: "The decimal separator: point or comma.", transform: { try Self.choice($0) })
  var decimal: TextConventions.DecimalSeparator?
  @Option(
    help: "The grouping separator: comma, point, space or apostrophe.", transform: { try Self.choice($0) })
  var thousands: TextConventions.ThousandsSeparator?
  @Option(
    name: .customLong("date-format"),
    help:
      "The format of dates, such as dd.MM.yyyy, or unix, unix-ms, 2001 for seconds. May be repeated. ISO 8601 is always read."
  )
  var dateFormats: [String] = []
  @Option(help: "The character with which comment lines begin.") var comment: String?
  @Option(help: "rfc: quotes as in RFC 4180; lax: a quote within a field is a character.") var quotes: Quotes?
  @Option(name: .customLong("columns"), help: "Names of the columns, with commas, of CSV without a header line.")
  var columnNames: String?
  @Option(name: .customLong("null"), help: "A text that means null. May be repeated.") var nullWords: [String] = []
  @Option(help: "Words for true and false, such as ja/nein. May be repeated.") var boolean: [String] = []

  enum Quotes: String, ExpressibleByArgument, CaseIterable { case rfc, lax }

  private static func choice<Choice: RawRepresentable & CaseIterable>(
    _ text: String
  ) throws -> Choice where Choice.RawValue == String {
    if let choice = Choice(rawValue: text) { return choice }
    throw ValidationError("'\(text)' is not one of " + Choice.allCases.map(\.rawValue).joined(separator: ", "))
  }

  func conventions() throws -> TextConventions {
    var result = TextConventions()
    result.encoding = encoding
    result.delimiter = try delimiter.map { try Self.byte($0, "--delimiter") }
    result.comment = try comment.map { try Self.byte($0, "--comment") }
    result.allowsStrayQuotes = quotes == .lax
    result.columnNames = columnNames?.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    result.decimalSeparator = decimal ?? .point
    result.thousandsSeparator = thousands
    if thousands?.rawValue == result.decimalSeparator.rawValue {
      throw CommandFailure("--thousands and --decimal are the same character", exitCode: 64)
    }
    for text in dateFormats {
      guard let notation = TextConventions.DateNotation(text) else {
        throw CommandFailure("--date-format: '\(text)' has no year, month and day", exitCode: 64)
      }
      result.dateNotations.append(notation)
    }
    result.nullWords = Set(nullWords)
    for text in boolean {
      let words = text.split(separator: "/").map(String.init)
      guard words.count == 2 else { throw CommandFailure("--boolean takes two words, as ja/nein", exitCode: 64) }
      guard words[0].lowercased() != words[1].lowercased() else {
        throw CommandFailure("--boolean: '\(words[0])' cannot be both true and false", exitCode: 64)
      }
      result.trueWords.insert(words[0])
      result.falseWords.insert(words[1])
    }
    return result
  }

  private static func byte(_ text: String, _ option: String) throws -> UInt8 {
    let names = [
      "comma": UInt8(ascii: ","), "semicolon": UInt8(ascii: ";"), "tab": UInt8(ascii: "\t"), "bar": UInt8(ascii: "|"),
    ]
    if let known = names[text] { return known }
    guard text.utf8.count == 1, let byte = text.utf8.first else {
      throw CommandFailure("\(option) takes one ASCII character, not '\(text)'", exitCode: 64)
    }
    return byte
  }
}

/// How bad records are handled.
struct ImportProblemOptions: ParsableArguments {
  @Option(name: .customLong("report"), help: "Write the problems to this CSV file, rather than to standard error.")
  var reportPath: String?
  @Option(
    help:
      "Skip bad records, and write them to this file as they are. For several tables: a directory, with a file for each."
  )
  var reject: String?
  @Option(
    help: "How records with keys of missing records are handled: refuse, reject, nullify or keep-as-text.",
    transform: { try Self.dangling($0) })
  var dangling: StoreImporter.DanglingKeys?
  @Option(name: .customLong("max-errors"), help: "Stop after this number of problems.") var maximum: Int?

  private static func dangling(_ text: String) throws -> StoreImporter.DanglingKeys {
    if let choice = StoreImporter.DanglingKeys(rawValue: text) { return choice }
    throw ValidationError(
      "'\(text)' is not one of " + StoreImporter.DanglingKeys.allCases.map(\.rawValue).joined(separator: ", "))
  }

  func danglingKeys() throws -> StoreImporter.DanglingKeys {
    guard dangling != .reject || reject != nil else {
      throw CommandFailure("--dangling reject needs --reject FILE, which the records are written to", exitCode: 64)
    }
    return dangling ?? .reject
  }

  /// - Parameter isDryRun: Whether the report was not written.
  func failure(_ error: ImportError, isDryRun: Bool) -> CommandFailure {
    let count = Diagnostics.count(error.problems.count, "problem")
    let end = error.isCut ? "; the search ended there" : ""
    let report = isDryRun ? nil : reportPath
    let message =
      report.map { "\(count), listed in \($0); nothing was written" + end }
      ?? error.problems.map { "\($0)" }.joined(separator: "\n") + "\n\(count); nothing was written" + end
    let details = JSONValue.object([
      ("code", .string("import")), ("message", .string("\(count); nothing was written")),
      ("problems", .array(error.problems.map(\.json))),
    ])
    return CommandFailure(message, exitCode: 65, details: details)
  }

  /// Prints the problems, or adds the report, if one is asked for, to what is written.
  ///
  /// - Parameters:
  ///   - files: What is written; nil to write no file, but print.
  ///   - force: Whether a file other than a report may be replaced.
  ///   - told: What was printed before, which is not printed again.
  func report(
    _ problems: [ImportProblem], to files: PendingFiles, _ result: ResultOptions, told: inout Set<String>
  ) throws {
    if reportPath == nil || result.dryRun {
      for problem in problems where reject != nil && told.insert("\(problem)").inserted {
        Diagnostics.say("\(problem)")
      }
    }
    guard let reportPath else { return }
    var text = Self.reportHeader + "\n"
    for problem in problems {
      let cells = [
        problem.file, problem.line.map(String.init), problem.column.map(String.init), problem.kind.rawValue,
        problem.entity, problem.key, problem.property, problem.value, problem.message,
      ]
      text += cells.map { $0.map(Self.cell) ?? "" }.joined(separator: ",") + "\n"
    }
    try files.add(Array(text.utf8), to: reportPath, force: result.force || Self.isReport(reportPath))
  }

  private static let reportHeader = "file,line,column,kind,entity,key,property,value,message"

  /// Whether a file is a report of an earlier import, which may be replaced.
  private static func isReport(_ path: String) -> Bool {
    guard let bytes = FileManager.default.contents(atPath: path) else { return false }
    return bytes.starts(with: Data((reportHeader + "\n").utf8))
  }

  /// Adds the records that were left out to what is written.
  func add(_ tables: [StoreImporter.Table], to files: PendingFiles, force: Bool) throws {
    guard let reject else { return }
    guard tables.count > 1 else {
      if let table = tables.first { try files.add(table.rejected, to: reject, force: force) }
      return
    }
    let names = tables.filter { $0.rejectedCount > 0 }.map { ScalarString(Self.name(ofRejected: $0)) }
    guard Set(names).count == names.count else {
      throw CommandFailure(
        "--reject: two tables have the same file name; import them one after the other", exitCode: 64)
    }
    try files.publication.makeDirectory(reject)
    for table in tables where table.rejectedCount > 0 {
      try files.add(table.rejected, to: reject + "/" + Self.name(ofRejected: table), force: force)
    }
  }

  /// Rejected records are not compressed, and those of Arrow are JSON.
  private static func name(ofRejected table: StoreImporter.Table) -> String {
    let name = ImportSource.plainName(PathParts.name(of: table.file))
    let isArrow = [".arrow", ".arrows", ".feather"].contains { name.lowercased().hasSuffix($0) }
    return isArrow ? PathParts.stem(of: name) + ".ndjson" : name
  }

  private static func cell(_ text: String) -> String {
    let needsQuotes = text.isEmpty || text.unicodeScalars.contains { ",\"\r\n".unicodeScalars.contains($0) }
    return needsQuotes ? "\"" + text.replacingBytes("\"", with: "\"\"") + "\"" : text
  }
}

extension ImportProblem {
  var json: JSONValue {
    .object([
      ("kind", .string(kind.rawValue)), ("file", .string(file)), ("line", line.map { .integer($0) } ?? .null),
      ("column", column.map { .integer($0) } ?? .null), ("entity", .string(entity)),
      ("key", key.map { .string($0) } ?? .null), ("property", property.map { .string($0) } ?? .null),
      ("value", value.map { .string($0) } ?? .null), ("message", .string(message)),
    ])
  }
}
