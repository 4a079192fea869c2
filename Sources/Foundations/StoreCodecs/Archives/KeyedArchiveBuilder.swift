import FoundationEssentials
public import StorePrimitives

/// Builds a keyed archive as a property list, as ``KeyedArchive`` reads it.
///
/// ```swift
/// var archive = KeyedArchiveBuilder()
/// let name = archive.text("Ada")
/// let names = archive.array([name])
/// let list = archive.finish(["root": names])
/// ```
public struct KeyedArchiveBuilder {
  private var objects: [PropertyListValue] = [.string("$null")]
  private var classes: [String: PropertyListValue] = [:]
  private var nullObject: PropertyListValue?

  /// Creates an archive of nothing.
  public init() {}

  /// The number of objects, with the nil that comes first.
  public var count: Int { objects.count }

  /// The reference to nil.
  public static let nothing = PropertyListValue.uid(0)

  /// NSNull, which is an object, unlike nil.
  public var null: PropertyListValue {
    mutating get {
      if let nullObject { return nullObject }
      let made = object([:], class: ["NSNull", "NSObject"])
      nullObject = made
      return made
    }
  }

  /// Adds a plain value and gives the reference to it.
  public mutating func add(_ value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .uid(UInt64(objects.count - 1))
  }

  /// Adds an object whose fields ``set(_:_:class:)`` sets later, since they refer to it.
  public mutating func reserve() -> PropertyListValue { add(.string("$null")) }

  /// Sets the fields of an object that was reserved.
  public mutating func set(_ reference: PropertyListValue, _ fields: PropertyListDictionary, class names: [String]) {
    guard case .uid(let number) = reference, objects.indices.contains(Int(clamping: number)) else { return }
    objects[Int(number)] = fieldsWithClass(fields, names)
  }

  /// Adds an object.
  ///
  /// - Parameters:
  ///   - fields: Its fields, without its class.
  ///   - names: Its class and the super-classes of that.
  public mutating func object(_ fields: PropertyListDictionary, class names: [String]) -> PropertyListValue {
    let fields = fieldsWithClass(fields, names)
    return add(fields)
  }

  private mutating func fieldsWithClass(_ fields: PropertyListDictionary, _ names: [String]) -> PropertyListValue {
    var fields = fields
    let key = names.joined(separator: " ")
    if let known = classes[key] {
      fields["$class"] = known
    } else {
      let made = add(["$classname": .string(names.first ?? ""), "$classes": .array(names.map { .string($0) })])
      classes[key] = made
      fields["$class"] = made
    }
    return .dictionary(fields)
  }

  /// Adds an array of references.
  public mutating func array(_ elements: [PropertyListValue], isMutable: Bool = false) -> PropertyListValue {
    object(["NS.objects": .array(elements)], class: (isMutable ? ["NSMutableArray"] : []) + ["NSArray", "NSObject"])
  }

  /// Adds a dictionary of references.
  public mutating func dictionary(keys: [PropertyListValue], values: [PropertyListValue], isMutable: Bool = false)
    -> PropertyListValue
  {
    object(
      ["NS.keys": .array(keys), "NS.objects": .array(values)],
      class: (isMutable ? ["NSMutableDictionary"] : []) + ["NSDictionary", "NSObject"])
  }

  /// A string. As a plain value one of them would be nil.
  public mutating func text(_ text: String) -> PropertyListValue {
    text == "$null" ? object(["NS.string": .string(text)], class: ["NSString", "NSObject"]) : add(.string(text))
  }

  /// As NSDecimalNumber archives itself: words of 16 bits, the first of least weight.
  public mutating func decimal(_ number: DecimalNumber) -> PropertyListValue {
    var words: [UInt8] = []
    for word in 0..<8 {
      let value = UInt16(truncatingIfNeeded: number.mantissa >> (UInt128(word) * 16))
      words += [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)]
    }
    let length = number.isNaN ? 0 : (16 - words.reversed().prefix { $0 == 0 }.count + 1) / 2
    return object(
      [
        "NS.mantissa": .data(Data(words)), "NS.mantissa.bo": 1, "NS.length": .integer(Int128(length)),
        "NS.exponent": .integer(Int128(number.exponent)), "NS.negative": .boolean(number.isNaN || number.isNegative),
        "NS.compact": true,
      ], class: ["NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue", "NSObject"])
  }

  /// A property list, with objects for its arrays, dictionaries and dates.
  public mutating func tree(_ value: PropertyListValue) -> PropertyListValue {
    switch value {
    case .array(let elements): array(elements.map { tree($0) })
    case .dictionary(let entries):
      dictionary(keys: entries.map { text($0.key) }, values: entries.map { tree($0.value) })
    case .date(let date):
      object(["NS.time": .real(date.timeIntervalSinceReferenceDate)], class: ["NSDate", "NSObject"])
    case .string(let string): text(string)
    default: add(value)
    }
  }

  /// The archive with its entry points.
  public consuming func finish(_ top: PropertyListDictionary) -> PropertyListValue {
    ["$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": .dictionary(top), "$objects": .array(objects)]
  }
}
