/// The type of an Arrow column, of those that tables of nodes have.
package indirect enum ArrowType: Sendable, Equatable {
  /// The unit of a timestamp.
  package enum TimeUnit: Int16, Sendable, CaseIterable {
    /// Whole seconds.
    case second
    /// 1,000 a second.
    case millisecond
    /// 1,000,000 a second.
    case microsecond
    /// 1,000,000,000 a second.
    case nanosecond

    /// How many of the unit are a second.
    var perSecond: Int64 {
      switch self {
      case .second: 1
      case .millisecond: 1_000
      case .microsecond: 1_000_000
      case .nanosecond: 1_000_000_000
      }
    }
  }

  /// A bit for each row.
  case boolean
  /// An integer of 8, 16, 32 or 64 bits.
  case integer(bits: Int, isSigned: Bool)
  /// A binary float of 32 or 64 bits.
  case float(bits: Int)
  /// UTF-8, with offsets of 32 bits, or of 64.
  case text(isLarge: Bool)
  /// Bytes, with offsets of 32 bits, or of 64.
  case binary(isLarge: Bool)
  /// Bytes of one length.
  case fixedSizeBinary(Int)
  /// An integer of that many bits (128 or 256), divided by 10 to the power of the scale.
  case decimal(bits: Int, precision: Int, scale: Int)
  /// Ticks since 1970-01-01T00:00:00; in UTC if there is a time zone.
  case timestamp(TimeUnit, timeZone: String?)
  /// Days since 1970-01-01 in 32 bits, or milliseconds in 64.
  case date(isDays: Bool)
  /// No values.
  case null
  /// A list of values, with offsets of 32 bits, or of 64.
  case list(ArrowField, isLarge: Bool)

  /// The name that Arrow's documentation has for the type.
  package var name: String {
    switch self {
    case .boolean: "bool"
    case .integer(let bits, let isSigned): (isSigned ? "int" : "uint") + "\(bits)"
    case .float(let bits): bits == 32 ? "float" : "double"
    case .text(let isLarge): isLarge ? "large_utf8" : "utf8"
    case .binary(let isLarge): isLarge ? "large_binary" : "binary"
    case .fixedSizeBinary(let width): "fixed_size_binary(\(width))"
    case .decimal(let bits, let precision, let scale): "decimal\(bits)(\(precision), \(scale))"
    case .timestamp(let unit, let zone): "timestamp(\(unit)\(zone.map { ", \($0)" } ?? ""))"
    case .date(let isDays): isDays ? "date32" : "date64"
    case .null: "null"
    case .list(let item, let isLarge): (isLarge ? "large_list" : "list") + "<\(item.type.name)>"
    }
  }

  /// The bytes of a value in the data buffer; nil for types of variable length, and for bits.
  var valueWidth: Int? {
    switch self {
    case .integer(let bits, _), .float(let bits), .decimal(let bits, _, _): bits / 8
    case .fixedSizeBinary(let width): width
    case .timestamp: 8
    case .date(let isDays): isDays ? 4 : 8
    case .boolean, .text, .binary, .list, .null: nil
    }
  }

  /// The bytes of an offset; nil for types of fixed width.
  var offsetWidth: Int? {
    switch self {
    case .text(let isLarge), .binary(let isLarge), .list(_, let isLarge): isLarge ? 8 : 4
    default: nil
    }
  }
}

/// A column's name, type and metadata.
package struct ArrowField: Sendable, Equatable {
  /// The name of the column. Arrow allows two columns of one name; stores do not.
  package var name: String
  /// The type of its values.
  package var type: ArrowType
  /// Whether rows may have no value.
  package var isNullable: Bool
  /// Texts by key, in the file's order.
  package var metadata: [ArrowMetadataEntry]

  /// Creates a field.
  package init(_ name: String, _ type: ArrowType, isNullable: Bool = true, metadata: [ArrowMetadataEntry] = []) {
    self.name = name
    self.type = type
    self.isNullable = isNullable
    self.metadata = metadata
  }

  /// The value of the first entry with that key.
  package func metadata(_ key: String) -> String? {
    metadata.first { $0.key.utf8.elementsEqual(key.utf8) }?.value
  }
}

/// An entry of a field's or a schema's metadata.
package struct ArrowMetadataEntry: Sendable, Equatable {
  /// The key. Keys that begin with `ARROW:` belong to Arrow.
  package var key: String
  /// The value.
  package var value: String

  /// Creates an entry.
  package init(_ key: String, _ value: String) {
    self.key = key
    self.value = value
  }
}

/// The columns of an Arrow stream or file.
package struct ArrowSchema: Sendable, Equatable {
  /// The columns in their order.
  package var fields: [ArrowField]
  /// Texts by key, in the file's order.
  package var metadata: [ArrowMetadataEntry]

  /// Creates a schema.
  package init(_ fields: [ArrowField], metadata: [ArrowMetadataEntry] = []) {
    self.fields = fields
    self.metadata = metadata
  }
}
