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
  /// The name in model files, such as `Integer 16`. An undefined attribute has no name there, and `Undefined` here.
  public var modelName: String {
    switch self {
    case .undefined: "Undefined"
    case .integer16: "Integer 16"
    case .integer32: "Integer 32"
    case .integer64: "Integer 64"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Boolean"
    case .date: "Date"
    case .binaryData: "Binary"
    case .uuid: "UUID"
    case .uri: "URI"
    case .transformable: "Transformable"
    case .composite: "Composite"
    }
  }

  /// The type with that name in model files; for a composite, the name of the composite is required as well.
  public init?(modelName: String, composite: String? = nil) {
    let wanted = modelName.isEmpty ? AttributeType.undefined.modelName : modelName
    guard let type = Self.all.first(where: { $0.modelName == wanted }) else { return nil }
    if case .composite = type { self = .composite(composite ?? "") } else { self = type }
  }

  /// All types; a composite without a name.
  static let all: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable, .composite(""),
  ]

  /// Whether an attribute of this type can hold the value. Integers are checked for range.
  public func accepts(_ value: StoredValue) -> Bool {
    switch (self, value) {
    case (_, .null): true
    case (_, .toOne), (_, .toMany): false
    case (.undefined, _): true
    case (.integer16, .integer(let number)): Int16(exactly: number) != nil
    case (.integer32, .integer(let number)): Int32(exactly: number) != nil
    case (.integer64, .integer): true
    case (.decimal, .decimal), (.double, .double), (.float, .float), (.string, .string), (.boolean, .boolean): true
    case (.date, .date), (.binaryData, .data), (.uuid, .uuid), (.uri, .uri), (.transformable, .data): true
    default: false
    }
  }
}
