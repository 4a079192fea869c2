import AtomicStoreSPI
import Testing

@testable import AtomicStoreKit

@Suite("Plans of entities") struct EntityPlanTests {
  /// Two hierarchies that refer to each other, with a composite and a derived attribute.
  static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "Person",
            properties: [
              .attribute("name", .string), .attribute(AttributeDescription(name: "home", type: .composite("Place"))),
              .toOne("team", "Team", inverse: "members"),
            ],
            subentities: [
              EntityDescription(
                name: "Manager",
                properties: [
                  .attribute("level", .integer16), .toMany("heads", "Team", inverse: "boss"),
                ])
            ]),
          EntityDescription(
            name: "Team",
            properties: [
              .toMany("members", "Person", inverse: "team"), .toOne("boss", "Manager", inverse: "heads"),
              .attribute(
                AttributeDescription(name: "size", type: .integer64, derivationExpression: "boss.level")),
            ]),
        ],
        composites: [
          CompositeDescription(
            name: "Place",
            attributes: [
              AttributeDescription(name: "street", type: .string), AttributeDescription(name: "city", type: .string),
            ])
        ]))
  }

  private static func text(_ plan: EntityPlan) -> [String] {
    plan.properties.map {
      "\(plan.name) \($0.index) \($0.name) \($0.kind) \($0.slot) \($0.destination) \($0.inverse) \($0.parts)"
    }
  }

  @Test(
    "plans are the same in whatever order they are asked for",
    arguments: [[0, 1, 2], [2, 1, 0], [1, 2, 0], [1, 0, 2]])
  func orderDoesNotCount(_ order: [Int]) throws {
    let model = try Self.model()
    let plans = EntityPlans(model)
    let asked = order.map { plans[$0] }
    for (index, plan) in zip(order, asked) { #expect(plans[index] === plan) }
    #expect(
      plans.flatMap { Self.text($0) } == [
        "Manager 0 name attribute(AtomicStoreSPI.AttributeType.string) 0 -1 -1 0..<0",
        "Manager 1 home composite -1 -1 -1 2..<4",
        "Manager 2 home.street attribute(AtomicStoreSPI.AttributeType.string) 1 -1 -1 0..<0",
        "Manager 3 home.city attribute(AtomicStoreSPI.AttributeType.string) 2 -1 -1 0..<0",
        "Manager 4 team toOne 3 2 0 0..<0",
        "Manager 5 level attribute(AtomicStoreSPI.AttributeType.integer16) 4 -1 -1 0..<0",
        "Manager 6 heads toMany 5 2 1 0..<0",
        "Person 0 name attribute(AtomicStoreSPI.AttributeType.string) 0 -1 -1 0..<0",
        "Person 1 home composite -1 -1 -1 2..<4",
        "Person 2 home.street attribute(AtomicStoreSPI.AttributeType.string) 1 -1 -1 0..<0",
        "Person 3 home.city attribute(AtomicStoreSPI.AttributeType.string) 2 -1 -1 0..<0",
        "Person 4 team toOne 3 2 0 0..<0",
        "Team 0 members toMany 0 1 4 0..<0",
        "Team 1 boss toOne 1 0 6 0..<0",
        "Team 2 size attribute(AtomicStoreSPI.AttributeType.integer64) 2 -1 -1 0..<0",
      ])
    // A sub-entity has the very properties of its super-entity.
    #expect(zip(plans[1].properties, plans[0].properties).allSatisfy { $0 === $1 })
  }

  @Test("asking for one plan makes those of its super-entities, and no others")
  func makesWhatIsAskedFor() throws {
    let model = try Self.model()
    let plans = EntityPlans(model)
    _ = plans[2]
    #expect((0..<3).map { plans.isMade($0) } == [false, false, true])
    _ = plans[0]
    #expect((0..<3).map { plans.isMade($0) } == [true, true, true])
  }

  @Test("the sources of derived attributes are found without asking for a plan before")
  func findsSources() throws {
    let model = try Self.model()
    #expect(ModelPlan.plan(of: model).derivations.sources.map(\.count) == [1, 0, 0])
    let plain = try ManagedObjectModel(ModelDescription(entities: [EntityDescription(name: "Person")]))
    let plan = ModelPlan.plan(of: plain)
    #expect(plan.derivations.sources.map(\.count) == [0] && !plan.entities.isMade(0))
  }

  @Test("threads that ask for the same plan get the same one")
  func sharesPlans() async throws {
    let model = try Self.model()
    let plans = EntityPlans(model)
    let found = await withTaskGroup(of: [ObjectIdentifier].self) { group in
      for number in 0..<8 { group.addTask { (0..<3).map { ObjectIdentifier(plans[($0 + number) % 3]) }.sorted() } }
      return await group.reduce(into: Set<[ObjectIdentifier]>()) { $0.insert($1) }
    }
    #expect(found.count == 1)
  }
}
