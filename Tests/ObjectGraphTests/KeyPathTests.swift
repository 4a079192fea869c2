import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Paths and values by key") struct KeyPathTests {
  /// Ada (36, manager of Bob and Cyd), Bob (25), Cyd (no age), in Sales and nowhere.
  func stack() throws -> (stack: Stack, ada: ManagedObject) {
    let stack = try Stack()
    let sales = try stack.insert("Department", ["name": "Sales", "floor": 2])
    let ada = try stack.insert("Manager", ["name": "Ada", "age": 36, "department": sales])
    let bob = try stack.insert("Employee", ["name": "Bob", "age": 25, "salary": 10.5, "department": sales])
    let cyd = try stack.insert("Employee", ["name": "Cyd", "salary": 2.0])
    try ada.setValue([bob, cyd], forKey: "reports")
    return (stack, ada)
  }

  @Test("a path leads through to-one relationships, and is nil if one of them is nil")
  func toOne() throws {
    let (stack, ada) = try stack()
    #expect(try ada.value(forKeyPath: "department.name") as? String == "Sales")
    #expect(try ada.value(forKeyPath: "spouse.department.name") == nil)
    #expect(try #require(try stack.first("Person", "Cyd")).value(forKeyPath: "department.name") == nil)
    try ada.setValue("Trade", forKeyPath: "department.name")
    #expect(try ada.value(forKeyPath: "department.name") as? String == "Trade")
    try ada.setValue("nothing happens", forKeyPath: "spouse.name")
  }

  @Test("a path through a to-many gives the values of all, objects as a set")
  func toMany() throws {
    let (stack, ada) = try stack()
    defer { withExtendedLifetime(stack) {} }
    let names = try #require(ada.value(forKeyPath: "reports.name") as? [Any])
    #expect(Set(names.compactMap { $0 as? String }) == ["Bob", "Cyd"])
    let departments = try #require(try ada.value(forKeyPath: "reports.department") as? Set<ManagedObject>)
    #expect(departments.map { $0["name"] as? String } == ["Sales"])
    let colleagues = try #require(try ada.value(forKeyPath: "department.employees.managers") as? Set<ManagedObject>)
    #expect(colleagues == [ada])
  }

  @Test("operators count, sum and select; null is skipped")
  func operators() throws {
    let (stack, ada) = try stack()
    defer { withExtendedLifetime(stack) {} }
    #expect(try ada.value(forKeyPath: "reports.@count") as? Int == 2)
    #expect(try ada.value(forKeyPath: "reports.@sum.age") as? Int == 25)
    #expect(try ada.value(forKeyPath: "reports.@sum.salary") as? Double == 12.5)
    #expect(try ada.value(forKeyPath: "reports.@avg.salary") as? Double == 6.25)
    #expect(try ada.value(forKeyPath: "reports.@max.salary") as? Double == 10.5)
    #expect(try ada.value(forKeyPath: "reports.@min.name") as? String == "Bob")
    #expect(try ada.value(forKeyPath: "tasks.@max.title") == nil)
    #expect(try ada.value(forKeyPath: "tasks.@sum.title") as? Int == 0)
  }

  @Test(
    "an invalid path is refused with the key",
    arguments: ["nmae", "department.nmae", "name.length", "reports.@foo", "reports.@sum.name", "reports.nmae"])
  func refusals(_ path: String) throws {
    let (stack, ada) = try stack()
    defer { withExtendedLifetime(stack) {} }
    do throws(ManagedObjectError) {
      let value = try ada.value(forKeyPath: path)
      Issue.record("\(path) gave \(String(describing: value))")
    } catch {
      #expect([.undefinedKey, .invalidValue].contains(error.code), "\(error)")
    }
  }

  @Test("one person's friends are those at the other end of the friendships")
  func friends() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Person",
          properties: [
            .attribute("name", .string),
            .toMany("friends", "FriendInfo", inverse: "source", deleteRule: .cascade),
            .toMany("befriendedBy", "FriendInfo", inverse: "friend", deleteRule: .cascade),
          ]),
        EntityDescription(
          name: "FriendInfo",
          properties: [
            .toOne("source", "Person", inverse: "friends", isOptional: false),
            .toOne("friend", "Person", inverse: "befriendedBy", isOptional: false),
          ]),
      ]))
    let stack = try Stack("XML", model: model)
    let people = try ["Ada", "Bob", "Cyd"].map { try stack.insert("Person", ["name": $0]) }
    for (source, friend) in [(0, 1), (0, 2), (1, 0)] {
      _ = try stack.insert("FriendInfo", ["source": people[source], "friend": people[friend]])
    }
    try stack.context.save()
    #expect(try people[0].value(forKeyPath: "friends.friend") as? Set<ManagedObject> == [people[1], people[2]])
    #expect(try people[0].value(forKeyPath: "befriendedBy.source") as? Set<ManagedObject> == [people[1]])
    stack.context.delete(people[1])
    try stack.context.save()
    #expect(try stack.fetch("FriendInfo").count == 1)
    #expect(try people[0].value(forKeyPath: "friends.friend") as? Set<ManagedObject> == [people[2]])
  }

  // MARK: Values

  static let attributes: [(String, AttributeType)] = [
    ("i16", .integer16), ("i32", .integer32), ("i64", .integer64), ("dec", .decimal), ("dbl", .double), ("flt", .float),
    ("str", .string), ("flag", .boolean), ("when", .date), ("bin", .binaryData), ("id", .uuid), ("link", .uri),
    ("any", .undefined),
  ]
  static let valuesModel = ModelDescription(
    entities: [
      EntityDescription(
        name: "Values",
        properties: attributes.map { .attribute($0.0, $0.1) } + [
          .attribute("place", .composite("Place")),
          .attribute("color", .transformable, valueTransformerName: "Color"),
          .attribute("raw", .transformable),
          .attribute("upper", .string, derivationExpression: "uppercase:(str)"),
          .attribute("saved", .date, derivationExpression: "now()"),
          .attribute("phone", .string, regularExpression: "[0-9]{3}-[0-9]{4}"),
        ])
    ],
    composites: [
      CompositeDescription(
        name: "Place",
        attributes: [
          AttributeDescription(name: "latitude", type: .double), AttributeDescription(name: "longitude", type: .double),
        ])
    ])

  struct Color: Equatable { var red: UInt8, green: UInt8, blue: UInt8 }
  struct ColorTransformer: AttributeTransformer {
    struct NoColor: Error {}
    func data(from value: Any) throws -> Data {
      guard let color = value as? Color else { throw NoColor() }
      return Data([color.red, color.green, color.blue])
    }
    func value(from data: Data) throws -> Any {
      guard data.count == 3 else { throw NoColor() }
      return Color(red: data[data.startIndex], green: data[data.startIndex + 1], blue: data[data.startIndex + 2])
    }
  }

  func values(_ type: String = "BinaryPropertyList") throws -> (Stack, ManagedObject) {
    let stack = try Stack(type, model: try ManagedObjectModel(Self.valuesModel))
    stack.coordinator.setTransformer(ColorTransformer(), forName: "Color")
    return (stack, try stack.insert("Values"))
  }

  @Test("values of every type are returned as the expected type", arguments: Stack.types)
  func types(_ type: String) throws {
    let (stack, object) = try values(type)
    let date = Date(timeIntervalSinceReferenceDate: 0.1)
    let uuid = UUID()
    let given: [String: Any] = [
      "i16": -5, "i32": UInt8(7), "i64": Int.max, "dec": DecimalNumber("1.50") ?? DecimalNumber(0), "dbl": 0.1,
      "flt": Float(0.5),
      "str": "é", "flag": true, "when": date, "bin": Data([0, 1]), "id": uuid, "any": 3,
    ]
    for (key, value) in given { try object.setValue(value, forKey: key) }
    try object.setValue(URL(string: "https://a.b/c"), forKey: "link")
    try stack.context.save()
    stack.context.refresh(object, mergeChanges: false)
    #expect(object["i16"] as? Int == -5)
    #expect(object["i32"] as? Int == 7)
    #expect(object["i64"] as? Int == .max)
    #expect((object["dec"] as? DecimalNumber)?.description == "1.50")
    #expect(object["dbl"] as? Double == 0.1)
    #expect(object["flt"] as? Float == 0.5)
    #expect(object["str"] as? String == "é")
    #expect(object["flag"] as? Bool == true)
    #expect(object["when"] as? Date == date)
    #expect(object["bin"] as? Data == Data([0, 1]))
    #expect(object["id"] as? UUID == uuid)
    #expect(object["link"] as? URL == URL(string: "https://a.b/c"))
    #expect(object["any"] as? Int == 3)
  }

  @Test(
    "a value that does not fit is refused, there are no approximate conversions",
    arguments: [
      ("i16", 70000 as any Sendable), ("i16", "5"), ("i16", 1.5), ("i16", true), ("i64", UInt64.max), ("flt", 0.1),
      ("dbl", "x"),
      ("dbl", Int.max), ("str", 5), ("flag", 1), ("when", 5.0), ("id", "not a uuid"), ("bin", "text"), ("link", 5),
    ])
  func strict(_ key: String, _ value: any Sendable) throws {
    let (stack, object) = try values()
    do throws(ManagedObjectError) {
      try object.setValue(value, forKey: key)
      Issue.record("\(key) took \(value)")
    } catch {
      #expect(error.code == .invalidValue)
      #expect(error.key == key)
      #expect(error.entityName == "Values")
    }
    #expect(object[key] == nil)
    _ = stack
  }

  @Test("a composite is read and set as a whole or by its parts", arguments: Stack.types)
  func composites(_ type: String) throws {
    let (stack, object) = try values(type)
    #expect(object["place"] == nil)
    try object.setValue(["latitude": 1.5, "longitude": 2.5], forKey: "place")
    #expect(try object.value(forKeyPath: "place.latitude") as? Double == 1.5)
    try object.setValue(3.5, forKeyPath: "place.longitude")
    try stack.context.save()
    stack.context.refresh(object, mergeChanges: false)
    #expect(object["place"] as? [String: Double] == ["latitude": 1.5, "longitude": 3.5])
    #expect(throws: ManagedObjectError.self) { try object.setValue(["depth": 1], forKey: "place") }
    try object.setValue(nil, forKey: "place")
    #expect(object["place"] == nil)
  }

  @Test(
    "a transformable is stored as its transformer's bytes; without a transformer bytes are unchanged",
    arguments: Stack.types)
  func transformers(_ type: String) throws {
    let (stack, object) = try values(type)
    try object.setValue(Color(red: 1, green: 2, blue: 3), forKey: "color")
    try object.setValue(Data([9]), forKey: "raw")
    #expect(object["color"] as? Color == Color(red: 1, green: 2, blue: 3))
    try stack.context.save()
    stack.context.refresh(object, mergeChanges: false)
    #expect(object["color"] as? Color == Color(red: 1, green: 2, blue: 3))
    #expect(object["raw"] as? Data == Data([9]))
    #expect(throws: ManagedObjectError.self) { try object.setValue(5, forKey: "color") }
    #expect(throws: ManagedObjectError.self) { try object.setValue(Color(red: 0, green: 0, blue: 0), forKey: "raw") }
    try object.setValue(Data([1]), forKey: "color")
    #expect(throws: ManagedObjectError.self) { try object.value(forKey: "color") }
  }

  @Test("derived attributes are computed when the object is saved")
  func derived() throws {
    let (stack, object) = try values()
    try object.setValue("Éva", forKey: "str")
    #expect(object["upper"] == nil)
    let before = Date()
    try stack.context.save()
    #expect(object["upper"] as? String == "ÉVA")
    let saved = try #require(object["saved"] as? Date)
    #expect(saved >= before && saved <= Date())
    try object.setValue("bob", forKey: "str")
    try stack.context.save()
    #expect(object["upper"] as? String == "BOB")
    let again = try stack.reopened()
    #expect(try again.fetch("Values").first?["upper"] as? String == "BOB")
    #expect(!stack.context.hasChanges)
  }

  @Test("a string must match its attribute's regular expression completely")
  func pattern() throws {
    let (stack, object) = try values()
    try object.setValue("555-1234 ", forKey: "phone")
    do throws(ManagedObjectError) {
      try stack.context.save()
      Issue.record("the pattern was skipped")
    } catch {
      #expect(error.code == .validationStringPatternMatching)
      #expect(error.key == "phone")
    }
    try object.setValue("555-1234", forKey: "phone")
    try stack.context.save()
  }
}
