import ArrowTables
import AtomicStoreSPI
import FoundationEssentials
import StoreJSON

/// The rows of an Arrow file or stream as JSON, one object on each line: what `fetch --format ndjson` prints of the
/// same objects. The line of a problem is the number of the row.
struct ArrowRecords {
  /// UTF-8.
  private(set) var text: [UInt8] = []
  /// The types of attributes that the columns have, by name, as far as an Arrow type is one.
  private(set) var types: [ScalarString: AttributeType] = [:]
  /// The store that the references of the rows' objects are of, if they are there.
  private(set) var storeUUID: UUID?
  /// Whether the model is known: then the reference of the object is in the form of `fetch --json`.
  private let namesObjects: Bool

  /// Whether bytes begin as an Arrow file or stream does.
  static func isArrow(_ bytes: [UInt8]) -> Bool { bytes.withUnsafeBytes { ArrowFile.isFileOrStream($0) } }

  /// - Parameters:
  ///   - limit: The maximum size of the text.
  ///   - namesObjects: Whether the model is known.
  /// - Throws: `.notSupported` for a column of a type that is not read, `.invalidValue` for a value that the kit cannot
  ///   hold, both with the name of the column; `.malformed`, `.limitExceeded`.
  init(_ bytes: StoreBytes, limit: Int, namesObjects: Bool) throws(PersistentStoreError) {
    self.namesObjects = namesObjects
    try bytes.withUnsafeBytes { raw throws(PersistentStoreError) in
      try self.read(try ArrowFile(fileOrStream: raw), limit)
    }
  }

  private mutating func read(_ file: ArrowFile, _ limit: Int) throws(PersistentStoreError) {
    let fields = file.schema.fields
    var seen: Set<ScalarString> = []
    for field in fields {
      guard seen.insert(ScalarString(field.name)).inserted else {
        throw PersistentStoreError(.malformed, "two columns are called '\(field.name)'")
      }
      if let type = Self.attributeType(field) { types[ScalarString(field.name)] = type }
    }
    // The column that names the entity of each object belongs to that of its reference.
    var entities: [Int: Int] = [:]
    for (index, field) in fields.enumerated() where Self.isIdentifier(field) {
      entities[index] = fields.firstIndex { $0.name == field.name + "Entity" }
    }
    if fields.contains(where: Self.isIdentifier) {
      storeUUID = file.schema.metadata.first { $0.key == ArrowKey.store }.flatMap { UUID(uuidString: $0.value) }
    }
    let skipped = Set(entities.values)
    var row = 0
    for batch in file.batches {
      for index in 0..<batch.count {
        row += 1
        var members: [(String, JSONValue)] = []
        for (column, field) in fields.enumerated() where !skipped.contains(column) {
          do throws(PersistentStoreError) {
            var value = try json(batch.columns[column], field, index)
            if namesObjects, Self.isIdentifier(field) {
              let name = try entities[column].map { other throws(PersistentStoreError) in
                try Self.string(batch.columns[other], index)
              }
              if let entity = name ?? file.schema.metadata.first(where: { $0.key == ArrowKey.entity })?.value {
                value = .object([("entity", .string(entity)), ("reference", value)])
              }
            }
            members.append((field.name, value))
          } catch {
            throw PersistentStoreError(
              error.code, "the column '\(field.name)', row \(row): \(error.message)", at: error.location)
          }
        }
        text += Array(JSONValue.object(members).line.utf8) + [UInt8(ascii: "\n")]
        guard text.count <= limit else {
          throw PersistentStoreError(.limitExceeded, "the rows have more than \(limit) bytes as text")
        }
      }
    }
    // Without rows: a table that is known to be empty.
    if text.isEmpty { text = Array("[]\n".utf8) }
  }

  /// Whether a column has the references of the rows' objects, as `fetch --format arrow` writes them.
  private static func isIdentifier(_ field: ArrowField) -> Bool {
    ObjectForms.objectNames.contains(field.name) && field.metadata(ArrowKey.type) == "Reference"
  }

  /// The type of attribute of a column; nil if the values decide.
  private static func attributeType(_ field: ArrowField) -> AttributeType? {
    if let name = field.metadata(ArrowKey.type) { return AttributeType(modelName: name) }
    switch field.type {
    case .boolean: return .boolean
    case .integer(8, _), .integer(16, true): return .integer16
    case .integer(16, _), .integer(32, true): return .integer32
    case .integer(32, _), .integer(64, true): return .integer64
    case .integer: return nil
    case .float(32): return .float
    case .float: return .double
    case .text: return .string
    case .binary: return .binaryData
    case .fixedSizeBinary: return isUUID(field) ? .uuid : .binaryData
    case .decimal: return .decimal
    case .timestamp, .date: return .date
    case .null, .list: return nil
    }
  }

  private static func isUUID(_ field: ArrowField) -> Bool {
    field.type == .fixedSizeBinary(16)
      && (field.metadata("ARROW:extension:name") == "arrow.uuid" || field.metadata(ArrowKey.type) == "UUID")
  }

  // MARK: Values

  private func json(_ array: ArrowArray, _ field: ArrowField, _ row: Int) throws(PersistentStoreError) -> JSONValue {
    guard array.isPresent(row) else { return .null }
    let kind = field.metadata(ArrowKey.type)
    switch field.type {
    case .null: return .null
    case .boolean: return .boolean(array.values[row >> 3] & (1 << UInt8(row & 7)) != 0)
    case .integer(let bits, let isSigned): return Self.integer(array, row, bits, isSigned)
    case .float(32):
      let number = array.values.loadUnaligned(fromByteOffset: row * 4, as: Float.self)
      return (kind == "Float" ? StoredValue.float(number) : .double(Double(number))).json()
    case .float:
      let number = array.values.loadUnaligned(fromByteOffset: row * 8, as: Double.self)
      if kind == "Date" { return .date(Date(timeIntervalSinceReferenceDate: number)) }
      return StoredValue.double(number).json()
    case .text: return try text(array, field, row)
    case .binary: return .string(Data(Self.bytes(array, row)).base64EncodedString())
    case .fixedSizeBinary(let width):
      let bytes = Array(array.values[row * width..<(row + 1) * width])
      if Self.isUUID(field) {
        return .string(bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }.uuidString)
      }
      return .string(Data(bytes).base64EncodedString())
    case .decimal(let bits, _, let scale):
      let cell = UnsafeRawBufferPointer(rebasing: array.values[row * bits / 8..<(row + 1) * bits / 8])
      let isTrimmed = field.metadata(ArrowKey.decimals) == "trimmed"
      guard let number = ArrowDecimals.number(cell, scale: scale, isTrimmed: isTrimmed) else {
        throw PersistentStoreError(.invalidValue, "the decimal has more digits than 38")
      }
      return StoredValue.decimal(number).json()
    case .timestamp(let unit, _):
      return Self.date(array.values.loadUnaligned(fromByteOffset: row * 8, as: Int64.self), unit)
    case .date(let isDays):
      guard isDays else {
        return Self.date(array.values.loadUnaligned(fromByteOffset: row * 8, as: Int64.self), .millisecond)
      }
      let days = Int64(array.values.loadUnaligned(fromByteOffset: row * 4, as: Int32.self))
      return Self.date(days * 86_400, .second)
    case .list(let item, _):
      guard let items = array.item.first else { return .array([]) }
      // That the references have their kinds is said of the list.
      let item = ArrowField(
        item.name, item.type, metadata: item.metadata + field.metadata.filter { $0.key == ArrowKey.references })
      var list: [JSONValue] = []
      for index in array.start(row)..<array.start(row + 1) { list.append(try json(items, item, index)) }
      return .array(list)
    }
  }

  private static func integer(_ array: ArrowArray, _ row: Int, _ bits: Int, _ isSigned: Bool) -> JSONValue {
    func load<Number: FixedWidthInteger>(_ type: Number.Type) -> Number {
      array.values.loadUnaligned(fromByteOffset: row * (Number.bitWidth / 8), as: type)
    }
    return switch (bits, isSigned) {
    case (8, true): .integer(Int(load(Int8.self)))
    case (8, false): .integer(Int(load(UInt8.self)))
    case (16, true): .integer(Int(load(Int16.self)))
    case (16, false): .integer(Int(load(UInt16.self)))
    case (32, true): .integer(Int(load(Int32.self)))
    case (32, false): .integer(Int(load(UInt32.self)))
    case (_, true): .integer(Int(load(Int64.self)))
    default: .exactNumber("\(load(UInt64.self))")
    }
  }

  private static func date(_ ticks: Int64, _ unit: ArrowType.TimeUnit) -> JSONValue {
    .date(Date(timeIntervalSinceReferenceDate: ArrowDates.seconds(ticks: ticks, unit)))
  }

  private static func bytes(_ array: ArrowArray, _ row: Int) -> [UInt8] {
    Array(array.values[array.start(row)..<array.start(row + 1)])
  }

  private static func string(_ array: ArrowArray, _ row: Int) throws(PersistentStoreError) -> String {
    guard let text = String(validating: bytes(array, row), as: UTF8.self) else {
      throw PersistentStoreError(.malformed, "the text is not UTF-8")
    }
    return text
  }

  /// A text; what the kit writes as text because no type of Arrow holds it.
  private func text(_ array: ArrowArray, _ field: ArrowField, _ row: Int) throws(PersistentStoreError) -> JSONValue {
    let text = try Self.string(array, row)
    if field.metadata(ArrowKey.references) == "typed" {
      switch StoredValue(typedText: text) {
      case .integer(let number)?: return .integer(Int(number))
      case .string(let reference)?: return .string(reference)
      default: throw PersistentStoreError(.malformed, "'\(text.prefix(60))' is not a reference with its kind")
      }
    }
    switch field.metadata(ArrowKey.type).flatMap({ AttributeType(modelName: $0) }) {
    case .decimal:
      guard let number = DecimalNumber(text) else { return .string(text) }
      return StoredValue.decimal(number).json()
    case .undefined where namesObjects:
      return StoredValue(typedText: text)?.json(isDeclared: false) ?? .string(text)
    default: return .string(text)
    }
  }
}
