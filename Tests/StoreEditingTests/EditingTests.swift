import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import ModelFiles
import StoreEditing
import TestSupport
import Testing

@Suite("Changing many objects at once") struct EditingTests {
  private let directory: TemporaryDirectory
  private let context: ManagedObjectContext

  init() throws {
    directory = try TemporaryDirectory("editing")
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    let path = directory.path + "/c.xml"
    try FileManager.default.copyItem(
      atPath: parts.joined(separator: "/") + "/SampleStores/Company/Company.xml", toPath: path)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: path)
    context = ManagedObjectContext(coordinator)
  }

  private func names(_ format: String) throws -> [String] {
    try context.fetch(
      FetchRequest<ManagedObject>(entityName: "Employee", predicate: try FetchPredicate(format: format))
    ).compactMap { try $0.value(forKey: "name") as? String }.sorted()
  }

  @Test("expressions are evaluated on each object as it was; both ends of relationships follow; a save keeps it")
  func setting() throws {
    let count = try context.setValues(
      [
        PropertyAssignment(parsing: "badge=badge + 1000"), PropertyAssignment(parsing: "serial=badge"),
        PropertyAssignment(parsing: "department:=Department/1"),
      ], entityName: "Employee", predicate: try FetchPredicate(format: "department.name == '営業部'"))
    #expect(count == 2)
    #expect(try names("department.name == '営業部'").isEmpty)
    try context.save()
    #expect(
      try context.fetch(
        FetchRequest<ManagedObject>(
          entityName: "Department", predicate: try FetchPredicate(format: "employees.@count == 6"))
      ).count == 1)
  }

  @Test("an expression that follows a relationship reads the other object as it was, too")
  func settingByNeighbors() throws {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(
        ModelDescription(entities: [
          EntityDescription(
            name: "Link",
            properties: [
              .attribute("number", .integer64), .toOne("previous", "Link", inverse: "next"),
              .toOne("next", "Link", inverse: "previous"),
            ])
        ])), registry: .builtIn)
    try coordinator.addPersistentStore(type: "XML", at: directory.path + "/chain.xml")
    let context = ManagedObjectContext(coordinator)
    var last: ManagedObject?
    for number in 1...4 {
      let link = try context.insertNewObject(forEntityName: "Link")
      try link.setValue(number, forKey: "number")
      try link.setValue(last, forKey: "previous")
      last = link
    }
    try context.save()
    func chain(_ key: String) throws -> [Int?] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Link", sortKeys: [SortKey("number")])).map {
        try $0.value(forKeyPath: key) as? Int
      }
    }
    try context.setValues([PropertyAssignment(parsing: "previous=previous.previous")], entityName: "Link")
    #expect(try chain("previous.number") == [nil, nil, 1, 2])
    context.rollback()
    try context.setValues(
      [PropertyAssignment(parsing: "number=previous.number * 10")], entityName: "Link",
      predicate: try FetchPredicate(format: "previous != nil"))
    #expect(try chain("number") == [1, 10, 20, 30])
  }

  @Test("a Float takes the number whose text is given, and the nearest to what is computed")
  func floats() throws {
    for (text, expected) in [("height:=0.1", Float(0.1)), ("height=0.1", 0.1), ("height=1 / 3", 1 / 3)] {
      try context.setValues(
        [PropertyAssignment(parsing: text)], entityName: "Employee",
        predicate: try FetchPredicate(format: "badge == 1"))
      let object = try #require(
        try context.fetch(
          FetchRequest<ManagedObject>(
            entityName: "Employee", predicate: try FetchPredicate(format: "badge == 1"))
        ).first)
      #expect(try object.value(forKey: "height") as? Float == expected, "\(text)")
    }
    for (text, reason) in [
      ("height:=0.12345678901", "more digits"), ("height:=1e39", "out of range"),
      ("rating:=9007199254740993", "more digits"),
    ] {
      let error = #expect(throws: ManagedObjectError.self) {
        try context.setValues([PropertyAssignment(parsing: text)], entityName: "Employee")
      }
      #expect(error?.message.contains(reason) == true, "\(text)")
    }
  }

  @Test(
    "a quotient of decimals becomes the nearest floating-point number, as a literal of as many digits does",
    arguments: [
      ("rating=salary / 7", 65000.0 / 7), ("rating=9285.7142857142857142857142857142857142", 65000.0 / 7),
      ("rating=salary / 8", 8125), ("rating=CAST('-1', 'NSDecimalNumber') / 3", -1.0 / 3),
      ("height=salary / 7", Double(Float(65000) / 7)),
    ] as [(String, Double)])
  func quotients(text: String, expected: Double) throws {
    let first = try FetchPredicate(format: "badge == 1001")
    try context.setValues([PropertyAssignment(parsing: text)], entityName: "Employee", predicate: first)
    let object = try #require(
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Employee", predicate: first)).first)
    let key = String(text.prefix(6))
    let value = try object.value(forKey: key)
    #expect((value as? Double ?? (value as? Float).map(Double.init)) == expected)
  }

  @Test("a decimal that is too small for a Float is refused: zero is not meant")
  func tooSmall() throws {
    #expect(throws: ManagedObjectError.self) {
      try context.setValues(
        [PropertyAssignment(parsing: "height=CAST('1e-100', 'NSDecimalNumber')")], entityName: "Employee")
    }
  }

  @Test("a part of a composite attribute is set by its path, and all of it is set to null")
  func partsOfComposites() throws {
    try context.setValues(
      [PropertyAssignment(parsing: "address.city:=Bern"), PropertyAssignment(parsing: "nickname=address.city")],
      entityName: "Employee", predicate: try FetchPredicate(format: "address.city == 'Genève'"))
    try context.save()
    let moved = try context.fetch(
      FetchRequest<ManagedObject>(
        entityName: "Employee", predicate: try FetchPredicate(format: "address.city == 'Bern'")))
    #expect(try moved.map { try $0.value(forKey: "nickname") as? String } == ["Genève"])
    #expect(throws: PersistentStoreError.self) {
      try context.setValues([PropertyAssignment(parsing: "address.town:=Bern")], entityName: "Employee")
    }
    let lives = try FetchPredicate(format: "address != nil")
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Employee", predicate: lives)) > 0)
    try context.setValues([PropertyAssignment(parsing: "address=NULL")], entityName: "Employee")
    #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Employee", predicate: lives)) == 0)
  }

  @Test("objects that have the values already are not changed")
  func unchanged() throws {
    #expect(try context.setValues([PropertyAssignment(parsing: "badge=badge")], entityName: "Employee") == 0)
    #expect(!context.hasChanges)
  }

  @Test(
    "what cannot be set is refused with the object",
    arguments: [
      "nmae:=x", "badge:=x", "badge=name", "badge=99999999999", "badge=department", "department:=Unknown",
      "department=badge",
      "x",
    ])
  func refused(_ text: String) throws {
    #expect(throws: (any Error).self) {
      try context.setValues([PropertyAssignment(parsing: text)], entityName: "Employee")
    }
  }

  @Test("deleting goes by the delete rules, inserting by default values and validation")
  func deletingAndInserting() throws {
    let object = try context.insertObject(
      entityName: "Employee",
      values: [PropertyAssignment("name", text: "New"), PropertyAssignment(parsing: "badge=40 + 2")])
    #expect(try object.value(forKey: "badge") as? Int == 42)
    #expect(try names("name == 'New'") == ["New"])
    #expect(
      try context.deleteObjects(entityName: "Employee", predicate: try FetchPredicate(format: "name == 'New'")) == 1)
    #expect(try names("name == 'New'").isEmpty)
  }

  @Test(
    "numbers below the range of decimals, infinite ones and not-a-number can be set as texts",
    arguments: ["5e-324", "1e-310", "-inf", "inf", "nan", "-1E-320"])
  func unusualNumbers(_ text: String) throws {
    let description = ModelDescription(entities: [
      EntityDescription(name: "N", properties: [.attribute("d", .double), .attribute("f", .float)])
    ])
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(description), registry: .builtIn)
    try coordinator.addPersistentStore(at: directory.path + "/n.xml")
    let numbers = ManagedObjectContext(coordinator)
    let object = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("d", text: text)])
    let number = try #require(object["d"] as? Double)
    let expected = try #require(Double(text))
    #expect(number == expected || number.isNaN && expected.isNaN)
    #expect(throws: (any Error).self) {
      _ = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("d", text: "1e400")])
    }
    for text in ["1e-50", "1e-200"] {
      #expect(throws: (any Error).self) {
        _ = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("f", text: text)])
      }
    }
    #expect(throws: (any Error).self) {
      _ = try numbers.insertObject(entityName: "N", values: [PropertyAssignment("d", text: "1e-400")])
    }
  }
}
