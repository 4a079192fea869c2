import AtomicStoreSPI

/// The names of attribute types in the file. Those from `string` to `binary` occur in files that Core Data wrote; the
/// others were not found in any file and are this format's own.
enum StoreTypeName {
  static let all: [(name: StaticString, type: AttributeType)] = [
    ("string", .string), ("bool", .boolean), ("int16", .integer16), ("int32", .integer32), ("int64", .integer64),
    ("float", .float), ("date", .date), ("binary", .binaryData), ("double", .double), ("decimal", .decimal),
    ("uuid", .uuid), ("uri", .uri), ("transformable", .transformable), ("undefined", .undefined),
  ]

  static func name(of type: AttributeType) -> StaticString {
    // A composite is represented by its parts and needs no name.
    all.first { $0.type == type }?.name ?? "undefined"
  }

  static func type(named name: UnsafeBufferPointer<UInt8>) -> AttributeType? {
    all.first { entry in
      entry.name.utf8CodeUnitCount == name.count
        && (0..<name.count).allSatisfy { entry.name.utf8Start[$0] == name[$0] }
    }?.type
  }

  /// The type that specifies what a value alone is.
  static func type(of value: StoredValue) -> AttributeType? {
    switch value {
    case .boolean: .boolean
    case .integer: .integer64
    case .float: .float
    case .double: .double
    case .decimal: .decimal
    case .string: .string
    case .data: .binaryData
    case .date: .date
    case .uuid: .uuid
    case .uri: .uri
    case .null, .toOne, .toMany: nil
    }
  }
}
