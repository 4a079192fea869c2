import AtomicStoreSPI

/// Numbers of Arrow's schema files (`Schema.fbs`, `Message.fbs`, `File.fbs`).
enum ArrowNumber {
  /// The version of the metadata that is written: V5, of Arrow 1.0. V4 differs in unions only, which are not read.
  static let version: Int16 = 4
  static let oldestVersion: Int16 = 3
  static let schemaMessage: UInt8 = 1
  static let dictionaryMessage: UInt8 = 2
  static let recordBatchMessage: UInt8 = 3

  static let null: UInt8 = 1
  static let integer: UInt8 = 2
  static let float: UInt8 = 3
  static let binary: UInt8 = 4
  static let text: UInt8 = 5
  static let boolean: UInt8 = 6
  static let decimal: UInt8 = 7
  static let date: UInt8 = 8
  static let timestamp: UInt8 = 10
  static let list: UInt8 = 12
  static let fixedSizeBinary: UInt8 = 15
  static let largeBinary: UInt8 = 19
  static let largeText: UInt8 = 20
  static let largeList: UInt8 = 21

  /// The names of all types by number, for errors.
  static let typeNames = [
    "none", "null", "int", "float", "binary", "utf8", "bool", "decimal", "date", "time", "timestamp", "interval",
    "list", "struct", "union", "fixed_size_binary", "fixed_size_list", "map", "duration", "large_binary", "large_utf8",
    "large_list", "run_end_encoded", "binary_view", "utf8_view", "list_view", "large_list_view",
  ]
}

// MARK: - Writing

extension ArrowSchema {
  var flatBuffer: FlatBufferValue {
    .table([.none, .tables(fields.map(\.flatBuffer)), ArrowMetadataEntry.flatBuffer(metadata)])
  }
}

extension ArrowMetadataEntry {
  static func flatBuffer(_ entries: [ArrowMetadataEntry]) -> FlatBufferValue {
    entries.isEmpty ? .none : .tables(entries.map { .table([.string($0.key), .string($0.value)]) })
  }
}

extension ArrowField {
  var flatBuffer: FlatBufferValue {
    var children: [FlatBufferValue] = []
    if case .list(let item, _) = type { children = [item.flatBuffer] }
    let (number, content) = type.flatBuffer
    // Readers demand the list of children even where it is empty.
    return .table([
      .string(name), .byte(isNullable ? 1 : 0), .byte(number), content, .none, .tables(children),
      ArrowMetadataEntry.flatBuffer(metadata),
    ])
  }
}

extension ArrowType {
  fileprivate var flatBuffer: (number: UInt8, content: FlatBufferValue) {
    switch self {
    case .boolean: (ArrowNumber.boolean, .table([]))
    case .integer(let bits, let isSigned):
      (ArrowNumber.integer, .table([.int(Int32(truncatingIfNeeded: bits)), .byte(isSigned ? 1 : 0)]))
    case .float(let bits): (ArrowNumber.float, .table([.short(bits == 32 ? 1 : 2)]))
    case .text(let isLarge): (isLarge ? ArrowNumber.largeText : ArrowNumber.text, .table([]))
    case .binary(let isLarge): (isLarge ? ArrowNumber.largeBinary : ArrowNumber.binary, .table([]))
    case .fixedSizeBinary(let width):
      (ArrowNumber.fixedSizeBinary, .table([.int(Int32(truncatingIfNeeded: width))]))
    case .decimal(let bits, let precision, let scale):
      (
        ArrowNumber.decimal,
        .table([
          .int(Int32(truncatingIfNeeded: precision)), .int(Int32(truncatingIfNeeded: scale)),
          .int(Int32(truncatingIfNeeded: bits)),
        ])
      )
    case .timestamp(let unit, let zone):
      (ArrowNumber.timestamp, .table([.short(unit.rawValue), zone.map { .string($0) } ?? .none]))
    case .date(let isDays): (ArrowNumber.date, .table([.short(isDays ? 0 : 1)]))
    case .null: (ArrowNumber.null, .table([]))
    case .list(_, let isLarge): (isLarge ? ArrowNumber.largeList : ArrowNumber.list, .table([]))
    }
  }
}

// MARK: - Reading

extension ArrowSchema {
  init(_ table: FlatBufferTable) throws(PersistentStoreError) {
    guard try table.number(0, default: Int16(0)) == 0 else {
      throw PersistentStoreError(
        .notSupported, "the file has big-endian numbers, which are not read",
        at: StoreLocation(offset: table.reader.fileOffset + table.position))
    }
    fields = []
    for field in try table.tables(1) { fields.append(try ArrowField(field)) }
    metadata = try ArrowMetadataEntry.entries(table, 2)
  }
}

extension ArrowMetadataEntry {
  fileprivate static func entries(
    _ table: FlatBufferTable, _ id: Int
  ) throws(PersistentStoreError) -> [ArrowMetadataEntry] {
    var entries: [ArrowMetadataEntry] = []
    for entry in try table.tables(id) {
      entries.append(ArrowMetadataEntry(try entry.string(0) ?? "", try entry.string(1) ?? ""))
    }
    return entries
  }
}

extension ArrowField {
  /// - Parameter isItem: Whether this is the item of a list, which cannot be a list.
  fileprivate init(_ table: FlatBufferTable, isItem: Bool = false) throws(PersistentStoreError) {
    name = try table.string(0) ?? ""
    isNullable = try table.isTrue(1)
    metadata = try ArrowMetadataEntry.entries(table, 6)
    if try table.table(4) != nil {
      throw Self.unsupported(
        table, name, "is dictionary-encoded, which is not read: decode it before the file is written")
    }
    type = try Self.type(of: table, name, isItem)
  }

  private static func unsupported(_ table: FlatBufferTable, _ name: String, _ what: String) -> PersistentStoreError {
    PersistentStoreError(
      .notSupported, "the column '\(name)' \(what)",
      at: StoreLocation(offset: table.reader.fileOffset + table.position))
  }

  private static func type(
    of table: FlatBufferTable, _ name: String, _ isItem: Bool
  ) throws(PersistentStoreError) -> ArrowType {
    let number = try table.number(2, default: UInt8(0))
    guard let content = try table.table(3) else { throw table.malformed("the column '\(name)' does not have a type") }
    switch number {
    case ArrowNumber.boolean: return .boolean
    case ArrowNumber.null: return .null
    case ArrowNumber.date: return .date(isDays: try content.number(0, default: Int16(1)) == 0)
    case ArrowNumber.text: return .text(isLarge: false)
    case ArrowNumber.largeText: return .text(isLarge: true)
    case ArrowNumber.binary: return .binary(isLarge: false)
    case ArrowNumber.largeBinary: return .binary(isLarge: true)
    case ArrowNumber.integer:
      let bits = Int(try content.number(0, default: Int32(0)))
      guard [8, 16, 32, 64].contains(bits) else { throw content.malformed("an integer of \(bits) bits") }
      return .integer(bits: bits, isSigned: try content.isTrue(1))
    case ArrowNumber.float:
      let precision = try content.number(0, default: Int16(0))
      guard precision == 1 || precision == 2 else {
        throw unsupported(table, name, "has floats of 16 bits, which are not read")
      }
      return .float(bits: precision == 1 ? 32 : 64)
    case ArrowNumber.fixedSizeBinary:
      let width = Int(try content.number(0, default: Int32(0)))
      guard width > 0 else { throw content.malformed("values of \(width) bytes") }
      return .fixedSizeBinary(width)
    case ArrowNumber.decimal: return try decimal(content, table, name)
    case ArrowNumber.timestamp:
      let unit = try content.number(0, default: Int16(0))
      guard let unit = ArrowType.TimeUnit(rawValue: unit) else { throw content.malformed("a time unit \(unit)") }
      return .timestamp(unit, timeZone: try content.string(1))
    case ArrowNumber.list, ArrowNumber.largeList:
      let children = try table.tables(5)
      guard children.count == 1, !isItem else {
        throw unsupported(table, name, isItem ? "has lists of lists, which are not read" : "is not a list of one type")
      }
      return .list(try ArrowField(children[0], isItem: true), isLarge: number == ArrowNumber.largeList)
    default:
      let type = ArrowNumber.typeNames.indices.contains(Int(number)) ? ArrowNumber.typeNames[Int(number)] : "\(number)"
      throw unsupported(table, name, "is of the type \(type), which is not read")
    }
  }

  private static func decimal(
    _ content: FlatBufferTable, _ table: FlatBufferTable, _ name: String
  ) throws(PersistentStoreError) -> ArrowType {
    let bits = Int(try content.number(2, default: Int32(128)))
    guard bits == 128 || bits == 256 else {
      throw unsupported(table, name, "has decimals of \(bits) bits, which are not read")
    }
    return .decimal(
      bits: bits, precision: Int(try content.number(0, default: Int32(0))),
      scale: Int(try content.number(1, default: Int32(0))))
  }
}
