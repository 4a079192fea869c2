import AtomicStoreSPI
import StoreCodecs

/// Works a model out from tables: an entity for each, with the types of all records, and relationships by columns that
/// are called as another table's key.
struct ModelInference {
  private let importer: StoreImporter
  private let sources: [ImportSource]
  private let texts: [StoreBytes]
  private let headers: [[String]]
  /// The names of the entities, by table.
  let names: [String]
  /// The patterns of dates by column, by table.
  private(set) var formats: [[String: DateFormat]]
  private(set) var notes: [SelectionNote] = []
  /// Names that were given a type and are not those of a column.
  private var unusedTypes: Set<String>

  init(_ importer: StoreImporter, _ sources: [ImportSource], _ texts: [StoreBytes], _ headers: [[String]]) {
    self.importer = importer
    self.sources = sources
    self.texts = texts
    self.headers = headers
    let columns = Set(headers.joined().map { NameMatching.folded($0) })
    names = sources.map { $0.entityName ?? NameMatching.entityName(forFile: $0.stem, columns: columns) }
    formats = Array(repeating: [:], count: sources.count)
    unusedTypes = Set(importer.types.keys)
  }

  /// - Throws: `.invalidOption` for what was asked of columns that do not exist, `.invalidModel`.
  mutating func model() throws -> ManagedObjectModel {
    var files: [ScalarString: String] = [:]
    for (name, source) in zip(names, sources) {
      guard let other = files.updateValue(source.name, forKey: ScalarString(name)) else { continue }
      throw PersistentStoreError(
        .invalidOption,
        "\(other) and \(source.name) both have the entity \(name): without a model, a table has an entity of its own")
    }
    var properties: [[PropertyDescription]] = []
    for table in sources.indices { properties.append(try attributes(of: table, names)) }
    if let unused = unusedTypes.min() {
      throw PersistentStoreError(
        .invalidOption,
        "no attribute is called '\(unused)', which was given a type; there are "
          + properties.joined().map(\.name).joined(separator: ", "))
    }
    var inverses: [(entity: Int, RelationshipDescription)] = []
    for table in sources.indices {
      for (relationship, inverse, destination) in try relationships(of: table, names) {
        properties[table].append(.relationship(relationship))
        inverses.append((destination, inverse))
      }
    }
    for (entity, inverse) in inverses { properties[entity].append(.relationship(inverse)) }
    let entities = zip(names, properties).map { EntityDescription(name: $0, properties: $1) }
    do {
      return try ManagedObjectModel(ModelDescription(entities: entities))
    } catch {
      throw PersistentStoreError(
        .invalidModel, "no model can be worked out: " + error.errors.map { "\($0)" }.joined(separator: "; "))
    }
  }

  // MARK: Attributes

  private mutating func attributes(of table: Int, _ names: [String]) throws -> [PropertyDescription] {
    let header = headers[table]
    var facts = header.map { _ in ColumnFacts() }
    let values = ValueReader(importer.conventions)
    try SourceReading.withReader(texts[table], importer.conventions, sources[table].name) { reader in
      var record = ImportRecord()
      while true {
        do throws(PersistentStoreError) {
          guard try reader.next(&record) else { return }
        } catch {
          // It is a problem when the records are read.
          _ = reader.recover(from: error)
          continue
        }
        for index in header.indices {
          let kind = record.fields[index].kind
          record.withText(of: index, reader.bytes) { facts[index].add($0, kind, values) }
        }
      }
    }
    try refuseDoubles(table)
    let relationships = Set(try foreignKeys(of: table, names).map(\.column))
    let keys = Set(keyColumns(of: table, names))
    let isNamedKey = importer.keyColumns[names[table]] != nil
    var result: [PropertyDescription] = []
    for (index, column) in header.enumerated() where !column.isEmpty {
      guard !relationships.contains(index), isNamedKey || !keys.contains(index) else { continue }
      let name = NameMatching.propertyName(forColumn: column)
      let type: AttributeType
      if let key = ["\(names[table]).\(name)", name, column].first(where: { importer.types[$0] != nil }),
        let given = importer.types[key]
      {
        type = given
        unusedTypes.remove(key)
      } else {
        let found = facts[index].type
        type = found.type
        if let format = found.format { formats[table][column] = format }
        if found.isAmbiguous {
          notes.append(
            SelectionNote(
              subject: "\(names[table]).\(name)", count: facts[index].count,
              text: "kept as text: day and month of its dates cannot be told apart"))
        }
      }
      result.append(
        .attribute(
          AttributeDescription(name: name, type: type, isOptional: facts[index].hasMissing || !facts[index].hasValue)))
    }
    return result
  }

  /// Two columns that become one property.
  private func refuseDoubles(_ table: Int) throws(PersistentStoreError) {
    var seen: [ScalarString: Int] = [:]
    for (index, column) in headers[table].enumerated() where !column.isEmpty {
      let name = NameMatching.propertyName(forColumn: column)
      guard let other = seen.updateValue(index, forKey: ScalarString(name)) else { continue }
      throw PersistentStoreError(
        .malformed,
        "the columns \(other + 1) and \(index + 1), '\(headers[table][other])' and '\(column)', both become the property '\(name)': give the columns other names",
        at: StoreLocation(file: sources[table].name, line: 1))
    }
  }

  // MARK: Keys

  private func keyColumns(of table: Int, _ names: [String]) -> [Int] {
    if let named = importer.keyColumns[names[table]] {
      return named.compactMap { column in headers[table].firstIndex { ScalarString($0) == ScalarString(column) } }
    }
    let own = NameMatching.folded(names[table])
    let folded = headers[table].map { NameMatching.folded($0) }
    for candidate in ["id", own + "id", "pk", "zpk", own + "key", "key"] {
      if let found = folded.firstIndex(of: candidate) { return [found] }
    }
    return []
  }

  private struct ForeignKey {
    var column: Int
    var name: String
    var destination: Int
  }

  /// Columns that hold keys of another table: those that were named, and those that are called as its entity, with
  /// `id`.
  private func foreignKeys(of table: Int, _ names: [String]) throws(PersistentStoreError) -> [ForeignKey] {
    var result: [ForeignKey] = []
    for named in importer.relationshipColumns where named.entityName == names[table] && !headers[table].isEmpty {
      guard let column = headers[table].firstIndex(where: { ScalarString($0) == ScalarString(named.column) }) else {
        throw PersistentStoreError(
          .invalidOption, "there is no column '\(named.column)'; there are " + headers[table].joined(separator: ", "),
          at: StoreLocation(file: sources[table].name))
      }
      let wanted = named.destinationEntityName ?? named.relationshipName
      guard let destination = names.firstIndex(where: { NameMatching.folded($0) == NameMatching.folded(wanted) }) else {
        throw PersistentStoreError(
          .invalidOption,
          "without a model '\(named.entityName).\(named.relationshipName)' needs the entity that its keys are of: one of "
            + names.joined(separator: ", "))
      }
      result.append(ForeignKey(column: column, name: named.relationshipName, destination: destination))
    }
    for (index, column) in headers[table].enumerated() where !result.contains(where: { $0.column == index }) {
      let folded = NameMatching.folded(column)
      for (destination, name) in names.enumerated() {
        let other = NameMatching.folded(name)
        guard ["id", "key", "fk"].contains(where: { folded == other + $0 }),
          !(destination == table && keyColumns(of: table, names).contains(index)),
          !keyColumns(of: destination, names).isEmpty
        else { continue }
        result.append(
          ForeignKey(column: index, name: name.prefix(1).lowercased() + name.dropFirst(), destination: destination))
        break
      }
    }
    return result
  }

  private func relationships(
    of table: Int, _ names: [String]
  ) throws(PersistentStoreError) -> [(RelationshipDescription, RelationshipDescription, destination: Int)] {
    let keys = try foreignKeys(of: table, names)
    var result: [(RelationshipDescription, RelationshipDescription, destination: Int)] = []
    let own = names[table].prefix(1).lowercased() + names[table].dropFirst()
    for key in keys {
      let isOnly = keys.filter { $0.destination == key.destination }.count == 1 && key.destination != table
      let plural = EnglishPlural.plural(own)
      let inverse = isOnly ? plural : plural + "By" + key.name.prefix(1).uppercased() + key.name.dropFirst()
      result.append(
        (
          RelationshipDescription(
            name: key.name, destinationEntityName: names[key.destination], inverseName: inverse),
          RelationshipDescription(
            name: inverse, destinationEntityName: names[table], inverseName: key.name, maximumCount: 0), key.destination
        ))
    }
    return result
  }
}

/// What the values of a column may be.
struct ColumnFacts {
  private(set) var hasValue = false
  private(set) var hasMissing = false
  private(set) var count = 0
  private var mayBeInteger = true
  private var mayBeDecimal = true
  private var mayBeDouble = true
  private var mayBeBoolean = true
  private var mayBeDate = true
  private var mayBeUUID = true
  /// Whether all values begin with a plus sign: those are telephone numbers, which would lose it.
  private var hasPlusEverywhere = true
  private var patterns = Self.knownPatterns

  /// Forms of dates that are recognised beside ISO 8601. Two that differ in the order of day and month are told apart
  /// by days after the twelfth.
  private static let knownPatterns: [(text: String, format: DateFormat)] = [
    "d.M.yyyy", "d.M.yyyy H:mm", "d.M.yyyy H:mm:ss", "d/M/yyyy", "M/d/yyyy", "d/M/yyyy H:mm", "M/d/yyyy H:mm",
    "yyyy/MM/dd", "yyyy/MM/dd HH:mm:ss",
  ].compactMap { text in DateFormat(text).map { (text, $0) } }

  mutating func add(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) {
    if values.isNull(text, kind, .integer) {
      hasMissing = true
      return
    }
    hasValue = true
    count += 1
    if hasPlusEverywhere { hasPlusEverywhere = ValueReader.hasLeadingPlus(text) }
    switch kind {
    case .yes, .no:
      (mayBeInteger, mayBeDecimal, mayBeDouble, mayBeDate, mayBeUUID) = (false, false, false, false, false)
      return
    case .list:
      (mayBeInteger, mayBeDecimal, mayBeDouble, mayBeBoolean, mayBeDate, mayBeUUID) = (
        false, false, false, false, false, false
      )
      return
    default: break
    }
    // Digits alone are both.
    let isNumber = (mayBeInteger || mayBeDecimal) && Self.isPlainInteger(ValueReader.trimmed(text))
    if mayBeInteger { mayBeInteger = isNumber || Self.isInteger(text, kind, values) }
    if mayBeDecimal { mayBeDecimal = isNumber || Self.isDecimal(text, kind, values) }
    if mayBeDouble {
      // A later value may be one that only a double holds.
      mayBeDouble =
        mayBeDecimal ? Self.digitCount(ValueReader.trimmed(text)) <= 17 : Self.isDouble(text, kind, values)
    }
    if mayBeBoolean {
      mayBeBoolean =
        (Self.isWord(text) || values.isOwnWord(text)) && !values.value(text, kind, .boolean, format: nil).isNull
    }
    if mayBeDate { checkDate(text, values) }
    if mayBeUUID { mayBeUUID = ExactText.uuid(ValueReader.trimmed(text)) != nil }
  }

  /// An integer without leading zeros, which codes have.
  private static func isInteger(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    let bytes = ValueReader.trimmed(text)
    guard ExactText.integer(bytes) == nil, case .integer = values.value(text, kind, .integer64, format: nil) else {
      return false
    }
    let point: UInt8 =
      kind != .number && values.conventions.decimalSeparator == .comma ? UInt8(ascii: ",") : UInt8(ascii: ".")
    return ![point, UInt8(ascii: "e"), UInt8(ascii: "E")].contains { has(bytes, $0) }
  }

  /// Digits of a 64-bit integer as it would be written.
  private static func isPlainInteger(_ bytes: Span<UInt8>) -> Bool {
    guard !bytes.isEmpty, ExactText.integer(bytes) != nil else { return false }
    let first = bytes[0] == UInt8(ascii: "-") ? 1 : 0
    guard first < bytes.count, bytes[first] >= UInt8(ascii: "0"), bytes[first] <= UInt8(ascii: "9") else {
      return false
    }
    return bytes[first] != UInt8(ascii: "0") || bytes.count == 1
  }

  /// Digits with a fraction, without exponent or leading zeros.
  private static func isDecimal(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    let bytes = ValueReader.trimmed(text)
    guard !bytes.isEmpty, !has(bytes, UInt8(ascii: "e")), !has(bytes, UInt8(ascii: "E")),
      case .decimal(let value) = values.value(text, kind, .decimal, format: nil), !value.isNaN
    else { return false }
    return !ValueReader.hasLeadingZero(bytes)
  }

  private static func isDouble(_ text: Span<UInt8>, _ kind: ImportField.Kind, _ values: ValueReader) -> Bool {
    let bytes = ValueReader.trimmed(text)
    return !bytes.isEmpty && !ValueReader.hasLeadingZero(bytes) && digitCount(bytes) <= 17
      && !values.value(text, kind, .double, format: nil).isNull
  }

  /// The digits from the first one that is not zero to the last one. A double keeps at most 17.
  private static func digitCount(_ bytes: Span<UInt8>) -> Int {
    var count = 0
    var significant = 0
    for index in bytes.indices {
      if bytes[index] | 0x20 == UInt8(ascii: "e") { break }
      guard bytes[index] >= UInt8(ascii: "0"), bytes[index] <= UInt8(ascii: "9") else { continue }
      if bytes[index] != UInt8(ascii: "0") || count > 0 { count += 1 }
      if bytes[index] != UInt8(ascii: "0") { significant = count }
    }
    return significant
  }

  private static func has(_ bytes: Span<UInt8>, _ byte: UInt8) -> Bool {
    for index in bytes.indices where bytes[index] == byte { return true }
    return false
  }

  /// Whether it has a letter: 0 and 1 are integers.
  private static func isWord(_ text: Span<UInt8>) -> Bool {
    for index in text.indices where text[index] | 0x20 >= UInt8(ascii: "a") && text[index] | 0x20 <= UInt8(ascii: "z") {
      return true
    }
    return text.count > 0 && text[0] >= 0x80
  }

  private mutating func checkDate(_ text: Span<UInt8>, _ values: ValueReader) {
    let bytes = ValueReader.trimmed(text)
    let isPlain = !bytes.isEmpty && bytes[0] != UInt8(ascii: "@") && values.date(bytes) != nil
    if count == 1 { isPlainDate = isPlain }
    if isPlainDate {
      mayBeDate = isPlain
      return
    }
    patterns.removeAll { $0.format.seconds(bytes) == nil }
    if patterns.isEmpty { mayBeDate = false }
  }
  /// Whether the first value was a date without a pattern of these.
  private var isPlainDate = false

  /// The type that all values have, with the pattern of dates.
  var type: (type: AttributeType, format: DateFormat?, isAmbiguous: Bool) {
    guard hasValue else { return (.string, nil, false) }
    if hasPlusEverywhere { return (.string, nil, false) }
    if mayBeBoolean { return (.boolean, nil, false) }
    if mayBeInteger { return (.integer64, nil, false) }
    if mayBeDecimal { return (.decimal, nil, false) }
    if mayBeDouble { return (.double, nil, false) }
    if mayBeUUID { return (.uuid, nil, false) }
    if mayBeDate {
      if isPlainDate { return (.date, nil, false) }
      if patterns.count == 1 { return (.date, patterns[0].format, false) }
      return (.string, nil, true)
    }
    return (.string, nil, false)
  }
}
