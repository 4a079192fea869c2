import AtomicStoreKit
import AtomicStoreSPI
import Foundation

enum Rank: Int, AttributeValue {
  case low = 0
  case middle, high
  static var atomicStoreValueForNull: Rank { .low }
}

enum Tone: String, AttributeValue {
  case red, green, blue
  static var atomicStoreValueForNull: Tone { .red }
}

/// One attribute as a property of one Swift type, and how to compare both kinds of access.
struct TypedForm: Sendable {
  let key: StaticString
  let type: String
  var name: String { "\(key)" }
  /// What an optional typed property reads, what one that is not optional reads, and what the latter reads for null.
  let read: @Sendable (ManagedObject) -> (optional: String, plain: String, null: String)
  /// Sets the n-th value of the type, or nil, by a typed property.
  let write: @Sendable (ManagedObject, Int?) -> Void
  /// The same value as a program passes it to `setValue(_:forKey:)`.
  let value: @Sendable (Int?) -> Any?

  init<Value: AttributeValue & SendableMetatype>(_ key: StaticString, _ make: @escaping @Sendable (Int) -> Value) {
    self.key = key
    type = "\(Value.self)"
    read = { object in
      let optional: Value? = object[managed: key]
      let plain: Value = object[managed: key]
      return (Self.text(optional), Self.text(plain), Self.text(Value.atomicStoreValueForNull))
    }
    write = { object, number in
      if let number { object[managed: key] = make(number) } else { object[managed: key] = nil as Value? }
    }
    value = { $0.map(make) }
  }

  /// The same text for equal values of related types: integers of all widths, an enumeration and its raw value.
  static func text(_ value: Any?) -> String {
    switch value {
    case nil: "nil"
    case let date as Date: "\(date.timeIntervalSinceReferenceDate)"
    case let data as Data: "\(Array(data))"
    case let rank as Rank: "\(rank.rawValue)"
    case let tone as Tone: tone.rawValue
    case let number as Float: "\(Double(number))"
    case let value?: "\(value)"
    }
  }

  private static let tones: [Tone] = [.red, .green, .blue]

  /// All types of attributes: with and without a default value, transient ones, and the parts of a composite.
  static let all: [TypedForm] = makeAll()

  private static func makeAll() -> [TypedForm] {
    var all: [TypedForm] = []
    let integers: [StaticString] = [
      "integer", "integer+", "~integer", "~integer+", "whole.integer", "number16", "number16+", "~number16",
      "~number16+", "whole.number16",
    ]
    for key in integers {
      all.append(TypedForm(key) { $0 })
      all.append(TypedForm(key) { Int16(truncatingIfNeeded: $0) })
      all.append(TypedForm(key) { Int32(truncatingIfNeeded: $0) })
      all.append(TypedForm(key) { Int64($0) })
      all.append(TypedForm(key) { Rank(rawValue: $0 % 3) ?? .low })
    }
    all += forms("text", "text+", "~text", "~text+", "whole.text") { "text \($0)" }
    all += forms("tone", "tone+", "~tone", "~tone+", "whole.tone") { tones[$0 % 3] }
    all += forms("double", "double+", "~double", "~double+", "whole.double") { Double($0) / 4 }
    all += forms("float", "float+", "~float", "~float+", "whole.float") { Float($0) / 4 }
    all += forms("decimal", "decimal+", "~decimal", "~decimal+", "whole.decimal") { DecimalNumber(Int64($0)) }
    all += forms("flag", "flag+", "~flag", "~flag+", "whole.flag") { $0 % 2 == 1 }
    all += forms("day", "day+", "~day", "~day+", "whole.day") { Date(timeIntervalSinceReferenceDate: Double($0)) }
    all += forms("data", "data+", "~data", "~data+", "whole.data") { Data([UInt8(truncatingIfNeeded: $0)]) }
    all += forms("uuid", "uuid+", "~uuid", "~uuid+", "whole.uuid") { number in
      UUID(uuid: (UInt8(truncatingIfNeeded: number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    }
    // One property without a type, as several Swift types.
    all.append(TypedForm("~any") { $0 })
    all.append(TypedForm("~any") { tones[$0 % 3] })
    all.append(TypedForm("any") { "any \($0)" })
    return all
  }

  private static func forms<Value: AttributeValue & SendableMetatype>(
    _ keys: StaticString..., make: @escaping @Sendable (Int) -> Value
  ) -> [TypedForm] {
    keys.map { TypedForm($0, make) }
  }

  /// The entity with these attributes. A name with `~` is transient, one with `+` has a default value.
  static var model: ModelDescription {
    let types: [(name: String, type: AttributeType, defaultValue: StoredValue)] = [
      ("integer", .integer64, .integer(2)), ("number16", .integer16, .integer(1)),
      ("text", .string, .string("by default")),
      ("tone", .string, .string("green")), ("double", .double, .double(2.5)), ("float", .float, .float(1.5)),
      ("decimal", .decimal, .decimal(DecimalNumber(7))), ("flag", .boolean, .boolean(true)),
      ("day", .date, .date(Date(timeIntervalSinceReferenceDate: 9))), ("data", .binaryData, .data(Data([9]))),
      ("uuid", .uuid, .uuid(UUID(uuid: (9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)))),
    ]
    var properties: [PropertyDescription] = [
      .attribute("~any", .undefined, isTransient: true), .attribute("any", .undefined),
      .attribute("whole", .composite("Whole")),
      .attribute("doubled", .integer64, derivationExpression: "integer * 2"),
      .toOne("one", "Thing"), .toMany("many", "Thing"), .toMany("list", "Thing", isOrdered: true),
      .toOne("~one", "Thing", isTransient: true), .toMany("~many", "Thing", isTransient: true),
      .toMany("~list", "Thing", isTransient: true, isOrdered: true),
    ]
    for (name, type, value) in types {
      properties += [
        .attribute(name, type), .attribute(name + "+", type, defaultValue: value),
        .attribute("~" + name, type, isTransient: true),
        .attribute("~" + name + "+", type, isTransient: true, defaultValue: value),
      ]
    }
    return ModelDescription(
      entities: [EntityDescription(name: "Thing", properties: properties)],
      composites: [
        CompositeDescription(
          name: "Whole", attributes: types.map { AttributeDescription(name: $0.name, type: $0.type) })
      ])
  }
}
