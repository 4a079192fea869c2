import AtomicStoreSPI
import FoundationEssentials

/// The values of columns. Not of a generic type: where a database is not known at compile time, each use of such a type
/// looks it up.
enum SQLValues {
  static func malformed(_ id: Int64, _ slot: Slot, of entity: Entity) -> PersistentStoreError {
    PersistentStoreError(
      .malformed, "the row \(id) has no valid value in '\(slot.name)'",
      at: StoreLocation(entity: entity.name, property: slot.name))
  }

  /// The text of a column.
  ///
  /// - Throws: `.malformed` if it is not UTF-8.
  static func text(_ row: some SQLRow, _ at: Int, _ id: Int64) throws(PersistentStoreError) -> String {
    var text: String?
    row.withText(at) { bytes in text = bytes.withUnsafeBufferPointer { String(validating: $0, as: UTF8.self) } }
    guard let text else { throw PersistentStoreError(.malformed, "a text of the row \(id) is not UTF-8") }
    return text
  }

  /// - Throws: `.malformed` with the entity and the property.
  static func value(
    _ row: some SQLRow, _ at: Int, _ type: AttributeType, _ slot: Slot, of entity: Entity, _ id: Int64
  ) throws(PersistentStoreError) -> StoredValue {
    let value: StoredValue?
    func text() throws(PersistentStoreError) -> String {
      do throws(PersistentStoreError) { return try Self.text(row, at, id) } catch {
        throw error.located(StoreLocation(entity: entity.name, property: slot.name))
      }
    }
    switch type.valueKind {
    case .integer: value = .integer(row.integer(at))
    case .boolean: value = .boolean(row.boolean(at))
    case .double: value = .double(row.double(at))
    case .float: value = .float(row.float(at))
    case .date: value = .date(Date(timeIntervalSinceReferenceDate: row.double(at)))
    case .string: value = .string(try text())
    case .uri: value = .uri(try text())
    case .data: value = .data(row.data(at))
    case .uuid: value = .uuid(row.uuid(at))
    case .decimal: value = DecimalNumber(try text()).map { .decimal($0) }
    case .undefined: value = StoredValue(typedText: try text())
    case .toOne, .toMany: value = .null
    }
    guard let value, type.accepts(value) else { throw malformed(id, slot, of: entity) }
    return value
  }
}

extension SQLValue {
  /// The value of an attribute as its column has it.
  init(_ value: StoredValue, _ type: AttributeType, _ location: StoreLocation) throws(PersistentStoreError) {
    guard type.accepts(value) else {
      throw PersistentStoreError(
        .invalidValue, "\(value.kindDescription) is not a valid \(type.modelName)", at: location)
    }
    if case .undefined = type {
      self = value.isNull ? .null : .text(value.typedText)
      return
    }
    switch value {
    case .null, .toOne, .toMany: self = .null
    case .boolean(let flag): self = .boolean(flag)
    case .integer(let number): self = .integer(number)
    case .float(let number): self = .float(number)
    case .double(let number): self = .double(number)
    case .date(let date): self = .double(date.timeIntervalSinceReferenceDate)
    case .decimal(let number): self = .text(number.description)
    case .string(let text), .uri(let text): self = .text(text)
    case .data(let data): self = .blob(data)
    case .uuid(let uuid): self = .uuid(uuid)
    }
  }
}

/// How references become numbers of rows.
package enum SQLKeys {
  /// Numbers up to this one belong to objects whose references are texts.
  static let lastText: Int64 = -(1 << 62)
}
