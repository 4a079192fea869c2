import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreEditing
import TestSupport
import Testing

/// Changes of attributes are written without objects where columns suffice, with the results and errors of objects.
@Suite("Changing many objects by columns") struct RowUpdateTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory("row-updates") }

  // MARK: Random graphs

  private static func model(_ random: inout SeededGenerator) throws -> ManagedObjectModel {
    func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }
    let properties: [PropertyDescription] = [
      .attribute("small", .integer16, maximum: chance(4) ? .integer(40) : nil),
      .attribute("number", .integer64, isOptional: !chance(4), minimum: chance(4) ? .integer(-20) : nil),
      .attribute("half", .float), .attribute("double", .double, maximum: chance(4) ? .double(60) : nil),
      .attribute("price", .decimal), .attribute("flag", .boolean), .attribute("day", .date),
      .attribute(
        "name", .string, isOptional: !chance(4), maximumLength: chance(4) ? 6 : nil,
        regularExpression: chance(4) ? "[a-z0-9 ]*" : nil),
      .attribute("link", .uri), .attribute("key", .uuid), .toOne("box", "Box", inverse: "items"),
    ]
    let unique = chance(6) ? [["number"]] : []
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item", properties: properties,
          subentities: [EntityDescription(name: "Special", properties: [.attribute("extra", .integer32)])],
          uniquenessConstraints: unique),
        EntityDescription(
          name: "Box",
          properties: [
            .attribute("size", .integer32), .toMany("items", "Item", inverse: "box", maximumCount: chance(3) ? 30 : 0),
          ] + (chance(4) ? [.attribute("twice", .integer64, derivationExpression: "size")] : [])),
      ]))
  }

  private static func fill(_ context: ManagedObjectContext, _ random: inout SeededGenerator) throws {
    let boxes = try (0..<3).map { number in
      let box = try context.insertNewObject(forEntityName: "Box")
      try box.setValue(number * 7, forKey: "size")
      return box
    }
    for number in 0..<30 {
      func chance() -> Bool { Int.random(in: 0..<5, using: &random) > 0 }
      let item = try context.insertNewObject(forEntityName: number % 3 == 0 ? "Special" : "Item")
      if chance() { try item.setValue(Int.random(in: 0..<30, using: &random), forKey: "small") }
      try item.setValue(number, forKey: "number")
      if chance() { try item.setValue(Float.random(in: -3...3, using: &random), forKey: "half") }
      if chance() {
        let number = [0, -0.0, 0.5, .random(in: -50...50, using: &random)].randomElement(using: &random)
        try item.setValue(number, forKey: "double")
      }
      if chance() { try item.setValue(DecimalNumber("\(Int.random(in: 0..<999, using: &random)).50"), forKey: "price") }
      if chance() { try item.setValue(Bool.random(using: &random), forKey: "flag") }
      if chance() { try item.setValue(Date(timeIntervalSinceReferenceDate: Double(number) * 86_400), forKey: "day") }
      try item.setValue(["a", "ab 1", "xyz", ""].randomElement(using: &random), forKey: "name")
      if chance() { try item.setValue(boxes.randomElement(using: &random), forKey: "box") }
    }
  }

  private static let assignments = [
    "small=small + 20", "number=number * 2", "number=number + 1", "number=nothing", "double=double * 1.5",
    "half=half + 0.1",
    "half=half", "price=price * 1.1", "price=price + number", "double=number / 3", "number=double", "flag=flag",
    "flag=number",
    "flag:=true", "day=day", "day='2020-01-31'", "day:=2020-02-01", "name:=long text", "name=name + '1'", "name=name",
    "name:=", "number=box.size + number", "double=box.size", "name=box.size", "link:=x-coredata:///Item/t1",
    "link:=http://a.b",
    "key:=01234567-89AB-CDEF-0123-456789ABCDEF", "box:=Box/1", "number=length:(name)", "small=number * 10000",
    "double=TERNARY(number > 5, 1, 2)", "name=uppercase:(name)", "number=box.items.@count", "price=abs:(price) - 5",
    "double=double / 0", "double=double + 1", "double=double / double", "double=double * small - 0.1",
    "double=(double - number) / 3", "double=0 - double * 1e300 * 1e300", "number=modulus:by:(number, 0)",
    "number=SUBQUERY(box.items, $x, $x.small > small).@count", "number=box.items.@max.number", "day=day + 60",
    "number=year:(day)", "name=coalesce:(nothing, name, link)", "number=sum:(box.items.small) + number",
    "day=CAST(name, 'NSDate')", "name=first:(box.items.name)",
  ]
  private static let conditions = [
    nil, nil, "number > 10", "name == 'a'", "box.size > 6", "ANY box.items.small > 20",
    "length:(name) + 1 > 2", "SUBQUERY(box.items, $x, $x.number > number).@count > 2", "day > CAST(name, 'NSDate')",
  ]

  private func report(_ body: () throws -> Int) -> String {
    do { return "\(try body())" } catch { return "\(error)" }
  }

  @Test(
    "columns give the values, counts, errors and files of objects",
    arguments: ["plist", "sqlgraph"], (1...300 as ClosedRange<UInt64>).share(of: "row updates"))
  func same(ending: String, seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let model = try Self.model(&random)
    let copies = try StoreCopies(in: directory, model: model) { try Self.fill($0, &random) }
    let paths = try ["objects", "columns"].map { try copies.copy($0, ending) }
    let values = try (0...Int.random(in: 0...1, using: &random)).map { _ in
      try PropertyAssignment(parsing: Self.assignments.randomElement(using: &random) ?? "")
    }
    let predicate = try (Self.conditions.randomElement(using: &random) ?? nil).map { try FetchPredicate(format: $0) }
    let entity = Int.random(in: 0..<4, using: &random) == 0 ? "Special" : "Item"
    var outcomes: [String] = []
    for (path, isByColumns) in zip(paths, [false, true]) {
      let coordinator = PersistentStoreCoordinator(registry: .builtIn)
      try coordinator.addPersistentStore(at: path)
      let context = ManagedObjectContext(coordinator)
      outcomes.append(
        report {
          if isByColumns { return try context.setAndSaveValues(values, entityName: entity, predicate: predicate) }
          let count = try context.setValues(values, entityName: entity, predicate: predicate)
          try context.save()
          return count
        })
    }
    #expect(outcomes[0].replacing(paths[0], with: paths[1]) == outcomes[1])
    if ending == "plist" {
      #expect(FileManager.default.contents(atPath: paths[0]) == FileManager.default.contents(atPath: paths[1]))
    }
    let differences = try copies.differences(paths[0], paths[1])
    #expect(differences.isEmpty, "\(differences)")
  }

  @Test(
    "attributes are set without an object of any row", arguments: ["plist", "xml", "csvstore", "sqlgraph"],
    [
      "number=number * 2 + 1", "name:=text", "double=box.size", "name=name + '!'",
      "number=SUBQUERY(box.items, $x, $x.name != 'none').@count + 100",
    ])
  func withoutObjects(ending: String, assignment: String) throws {
    var random = SeededGenerator(seed: 5)
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item",
          properties: [
            .attribute("number", .integer64), .attribute("double", .double),
            .attribute("name", .string, maximumLength: 9),
            .toOne("box", "Box", inverse: "items"),
          ]),
        EntityDescription(
          name: "Box", properties: [.attribute("size", .integer32), .toMany("items", "Item", inverse: "box")]),
      ]))
    let path = "\(directory.path)/s.\(ending)"
    do {
      let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
      try coordinator.addPersistentStore(type: nil, at: path)
      let context = ManagedObjectContext(coordinator)
      for number in 0..<20 {
        let item = try context.insertNewObject(forEntityName: "Item")
        try item.setValue(number, forKey: "number")
        try item.setValue(Int.random(in: 0..<9, using: &random).description, forKey: "name")
        let box = try context.insertNewObject(forEntityName: "Box")
        try box.setValue(number, forKey: "size")
        try item.setValue(box, forKey: "box")
      }
      try context.save()
    }
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: path)
    let context = ManagedObjectContext(coordinator)
    #expect(try context.setAndSaveValues([PropertyAssignment(parsing: assignment)], entityName: "Item") == 20)
    // The columns of a database are filled for plain paths.
    #expect(context.registeredObjects.isEmpty)
    #expect(
      try context.setAndSaveValues(
        [PropertyAssignment(parsing: "name:=text")], entityName: "Item",
        predicate: FetchPredicate(format: "name == 'text'")) == 0)
  }
}
