import AtomicStoreKit
import AtomicStoreSPI
import Foundation

/// The company with one entity more, which has attributes of all types and may live in its own store.
enum RandomModel {
  static let types: [AttributeType] = [
    .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date, .binaryData,
    .uuid, .uri, .transformable,
  ]
  static func name(_ type: AttributeType) -> String { "a" + type.modelName.replacingOccurrences(of: " ", with: "") }

  static let model: ManagedObjectModel = {
    var description = CompanyGraph.description
    description.configurations = [
      ConfigurationDescription(name: "Company", entityNames: ReferenceGraph.entities.filter { $0 != "Value" }),
      ConfigurationDescription(name: "Values", entityNames: ["Value"]),
    ]
    description.composites += [
      CompositeDescription(
        name: "Place",
        attributes: [
          AttributeDescription(name: "x", type: .double), AttributeDescription(name: "label", type: .string),
        ])
    ]
    description.entities.append(
      EntityDescription(
        name: "Value",
        properties: types.map { .attribute(name($0), $0) } + [
          .attribute("place", .composite("Place"))
        ]))
    do { return try ManagedObjectModel(description) } catch { preconditionFailure("\(error)") }
  }()

  /// A value that the type takes; often one that is easily lost.
  static func value(_ type: AttributeType, _ random: inout GraphScript.Random) -> StoredValue {
    if Int.random(in: 0..<5, using: &random) == 0 { return .null }
    func one<Element>(_ list: [Element], _ other: Element) -> Element { list.randomElement(using: &random) ?? other }
    func double() -> Double { one([0, -0.0, 0.1, 1e300, -123.456, .infinity, .nan, .leastNonzeroMagnitude], 0) }
    switch type {
    case .undefined:
      return value(
        one([.integer64, .double, .float, .decimal, .string, .boolean, .date, .binaryData, .uuid], .string), &random)
    case .integer16: return .integer(one([Int64(Int16.min), Int64(Int16.max), 0, 7], 0))
    case .integer32: return .integer(one([Int64(Int32.min), Int64(Int32.max), 0, 7], 0))
    case .integer64: return .integer(one([Int64.min, Int64.max, 0, .random(in: 0..<1000, using: &random)], 0))
    case .decimal: return .decimal(one([0, 7, 150, -1], 0).asDecimal(exponent: one([0, -2, 30], 0)))
    case .double: return .double(double())
    case .float: return .float(one([0, -0.0, 0.1, .infinity, .nan, .leastNonzeroMagnitude], 0))
    case .string: return .string(one(["", " ", "a", "é", "e\u{301}", "a,b\"c\r\nd", "<&>", "\u{0}", "😀", "nan"], ""))
    case .boolean: return .boolean(Bool.random(using: &random))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: double()))
    case .binaryData, .transformable: return .data(one([Data(), Data([0]), Data([1, 2, 255])], Data()))
    case .uuid: return .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(random.next() & 3))))
    case .uri: return .uri(one(["", "https://example.org/a?b#c", "not a uri", "x:é"], ""))
    default: return .null
    }
  }

  /// The value as an application gives it.
  static func given(_ value: StoredValue) -> Any? {
    switch value {
    case .null, .toOne, .toMany: nil
    case .boolean(let flag): flag
    case .integer(let number): Int(number)
    case .float(let number): number
    case .double(let number): number
    case .decimal(let number): number
    case .string(let text), .uri(let text): text
    case .data(let data): data
    case .date(let date): date
    case .uuid(let uuid): uuid
    }
  }

  /// What an application was given, as the value of an attribute of that type.
  static func taken(_ value: Any?, _ type: AttributeType) -> StoredValue? {
    switch value {
    case nil: .null
    case let flag as Bool: .boolean(flag)
    case let number as Int: .integer(Int64(number))
    case let number as Float: .float(number)
    case let number as Double: .double(number)
    case let number as DecimalNumber: .decimal(number)
    case let text as String: type == .uri ? .uri(text) : .string(text)
    case let data as Data: .data(data)
    case let date as Date: .date(date)
    case let uuid as UUID: .uuid(uuid)
    case let url as URL: .uri(url.absoluteString)
    default: nil
    }
  }
}

extension Int {
  fileprivate func asDecimal(exponent: Int) -> DecimalNumber {
    DecimalNumber("\(self)e\(exponent)") ?? DecimalNumber(Int64(self))
  }
}
