import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import Testing

@Suite("Composites in predicates, orders and columns") struct CompositePredicateTests {
  let stack: Stack

  init() throws {
    stack = try Stack()
    try PredicateTable.fill(stack)
  }

  private func request(_ change: (inout FetchRequest<ManagedObject>) throws -> Void) rethrows -> FetchRequest<
    ManagedObject
  > {
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    try change(&request)
    return request
  }

  @Test(
    "a whole composite cannot be a sort key: the error names its parts", arguments: ["address", "department.address"])
  func sorting(_ path: String) throws {
    let request = request { $0.sortKeys = [SortKey(path)] }
    for context in [stack.context, ManagedObjectContext(parent: stack.context)] {
      #expect { _ = try context.fetch(request) } throws: {
        ($0 as? ManagedObjectError)?.code == .invalidFetch && "\($0)".contains("\(path).street, \(path).city")
      }
    }
    #expect(try stack.context.fetch(self.request { $0.sortKeys = [SortKey("\(path).city")] }).count == 5)
  }

  @Test(
    "a whole composite can neither be a column nor form groups: the error names its parts",
    arguments: ["address", "department.address"])
  func columns(_ path: String) throws {
    let requests = [
      request { $0.propertiesToFetch = ["name", FetchColumn(keyPath: path)] },
      request { $0.propertiesToGroupBy = [FetchColumn(keyPath: path)] },
      try request { $0.propertiesToFetch = [try FetchColumn(format: "count:(\(path))")] },
    ]
    for request in requests {
      #expect { _ = try stack.context.fetchRows(request) } throws: {
        ($0 as? ManagedObjectError)?.code == .invalidFetch && "\($0)".contains("address.street, ")
      }
    }
    let parts = request {
      $0.propertiesToFetch = ["address.street", "address.city"]
      $0.predicate = .comparison(.init(.keyPath(["name"]), .equal, .constant(.string("Ada"))))
    }
    let row = try #require(try stack.context.fetchRows(parts).first)
    #expect(row["address.street"] as? String == "High Street" && row["address.city"] as? String == "Bern")
  }

  @Test("all attributes of an entity are columns, composites by their parts")
  func allColumns() throws {
    let row = try #require(try stack.context.fetchRows(request { _ in }).first)
    #expect(row.columns == ["name", "age", "address.street", "address.city"])
  }

  @Test("evaluated on one object without a fetch, the error is the same")
  func evaluated() throws {
    let ada = try #require(try stack.first("Person", "Ada"))
    let cyd = try #require(try stack.first("Person", "Cyd"))
    let isNil = try FetchPredicate(format: "address == nil")
    #expect(try !isNil.evaluate(with: ada) && isNil.evaluate(with: cyd))
    for text in [
      "address == 'Bern'", "address IN {'Bern'}", "ANY reports.address == 'Bern'", "address == department.address",
    ] {
      #expect { _ = try FetchPredicate(format: text).evaluate(with: ada) } throws: { "\($0)".contains("address.city") }
    }
    #expect(try FetchPredicate(format: "address == %@", nil).evaluate(with: cyd))
    let unknown = try FetchPredicate(format: "address == $x")
    #expect(try unknown.evaluate(with: cyd, variables: ["x": nil]))
    #expect { _ = try unknown.evaluate(with: cyd, variables: ["x": 1]) } throws: { "\($0)".contains("address.city") }
  }

  @Test("as an expression a composite has the value of its key: a dictionary of its parts, or nil")
  func expression() throws {
    let expression = try FetchExpression(format: "address")
    let bob = try #require(try stack.first("Person", "Bob"))
    #expect(try expression.value(with: bob) as? [String: String] == ["city": "Bern"])
    #expect(try expression.value(with: #require(try stack.first("Person", "Cyd"))) == nil)
  }

  @Test("a nested composite is evaluated like the outer one", arguments: Stack.types)
  func nested(_ type: String) throws {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Trip",
            properties: [
              .attribute("name", .string),
              .attribute("stay", .composite("Stay")),
            ])
        ],
        composites: [
          CompositeDescription(
            name: "Stay",
            attributes: [
              AttributeDescription(name: "days", type: .integer16),
              AttributeDescription(name: "place", type: .composite("Place")),
            ]),
          CompositeDescription(
            name: "Place",
            attributes: [
              AttributeDescription(name: "x", type: .double), AttributeDescription(name: "y", type: .double),
            ]),
        ]))
    let stack = try Stack(type, model: model)
    _ = try stack.insert("Trip", ["name": "short", "stay.days": 1])
    _ = try stack.insert("Trip", ["name": "far", "stay.place.y": 2.5])
    _ = try stack.insert("Trip", ["name": "none"])
    func find(_ text: String) throws -> [String] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Trip", predicate: try FetchPredicate(format: text), sortKeys: [SortKey("name")])
      return try stack.context.fetch(request).compactMap { $0["name"] as? String }
    }
    for _ in 0..<2 {
      #expect(try find("stay == nil") == ["none"])
      #expect(try find("stay.place == nil") == ["none", "short"])
      #expect(try find("stay.place != nil") == ["far"])
      #expect(try find("stay.place.y > 2") == ["far"])
      #expect { _ = try find("stay.place == 1") } throws: { "\($0)".contains("stay.place.x, stay.place.y") }
      #expect { _ = try find("stay == 1") } throws: { "\($0)".contains("stay.days, stay.place.x, stay.place.y") }
      #expect { _ = try find("stay.place.z == 1") } throws: { "\($0)".contains("unknown key 'stay.place.z'") }
      try stack.context.save()
    }
  }
}
