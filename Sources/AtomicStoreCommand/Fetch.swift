import ArgumentParser
import AtomicStoreKit
import Foundation
import StoreCodecs

struct Fetch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the objects of a store that fulfil a predicate.",
    discussion: """
      The predicate is Core Data's format language. Columns are key paths or expressions:

        atomicstore fetch Company.xml --entity Employee --where "salary > 5000 AND department.name == 'Sales'" --sort -salary
        atomicstore fetch Company.xml --entity Employee --columns "name,department.name" --format csv
        atomicstore fetch Company.xml --entity Employee --group department.name --columns "department.name,sum:(salary),@count"
        atomicstore fetch Company.xml --entity Employee --count
      """)
  enum Format: String, ExpressibleByArgument, CaseIterable { case table, csv, json, ndjson }

  @Argument(help: "The store; - for standard input.") var store: String
  @Option(help: "The entity; its sub-entities are included.") var entity: String
  @Flag(name: .customLong("no-subentities"), help: "Leave sub-entities out.") var excludesSubentities = false
  @Option(name: .customLong("where"), help: "The predicate.") var predicate: String?
  @Option(
    name: .customLong("sort"), parsing: .unconditional,
    help: "Key paths to sort by, separated by commas; - before one for descending.") var sort: String?
  @Option(help: "The most rows.") var limit: Int?
  @Option(help: "How many rows to leave out first.") var offset: Int?
  @Option(help: "Key paths or expressions, separated by commas. Without it: the attributes and to-one relationships.")
  var columns: String?
  @Option(name: .customLong("group"), help: "Key paths to group by, separated by commas.") var group: String?
  @Option(help: "Which groups, as a predicate on sums and counts.") var having: String?
  @Flag(help: "Print each row once.") var distinct = false
  @Flag(help: "Print how many there are, nothing else.") var count = false
  @Option(help: "table, csv, json or ndjson. Without it a table, or JSON with --json.") var format: Format?
  @OptionGroup var source: SourceOptions
  @OptionGroup var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let (coordinator, opened) = try source.open(store)
      let context = ManagedObjectContext(coordinator)
      var request = try request(opened.model)
      if count {
        let found = try context.count(for: request)
        return try Talk.put(common.json ? JSONValue.object([("count", .integer(found))]).text + "\n" : "\(found)\n")
      }
      request.propertiesToFetch = try fetchColumns(opened.model)
      let rows = try context.fetchRows(request)
      let names = request.propertiesToFetch.map(\.name)
      switch format ?? (common.json ? .json : .table) {
      case .table: try Talk.put(Self.table(names, rows))
      case .csv: try Talk.put(Self.csv(names, rows))
      case .json: try Talk.put(JSONValue.array(rows.map(Self.json)).text + "\n")
      case .ndjson: for row in rows { try Talk.put(Self.json(row).line + "\n") }
      }
    }
  }

  private func request(_ model: ManagedObjectModel) throws -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.includesSubentities = !excludesSubentities
    request.predicate = try predicate.map { try Self.parse($0) }
    request.sortKeys = Self.list(sort).map { $0.hasPrefix("-") ? SortKey(String($0.dropFirst()), isAscending: false) : SortKey($0) }
    for (name, value) in [("--limit", limit), ("--offset", offset)] {
      if let value, value < 0 { throw CommandFailure("\(name) takes 0 or more", exitCode: 64, json: common.json) }
    }
    request.fetchLimit = limit ?? 0
    request.fetchOffset = offset ?? 0
    request.propertiesToGroupBy = Self.list(group)
    request.havingPredicate = try having.map { try Self.parse($0) }
    request.returnsDistinctResults = distinct
    if limit == 0 { request.predicate = .value(false) }
    return request
  }

  static func parse(_ text: String) throws -> FetchPredicate {
    do throws(PredicateFormatError) { return try FetchPredicate(format: text) } catch {
      throw CommandFailure(error.description, exitCode: 64)
    }
  }

  private func fetchColumns(_ model: ManagedObjectModel) throws -> [FetchColumn] {
    if columns != nil {
      return try Self.list(columns).map { text in
        do throws(PredicateFormatError) { return try FetchColumn(format: text) } catch {
          throw CommandFailure("--columns: \(error)", exitCode: 64, json: common.json)
        }
      }
    }
    let keys = Self.list(group)
    if !keys.isEmpty { return keys.map { FetchColumn(keyPath: $0) } + [FetchColumn("count", .keyPath(["@count"]))] }
    guard let entity = model.entity(named: entity) else { return [] }
    return entity.slots.filter { !$0.isToMany }.map { FetchColumn(keyPath: $0.name) }
  }

  /// Parts between commas that stand in no parenthesis or quote.
  static func list(_ text: String?) -> [String] {
    guard let text else { return [] }
    var parts: [String] = []
    var part = ""
    var depth = 0
    var quote: Character?
    for character in text {
      if let open = quote {
        if character == open { quote = nil }
      } else if character == "'" || character == "\"" {
        quote = character
      } else if "([{".contains(character) {
        depth += 1
      } else if ")]}".contains(character) {
        depth -= 1
      } else if character == ",", depth <= 0 {
        parts.append(part)
        part = ""
        continue
      }
      part.append(character)
    }
    parts.append(part)
    return parts.map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }

  // MARK: Printing

  static func text(_ value: FetchedRow.Value) -> String {
    switch value {
    case .value(.null): ""
    case .value(.data(let data)): data.base64EncodedString()
    case .value(.date(let date)): Self.date(date)
    case .value(let value): value.typedText.drop(through: ":")
    case .object(let id): "\(id.entityName)/\(id.reference.map(\.description) ?? "new")"
    case .list(let list): list.map(text).joined(separator: " ")
    }
  }

  /// As CSV stores write dates: exact, whatever the date.
  private static func date(_ date: Date) -> String {
    let writer = ByteWriter()
    writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }

  /// How many columns of a terminal a text takes: East Asian letters and pictures two, what combines none.
  static func width(_ text: String) -> Int {
    text.reduce(0) { width, character in
      guard let first = character.unicodeScalars.first else { return width }
      switch first.value {
      case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
        0x1F300...0x1FAFF, 0x20000...0x3FFFD:
        return width + 2
      default: return width + (first.properties.isDefaultIgnorableCodePoint || first.properties.generalCategory == .nonspacingMark ? 0 : 1)
      }
    }
  }

  private static func json(_ value: FetchedRow.Value) -> JSONValue {
    switch value {
    case .value(.null): .null
    case .value(.boolean(let flag)): .boolean(flag)
    case .value(.integer(let number)): .integer(Int(number))
    case .value(.double(let number)): .number(number)
    case .value(.float(let number)): .number(Double(number))
    case .list(let list): .array(list.map(json))
    default: .string(text(value))
    }
  }

  static func json(_ row: FetchedRow) -> JSONValue { .object(zip(row.columns, row.values).map { ($0, json($1)) }) }

  private static func csv(_ names: [String], _ rows: [FetchedRow]) -> String {
    func cell(_ text: String, isNull: Bool = false) -> String {
      if isNull { return "" }
      let needsQuotes = text.isEmpty || text.contains { "\",\n\r\r\n".contains($0) } || text.first == " " || text.last == " "
      return needsQuotes ? "\"" + text.replacingOccurrences(of: "\"", with: "\"\"") + "\"" : text
    }
    var result = names.map { cell($0) }.joined(separator: ",") + "\n"
    for row in rows { result += row.values.map { cell(text($0), isNull: $0.isNull) }.joined(separator: ",") + "\n" }
    return result
  }

  /// Columns as wide as they need, together no wider than the terminal; controls shown as spaces.
  static func table(_ names: [String], _ rows: [FetchedRow], terminal: Int? = Talk.terminalWidth) -> String {
    let cells = [names] + rows.map { $0.values.map { text($0).map { $0.isNewline || $0 == "\t" || ($0.asciiValue ?? 32) < 32 ? " " : $0 }.reduce(into: "") { $0.append($1) } } }
    var widths = names.indices.map { column in cells.map { width($0[column]) }.max() ?? 0 }
    if let terminal {
      // The widest gives way first.
      let room = max(terminal - 2 * max(0, widths.count - 1), widths.count * 4)
      while widths.reduce(0, +) > room, let widest = widths.indices.max(by: { widths[$0] < widths[$1] }), widths[widest] > 4 { widths[widest] -= 1 }
    }
    func line(_ row: [String]) -> String {
      var text = ""
      for (column, cell) in row.enumerated() {
        var shown = cell
        if width(cell) > widths[column] {
          while width(shown) > widths[column] - 1 { shown.removeLast() }
          shown += "…"
        }
        text += shown
        if column < row.count - 1 { text += String(repeating: " ", count: max(0, widths[column] - width(shown)) + 2) }
      }
      while text.last == " " { text.removeLast() }
      return text + "\n"
    }
    guard let head = cells.first else { return "" }
    return line(head) + line(widths.map { String(repeating: "-", count: $0) }) + cells.dropFirst().map(line).joined()
  }
}

extension String {
  /// What follows the first occurrence; all of it where there is none.
  fileprivate func drop(through mark: Character) -> String {
    firstIndex(of: mark).map { String(self[index(after: $0)...]) } ?? self
  }
}
