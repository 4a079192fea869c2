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
  /// How many bytes one value may have, or what a function makes.
  static let maximumSize = 64 << 20

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

/// How many values and bytes may still be made of a value, what is nested in it included, and how deep the next one is.
///
/// A file may refer to one text or to one part many times: each time counts, since the result repeats it.
struct InnerLimits {
  private var left = InnerValue.maximumCount
  private(set) var bytesLeft = InnerValue.maximumSize
  private var depth = 0

  /// What was made so far, as steps of a request.
  var steps: Int { InnerValue.maximumCount - left + (InnerValue.maximumSize - bytesLeft) / 64 }

  /// Counts bytes of a text, of data, or of what was decompressed.
  ///
  /// - Throws: `.limitExceeded`.
  mutating func take(bytes count: Int) throws(PersistentStoreError) {
    bytesLeft -= count
    guard bytesLeft >= 0 else {
      // Whatever is tried next fails as well.
      bytesLeft = -1
      throw PersistentStoreError(
        .limitExceeded, "finds more than \(InnerValue.maximumSize) bytes of texts and data, the limit")
    }
  }

  /// Makes a value and what it holds.
  ///
  /// - Throws: `.limitExceeded`.
  mutating func within(
    _ body: (inout InnerLimits) throws(PersistentStoreError) -> InnerValue
  ) throws(PersistentStoreError) -> InnerValue {
    try take(bytes: 0)
    left = max(left, 0) - 1
    guard left >= 0 else {
      throw PersistentStoreError(.limitExceeded, "finds more than \(InnerValue.maximumCount) values, the limit")
    }
    depth += 1
    defer { depth -= 1 }
    guard depth <= InnerValue.maximumDepth else {
      throw PersistentStoreError(
        .limitExceeded, "finds values nested more than \(InnerValue.maximumDepth) deep, the limit")
    }
    let value = try body(&self)
    switch value {
    case .text(let text): try take(bytes: text.utf8.count)
    case .data(let data): try take(bytes: data.count)
    case .table(let members): try take(bytes: members.reduce(0) { $0 + $1.key.utf8.count })
    default: break
    }
    return value
  }
}
