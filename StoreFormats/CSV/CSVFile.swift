import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// The bytes of a CSV file with its dialect and its first record.
struct CSVFile {
  let name: String
  let bytes: StoreBytes
  let dialect: CSVDialect
  /// The first record; for a file without a header `column1`, `column2` ….
  let header: [String]
  let hasHeader: Bool
  /// Whether the kit wrote the file: it is typed and has references.
  let isTyped: Bool
  /// The entity that a single file written by the kit specifies.
  let entityName: String?
  /// How the file is written.
  let style: SheetStyle
  /// Whether strings that spreadsheets would run as formulas are prefixed by an apostrophe.
  var isDefused: Bool { style.isDefused }

  /// In addition to the references: each column is a property.
  private static let maximumColumns = ModelDescription.maximumPropertyCount

  /// - Parameter layout: The form of a member whose header does not say it.
  init(
    _ source: StoreSource, member: String?, options: StoreOptions, layout: MemberLayout? = nil
  ) throws(PersistentStoreError) {
    try self.init(
      try source.bytes(ofMember: member), name: source.displayName(ofMember: member), isMember: member != nil,
      options: options, layout: layout)
  }

  /// - Parameter bytes: The whole file, or its beginning with the whole first record.
  init(
    _ bytes: StoreBytes, name: String, isMember: Bool, options: StoreOptions, layout: MemberLayout?
  ) throws(PersistentStoreError) {
    self.name = name
    self.bytes = bytes
    let place = StoreLocation(file: name)
    var dialect = CSVDialect.comma
    // Files written by the kit specify the delimiter after their first column, whatever names follow. For all others it
    // is as the option specifies, or detected.
    if let layout {
      dialect = bytes.withUnsafeBytes { layout.dialect($0) }
    } else if let ours = bytes.withUnsafeBytes({ Self.ownDialect($0) }) {
      dialect = ours
    } else if let named = CSVDialect(option: options[CSVOption.delimiter]) {
      dialect = named
    } else if !isMember {
      dialect = bytes.withUnsafeBytes { CSVDialect.detect($0.assumingMemoryBound(to: UInt8.self), fileName: name) }
    }
    self.dialect = dialect
    hasHeader = options["header"] != "no"
    let result: Result<[String], PersistentStoreError> = bytes.withUnsafeBytes { raw in
      do throws(PersistentStoreError) {
        var reader = try CSVReader(raw.assumingMemoryBound(to: UInt8.self), dialect: dialect)
        return .success(try Self.firstRecord(&reader))
      } catch {
        return .failure(error.located(place))
      }
    }
    let first = try result.get()
    let own = hasHeader && layout == nil ? first.first.flatMap { Header.first($0) } : nil
    isTyped = own != nil || layout != nil
    entityName = own?.entity
    var style = layout?.style ?? own?.style ?? SheetStyle()
    if !isTyped { style.isDefused = options[CSVOption.formulas] == "defuse" }
    style.hasByteOrderMark = bytes.withUnsafeBytes { $0.starts(with: SheetStyle.byteOrderMark) }
    self.style = style
    let names = style.isDefused ? first.map { Formula.restored($0) } : first
    if let layout {
      header = try layout.typedHeader(names, file: name)
    } else {
      header = hasHeader ? names : first.indices.map { "column\($0 + 1)" }
    }
    guard !first.isEmpty else {
      throw PersistentStoreError(.malformed, "the file is empty", at: place.filled(from: StoreLocation(line: 1)))
    }
  }

  /// The dialect of a file written by the kit: the delimiter after its first column; nil for files that begin with
  /// something else.
  private static func ownDialect(_ bytes: UnsafeRawBufferPointer) -> CSVDialect? {
    let text = bytes.dropFirst(bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
    guard text.starts(with: Header.identifier.utf8) else { return nil }
    // The column itself does not contain a delimiter.
    let all: [CSVDialect] = [.comma, .semicolon, .tab, .bar]
    guard
      let end = text.firstIndex(where: { byte in byte == UInt8(ascii: "\n") || all.contains { $0.delimiter == byte } })
    else {
      return nil
    }
    guard Header.first(String(decoding: text[..<end], as: UTF8.self)) != nil else { return nil }
    return all.first { $0.delimiter == text[end] }
  }

  private static func firstRecord(_ reader: inout CSVReader) throws(PersistentStoreError) -> [String] {
    var record: [String] = []
    while let field = try reader.nextField() {
      guard record.count <= maximumColumns else {
        throw PersistentStoreError(
          .limitExceeded,
          "the first record has more than \(maximumColumns + 1) columns, the maximum number of properties of an entity",
          at: field.location)
      }
      record.append(reader.string(of: field))
      if field.isLastInRecord { break }
    }
    return record
  }

  /// The destination of the relationships in a typed header, if there are any.
  var destinationName: String? {
    for text in header.dropFirst() {
      if case .relationship(let relationship)? = Header.property(text) { return relationship.destinationEntityName }
    }
    return nil
  }

  /// The model that a typed header specifies.
  func typedModel(entity: String) throws(PersistentStoreError) -> ModelDescription {
    var properties: [PropertyDescription] = []
    for (index, text) in header.enumerated().dropFirst() {
      guard let property = Header.property(text) else {
        throw PersistentStoreError(
          .malformed, "'\(text)' is not a property name with a type", at: StoreLocation(file: name, line: 1))
      }
      if case .relationship(let relationship) = property, relationship.destinationEntityName != entity {
        throw PersistentStoreError(
          .malformed,
          "'\(text)' leads to another entity than \(entity), which a single file does not contain; column \(index + 1)",
          at: StoreLocation(file: name, line: 1))
      }
      properties.append(property)
    }
    return ModelDescription(entities: [EntityDescription(name: entity, properties: properties)], isInferred: true)
  }

  /// The model of a third-party file: strings, unless the options specify other types.
  func foreignModel(entity: String, options: StoreOptions) throws(PersistentStoreError) -> ModelDescription {
    let mapping = try ColumnMapping(header: header, options: options, file: name)
    var types: [String: AttributeType] = [:]
    for (property, typeName) in try ColumnMapping.pairs(options["types"] ?? "", option: "types") {
      guard let type = AttributeType(modelName: typeName) else {
        throw PersistentStoreError(.invalidOption, "the option 'types' contains '\(typeName)', which is not a type")
      }
      types[property] = type
    }
    var properties: [PropertyDescription] = []
    for property in mapping.properties {
      guard let property else { continue }
      properties.append(
        .attribute(property, types.removeValue(forKey: property) ?? .string))
    }
    if let unknown = types.keys.sorted().first {
      throw PersistentStoreError(.invalidOption, "the option 'types' contains '\(unknown)', which is not a column")
    }
    return ModelDescription(entities: [EntityDescription(name: entity, properties: properties)], isInferred: true)
  }
}

extension CSVDialect {
  /// The dialect that the option `delimiter` specifies; nil for an unknown one.
  init?(option name: String?) {
    switch name {
    case "comma": self = .comma
    case "semicolon": self = .semicolon
    case "tab": self = .tab
    case "bar": self = .bar
    default: return nil
    }
  }
}

/// The property of each column of a third-party file; nil for an ignored column.
struct ColumnMapping {
  let properties: [String?]

  init(header: [String], options: StoreOptions, file: String) throws(PersistentStoreError) {
    var renamed: [String: String] = [:]
    for (column, property) in try Self.pairs(options["columns"] ?? "", option: "columns") {
      guard header.contains(column) else {
        throw PersistentStoreError(
          .invalidOption,
          "the option 'columns' contains '\(column)'; the columns of the file are \(header.joined(separator: ", "))",
          at: StoreLocation(file: file))
      }
      renamed[column] = property
    }
    var seen: Set<String> = []
    var result: [String?] = []
    for (index, column) in header.enumerated() {
      guard !column.isEmpty || renamed[column] != nil else {
        throw PersistentStoreError(
          .malformed, "column \(index + 1) does not have a name", at: StoreLocation(file: file, line: 1),
          remedy: .readOption("columns==NAME", or: ["columns=="], effect: "names or ignores it"))
      }
      let property = renamed[column] ?? column
      if property.isEmpty {
        result.append(nil)
      } else if seen.insert(property).inserted {
        result.append(property)
      } else {
        throw PersistentStoreError(
          .malformed, "two columns have the name '\(property)'", at: StoreLocation(file: file, line: 1))
      }
    }
    properties = result
  }

  static func pairs(_ text: String, option: String) throws(PersistentStoreError) -> [(String, String)] {
    var result: [(String, String)] = []
    for pair in text.split(separator: ",") {
      guard let equals = pair.firstIndex(of: "=") else {
        throw PersistentStoreError(.invalidOption, "the option '\(option)' must be name=value pairs, not '\(pair)'")
      }
      result.append((String(pair[..<equals]), String(pair[pair.index(after: equals)...])))
    }
    return result
  }
}

/// The layout of a third-party file.
struct ForeignLayout: Sendable {
  var columns: [String?]
  var header: [String]
  var hasHeader: Bool
  var keys: [String]
  var dialect: CSVDialect
  var dateFormat: DateFormat?
  var isDefused: Bool

  /// Joins key values to one reference, separated by `|`, which is doubled within a value.
  static func key(_ parts: [String]) -> String {
    parts.count == 1 ? parts[0] : parts.map { $0.replacing("|", with: "||") }.joined(separator: "|")
  }

  /// A value as it is written to a cell of the file.
  func text(of value: StoredValue) -> String {
    let writer = ByteWriter()
    switch value {
    case .null, .toMany: return ""
    case .boolean(let flag): return flag ? "true" : "false"
    case .integer(let number): return String(number)
    case .float(let number): writer.append(float: number)
    case .double(let number): writer.append(double: number)
    case .decimal(let number): return number.description
    case .string(let text): return text
    case .uri(let text): return text
    case .date(let date):
      if let dateFormat { return dateFormat.text(date.timeIntervalSinceReferenceDate) ?? "" }
      writer.append(dateSeconds: date.timeIntervalSinceReferenceDate)
    case .uuid(let uuid): return uuid.uuidString
    case .data(let data): return data.base64EncodedString()
    case .toOne(let reference): return reference.reference.description
    }
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }
}
