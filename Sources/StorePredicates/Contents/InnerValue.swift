import AtomicStoreSPI
package import FoundationEssentials
package import StoreJSON

/// A value within the bytes of another one: of a property list, a keyed archive, or a message of Protocol Buffers.
package indirect enum InnerValue: Sendable {
  case null
  case boolean(Bool)
  case integer(Int128)
  case real(Double)
  case decimal(DecimalNumber)
  case text(String)
  case date(Date)
  case data(Data)
  case list([InnerValue])
  case table([(key: String, value: InnerValue)])

  /// How many values one value may hold, and how deep they may be nested: what is shared in a file is repeated here.
  static let maximumCount = 100_000
  static let maximumDepth = 100

  /// As JSON: a date is `{"date": …}`, bytes are `{"base64": …}`.
  package var json: JSONValue {
    switch self {
    case .null: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): Int(exactly: number).map { .integer($0) } ?? .exactNumber("\(number)")
    case .real(let number): .number(number)
    case .decimal(let number): number.isNaN ? .string("nan") : .exactNumber(number.description)
    case .text(let text): .string(text)
    case .date(let date): .object([("date", .date(date))])
    case .data(let data): .object([("base64", .string(data.base64EncodedString()))])
    case .list(let values): .array(values.map(\.json))
    case .table(let members): .object(members.map { ($0.key, $0.value.json) })
    }
  }

  /// As a value of the language: a list or a table is its JSON text.
  var stored: StoredValue {
    switch self {
    case .null: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number):
      Int64(exactly: number).map { .integer($0) }
        ?? .decimal(DecimalNumber(mantissa: number.magnitude, isNegative: number < 0))
    case .real(let number): .double(number)
    case .decimal(let number): .decimal(number)
    case .text(let text): .string(text)
    case .date(let date): .date(date)
    case .data(let data): .data(data)
    case .list, .table: .string(json.line)
    }
  }

  /// The value at a path of keys and numbers of elements, separated by dots; null if there is none.
  func value(at path: String) -> InnerValue {
    var value = self
    for step in path.split(separator: ".", omittingEmptySubsequences: false) {
      switch value {
      case .table(let members): value = members.first { $0.key.utf8.elementsEqual(step.utf8) }?.value ?? .null
      case .list(let list):
        guard let index = Int(step), list.indices.contains(index) else { return .null }
        value = list[index]
      default: return .null
      }
    }
    return value
  }
}

/// How many values may still be made, and how deep the next one is.
struct InnerLimits {
  private var left = InnerValue.maximumCount
  private var depth = 0

  /// Makes a value and what it holds.
  ///
  /// - Throws: `.limitExceeded`.
  mutating func within(
    _ body: (inout InnerLimits) throws(PersistentStoreError) -> InnerValue
  ) throws(PersistentStoreError) -> InnerValue {
    left -= 1
    guard left >= 0 else {
      throw PersistentStoreError(.limitExceeded, "finds more than \(InnerValue.maximumCount) values, the limit")
    }
    depth += 1
    defer { depth -= 1 }
    guard depth <= InnerValue.maximumDepth else {
      throw PersistentStoreError(
        .limitExceeded, "finds values nested more than \(InnerValue.maximumDepth) deep, the limit")
    }
    return try body(&self)
  }
}
