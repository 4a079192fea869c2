/// The type of an attribute, by Core Data's names.
///
/// ```swift
/// if slot.attributeType == .decimal { print("\(slot.name) is a decimal number") }
/// ```
public enum AttributeType: Hashable, Sendable {
  /// The model specifies no type: each value has its own. Core Data allows it for transient attributes; the kit also
  /// stores any scalar value of such an attribute.
  case undefined
  /// A signed integer of 16 bits.
  case integer16
  /// A signed integer of 32 bits.
  case integer32
  /// A signed integer of 64 bits.
  case integer64
  /// A decimal number, kept digit for digit: ``DecimalNumber``.
  case decimal
  /// A double-precision float, kept to the bit.
  case double
  /// A single-precision float, kept to the bit.
  case float
  /// Text, kept by Unicode scalars: it is not normalized.
  case string
  /// True or false.
  case boolean
  /// A point in time, kept as the double of its seconds since 2001-01-01T00:00:00Z, to the bit.
  case date
  /// Bytes.
  case binaryData
  /// 128 bits.
  case uuid
  /// A URI, kept as the original text.
  case uri
  /// Bytes that a value transformer created. Stores keep them unchanged.
  case transformable
  /// A group of attributes, specified by its composite. Stores use attributes `name.part` for the parts.
  case composite(String)
}

extension AttributeType {
  /// The name in model files, the `NSAttributeType` number in compiled models, and the kind of the values.
  // Inlined: a caller that needs the kind does not make the name.
  @inline(__always) private var entry: (name: String, number: UInt32, kind: StoredValue.Kind) {
    switch self {
    case .undefined: ("Undefined", 0, .undefined)
    case .integer16: ("Integer 16", 100, .integer)
    case .integer32: ("Integer 32", 200, .integer)
    case .integer64: ("Integer 64", 300, .integer)
    case .decimal: ("Decimal", 400, .decimal)
    case .double: ("Double", 500, .double)
    case .float: ("Float", 600, .float)
    case .string: ("String", 700, .string)
    case .boolean: ("Boolean", 800, .boolean)
    case .date: ("Date", 900, .date)
    case .binaryData: ("Binary", 1000, .data)
    case .uuid: ("UUID", 1100, .uuid)
    case .uri: ("URI", 1200, .uri)
    case .transformable: ("Transformable", 1800, .data)
    case .composite: ("Composite", 2100, .undefined)
    }
  }

  /// All types; a composite without a name.
  package static let all: [AttributeType] = [
    .boolean, .integer16, .integer32, .integer64, .float, .double, .decimal, .date, .uuid, .string, .uri, .binaryData,
    .transformable, .undefined, .composite(""),
  ]

  /// The name in model files, such as `Integer 16`. An undefined attribute has no name there, and `Undefined` here.
  public var modelName: String { entry.name }

  /// The kind of the values that an attribute of this type has. A composite has no values itself.
  ///
  /// ```swift
  /// print(AttributeType.transformable.valueKind)  // data
  /// ```
  public var valueKind: StoredValue.Kind { entry.kind }

  /// The `NSAttributeType` number in compiled models.
  package var versionHashNumber: UInt32 { entry.number }

  /// The number of bits of its integers; 64 for types whose values are not integers.
  package var integerBits: Int {
    switch self {
    case .integer16: 16
    case .integer32: 32
    default: 64
    }
  }
  /// The least and the greatest integer.
  package var integerRange: ClosedRange<Int64> {
    let greatest = Int64.max >> (64 - Int64(integerBits))
    return ~greatest...greatest
  }

  /// The type with that name in model files; for a composite, the name of the composite is required as well.
  public init?(modelName: String, composite: String? = nil) {
    let wanted = modelName.isEmpty ? AttributeType.undefined.modelName : modelName
    guard let type = Self.all.first(where: { $0.modelName == wanted }) else { return nil }
    if case .composite = type { self = .composite(composite ?? "") } else { self = type }
  }

  /// Whether an attribute of this type can hold the value. Integers are checked for range.
  public func accepts(_ value: StoredValue) -> Bool {
    switch (valueKind, value) {
    case (_, .null): true
    case (_, .toOne), (_, .toMany): false
    case (.undefined, _): self == .undefined
    case (.integer, .integer(let number)): integerRange.contains(number)
    case (.decimal, .decimal), (.double, .double), (.float, .float), (.string, .string), (.boolean, .boolean): true
    case (.date, .date), (.data, .data), (.uuid, .uuid), (.uri, .uri): true
    default: false
    }
  }

  /// The type with that number in compiled models; a composite without its name.
  package init?(versionHashNumber number: Int) {
    guard let type = Self.all.first(where: { Int($0.versionHashNumber) == number }) else { return nil }
    self = type
  }
}

extension StoredValue {
  /// The type of an attribute that has this value, with 64 bits for integers; nil for null and relationships.
  package var attributeType: AttributeType? {
    let types: [AttributeType] = [
      .boolean, .integer64, .float, .double, .decimal, .date, .uuid, .string, .uri, .binaryData,
    ]
    return isNull ? nil : types.first { $0.accepts(self) }
  }
}
