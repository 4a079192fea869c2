package import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Values in JSON: the same form wherever the command prints them. The article *Values in JSON and CSV* describes it.
extension StoredValue {
  /// The value as JSON.
  ///
  /// - Parameter isDeclared: Whether a model says of which type the value is. Where it does not, values that JSON does
  ///   not have are objects with one member that names the type.
  package func json(isDeclared: Bool = true, quotesDecimals: Bool = false) -> JSONValue {
    switch self {
    case .null: .null
    case .boolean(let flag): .boolean(flag)
    case .integer(let number): .integer(Int(number))
    case .float(let number): isDeclared ? Self.json(number) : .object([("float", Self.json(number))])
    case .double(let number):
      number.isFinite || isDeclared ? Self.json(number) : .object([("double", Self.json(number))])
    case .decimal(let number):
      number.isNaN || quotesDecimals || !isDeclared
        ? Self.named("decimal", number.description, isDeclared) : .exactNumber(number.description)
    case .string(let text): .string(text)
    case .data(let data): .object([("base64", .string(data.base64EncodedString()))])
    case .date(let date): isDeclared ? .date(date) : .object([("date", .date(date))])
    case .uuid(let uuid): Self.named("uuid", uuid.uuidString, isDeclared)
    case .uri(let text): Self.named("uri", text, isDeclared)
    case .toOne(let object): object.json
    case .toMany(let list): .array(list.map(\.json))
    }
  }

  private static func named(_ type: String, _ text: String, _ isDeclared: Bool) -> JSONValue {
    isDeclared ? .string(text) : .object([(type, .string(text))])
  }

  private static func json(_ number: Double) -> JSONValue {
    guard number.isFinite else {
      return .string(
        number.isNaN && number.bitPattern != Double.nan.bitPattern
          ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description)
    }
    return .number(number)
  }

  /// The shortest text that reads back: as a double it would have digits that no one wrote.
  private static func json(_ number: Float) -> JSONValue {
    guard number.isFinite else {
      return .string(
        number.isNaN && number.bitPattern != Float.nan.bitPattern
          ? "nan(0x\(String(number.bitPattern, radix: 16)))" : number.description)
    }
    return .exactNumber(number.description)
  }

  /// The value of a slot that ``json(isDeclared:quotesDecimals:)`` returned; nil where the slot does not take it.
  package init?(json: JSONValue, slot: Slot) {
    let value: StoredValue?
    switch slot.kind {
    case .toOne:
      if case .null = json { value = .null } else { value = ObjectReference(json: json).map { .toOne($0) } }
    case .toMany:
      guard case .array(let list) = json else { return nil }
      let references = list.compactMap { ObjectReference(json: $0) }
      value = references.count == list.count ? .toMany(references) : nil
    case .attribute(let type): value = Self.attribute(json, type)
    }
    guard let value else { return nil }
    self = value
  }

  /// The value of undefined type that ``json(isDeclared:quotesDecimals:)`` returned; nil for other JSON.
  package init?(undeclaredJSON json: JSONValue) {
    guard let value = Self.undeclared(json) else { return nil }
    self = value
  }

  private static func attribute(_ json: JSONValue, _ type: AttributeType) -> StoredValue? {
    if case .null = json { return .null }
    let value: StoredValue?
    switch (type.valueKind, json) {
    case (.undefined, _): value = undeclared(json)
    case (.boolean, .boolean(let flag)): value = .boolean(flag)
    case (.integer, .integer(let number)): value = .integer(Int64(number))
    case (.double, _): value = json.numberText.flatMap { read($0, ExactText.double) }.map { .double($0) }
    case (.float, _): value = json.numberText.flatMap { read($0, ExactText.float) }.map { .float($0) }
    case (.decimal, _): value = json.numberText.flatMap { DecimalNumber($0) }.map { .decimal($0) }
    case (.string, .string(let text)): value = .string(text)
    case (.uri, .string(let text)): value = .uri(text)
    case (.uuid, .string(let text)): value = read(text, ExactText.uuid).map { .uuid($0) }
    case (.date, .string(let text)):
      value = read(text, ExactText.date).map { .date(Date(timeIntervalSinceReferenceDate: $0)) }
    case (.data, .object): value = undeclared(json)
    default: value = nil
    }
    return value.flatMap { type.accepts($0) ? $0 : nil }
  }

  /// A value whose type its form says.
  private static func undeclared(_ json: JSONValue) -> StoredValue? {
    switch json {
    case .boolean(let flag): return .boolean(flag)
    case .integer(let number): return .integer(Int64(number))
    case .number, .exactNumber: return json.numberText.flatMap { read($0, ExactText.double) }.map { .double($0) }
    case .string(let text): return .string(text)
    case .object(let members):
      guard members.count == 1, let (name, member) = members.first else { return nil }
      switch name {
      case "base64":
        guard case .string(let text) = member else { return nil }
        return Data(base64Encoded: text).map { .data($0) }
      case "float": return attribute(member, .float)
      case "double": return attribute(member, .double)
      case "decimal": return attribute(member, .decimal)
      case "date": return attribute(member, .date)
      case "uuid": return attribute(member, .uuid)
      case "uri": return attribute(member, .uri)
      default: return nil
      }
    case .null, .array: return nil
    }
  }

  private static func read<Value>(_ text: String, _ body: (Span<UInt8>) -> Value?) -> Value? {
    body(Array(text.utf8).span)
  }
}

extension JSONValue {
  /// The text of a number, or of a string that is one because JSON has no such number.
  package var numberText: String? {
    switch self {
    case .integer(let number): String(number)
    case .number(let number): number.description
    case .exactNumber(let text), .string(let text): text
    default: nil
    }
  }

  /// The value of a member; nil for another kind of value, and where there is none.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.0.utf8.elementsEqual(name.utf8) }?.1
  }
}

extension ReferenceObject {
  /// An integer or a string.
  package var json: JSONValue {
    switch self {
    case .integer(let number): .integer(Int(number))
    case .string(let text): .string(text)
    }
  }

  package init?(json: JSONValue?) {
    switch json {
    case .integer(let number): self = .integer(Int64(number))
    case .string(let text): self = .string(text)
    default: return nil
    }
  }
}

extension ObjectReference {
  /// `{"entity": "Book", "reference": 3}`.
  package var json: JSONValue { .object([("entity", .string(entityName)), ("reference", reference.json)]) }

  package init?(json: JSONValue) {
    guard case .string(let name)? = json["entity"], let reference = ReferenceObject(json: json["reference"]) else {
      return nil
    }
    self.init(entityName: name, reference: reference)
  }
}
