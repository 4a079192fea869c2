import Foundation
import StoreCodecs

/// Makes keyed archives, good and bad ones.
final class ArchiveBuilder {
  private(set) var objects: [PropertyListValue] = ["$null"]
  private var classes: [String: PropertyListValue] = [:]
  var top: PropertyListDictionary = [:]
  var version: PropertyListValue = 100_000
  var archiver: PropertyListValue = "NSKeyedArchiver"

  static let null = PropertyListValue.uid(0)

  /// A reference to a new object.
  func add(_ value: PropertyListValue) -> PropertyListValue {
    objects.append(value)
    return .uid(UInt64(objects.count - 1))
  }

  /// A reference to an object that is set later: for circles.
  func reserve() -> PropertyListValue { add("$null") }

  func set(_ reference: PropertyListValue, _ value: PropertyListValue) {
    if case .uid(let number) = reference { objects[Int(number)] = value }
  }

  func classReference(_ names: [String]) -> PropertyListValue {
    let key = names.joined(separator: " ")
    if let known = classes[key] { return known }
    let made = add(["$classname": .string(names[0]), "$classes": .array(names.map { .string($0) })])
    classes[key] = made
    return made
  }

  /// The fields of an object with its class.
  func fields(_ names: [String], _ fields: PropertyListDictionary) -> PropertyListValue {
    var fields = fields
    fields["$class"] = classReference(names + ["NSObject"])
    return .dictionary(fields)
  }

  func object(_ names: String..., fields: PropertyListDictionary) -> PropertyListValue {
    add(self.fields(names, fields))
  }

  func text(_ text: String) -> PropertyListValue { add(.string(text)) }

  func array(_ elements: [PropertyListValue]) -> PropertyListValue {
    object("NSArray", fields: ["NS.objects": .array(elements)])
  }

  func dictionary(_ entries: [(String, PropertyListValue)]) -> PropertyListValue {
    object(
      "NSDictionary", fields: ["NS.keys": .array(entries.map { text($0.0) }), "NS.objects": .array(entries.map(\.1))])
  }

  var list: PropertyListValue {
    ["$archiver": archiver, "$version": version, "$top": .dictionary(top), "$objects": .array(objects)]
  }
  func binary() throws -> [UInt8] { try PropertyList.encodeBinary(list) }
  func xml() throws -> [UInt8] { try PropertyList.encodeXML(list) }

  // MARK: Compiled models

  func attribute(_ name: String, type: Int, bits: Int? = 243, _ more: PropertyListDictionary = [:]) -> PropertyListValue
  {
    var fields: PropertyListDictionary = [
      "NSPropertyName": text(name), "NSAttributeType": .integer(Int128(type)), "NSFlagsKey": 0,
    ]
    if let bits { fields["_P"] = .integer(Int128(bits)) }
    for entry in more { fields[entry.key] = entry.value }
    return add(self.fields(["NSAttributeDescription", "NSPropertyDescription"], fields))
  }

  func relationship(_ name: String, to destination: String, inverse: String?, _ more: PropertyListDictionary = [:])
    -> PropertyListValue
  {
    var fields: PropertyListDictionary = [
      "NSPropertyName": text(name), "_NSDestinationEntityName": text(destination), "NSDeleteRule": 1, "NSMaxCount": 1,
      "NSMinCount": 0,
      "_P": 243, "_NSInverseRelationshipName": inverse.map { text($0) } ?? Self.null,
    ]
    for entry in more { fields[entry.key] = entry.value }
    return add(self.fields(["NSRelationshipDescription", "NSPropertyDescription"], fields))
  }

  func entity(
    _ name: String, _ properties: [(String, PropertyListValue)], _ more: PropertyListDictionary = [:]
  ) -> PropertyListValue {
    var fields: PropertyListDictionary = ["NSEntityName": text(name), "NSProperties": dictionary(properties)]
    for entry in more { fields[entry.key] = entry.value }
    return add(self.fields(["NSEntityDescription"], fields))
  }

  /// The archive of a model of these entities.
  func model(_ entities: [(String, PropertyListValue)], _ more: PropertyListDictionary = [:]) throws -> [UInt8] {
    var fields: PropertyListDictionary = ["NSEntities": dictionary(entities)]
    for entry in more { fields[entry.key] = entry.value }
    top = ["root": add(self.fields(["NSManagedObjectModel"], fields))]
    return try binary()
  }

  func comparison(_ left: PropertyListValue, _ type: Int, _ constant: PropertyListValue) -> PropertyListValue {
    object(
      "NSComparisonPredicate", "NSPredicate",
      fields: [
        "NSLeftExpression": left,
        "NSRightExpression": object(
          "NSConstantValueExpression", "NSExpression",
          fields: ["NSConstantValue": add(constant), "NSExpressionType": 0]),
        "NSPredicateOperator": object(
          "NSComparisonPredicateOperator", fields: ["NSOperatorType": .integer(Int128(type)), "NSModifier": 0]),
      ])
  }
}
