import AtomicStoreSPI
import Foundation
import Testing

@Suite("Models of any size") struct ModelSizeTests {
  /// Processor time of this thread: other work on the machine does not count.
  private func seconds(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    let start = now()
    try body()
    return now() - start
  }

  private static func attributes(_ count: Int) -> [PropertyDescription] {
    (0..<count).map { .attribute("a\($0)", .integer16) }
  }

  /// Models by a size, of which one of eight times the size takes eight times the work.
  private static let kinds: [(name: String, make: @Sendable (Int) -> ModelDescription)] = [
    ("empty entities", { ModelDescription(entities: (0..<$0 * 1000).map { EntityDescription(name: "E\($0)") }) }),
    (
      "sub-entities of an entity of 60 attributes",
      { count in
        ModelDescription(entities: [
          EntityDescription(
            name: "E", properties: attributes(60),
            subentities: (0..<count * 500).map {
              EntityDescription(
                name: "S\($0)", properties: [.attribute("own\($0)", .string)])
            })
        ])
      }
    ),
    (
      "attributes of one entity",
      { ModelDescription(entities: [EntityDescription(name: "E", properties: attributes($0 * 2000))]) }
    ),
    (
      "names of many dots",
      { count in
        let name = String(repeating: "a.", count: count * 4000)
        return ModelDescription(
          entities: [
            EntityDescription(
              name: "E",
              properties: [
                .attribute(name, .string),
                .attribute("place", .composite("Place")),
              ])
          ],
          composites: [
            CompositeDescription(name: "Place", attributes: [AttributeDescription(name: "x", type: .double)])
          ])
      }
    ),
  ]

  @Test("checking and compiling a model takes linear, not quadratic time", arguments: kinds.indices)
  func linear(_ kind: Int) throws {
    let small = Self.kinds[kind].make(1)
    let large = Self.kinds[kind].make(8)
    func time(_ model: ModelDescription) throws -> Double {
      try (0..<3).map { _ in try seconds { _ = try ManagedObjectModel(model) } }.min() ?? 0
    }
    let (one, eight) = (try time(small), try time(large))
    // Eight times is linear, sixty-four the square. Under a hundredth of a second there is nothing to compare.
    #expect(eight < 0.01 || eight < one * 28, "\(Self.kinds[kind].name): \(one) s became \(eight) s")
  }

  @Test("an entity has the slots of its super-entities first, at the same numbers, followed by its own")
  func slots() throws {
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "B", properties: Self.attributes(2),
            subentities: [
              EntityDescription(
                name: "A",
                subentities: [
                  EntityDescription(
                    name: "C",
                    properties: [
                      .attribute("place", .composite("Place")),
                      .toOne("up", "B"),
                    ])
                ]),
              EntityDescription(name: "D", properties: [.attribute("d", .string)]),
            ])
        ],
        composites: [
          CompositeDescription(
            name: "Place",
            attributes: [AttributeDescription(name: "x", type: .double), AttributeDescription(name: "y", type: .float)])
        ]))
    #expect(model.entities.map(\.name) == ["A", "B", "C", "D"])
    let names = [
      "A": ["a0", "a1"], "B": ["a0", "a1"], "C": ["a0", "a1", "place.x", "place.y", "up"], "D": ["a0", "a1", "d"],
    ]
    for entity in model.entities {
      #expect(entity.slots.map(\.name) == names[entity.name])
      for (index, slot) in entity.slots.enumerated() {
        #expect(slot.index == index)
        #expect(entity.slot(named: slot.name) == index)
      }
      #expect(entity.slot(named: "place") == nil && entity.slot(named: "a2") == nil)
    }
    let entity = try #require(model.entity(named: "B"))
    #expect(entity.hierarchy.map(\.name) == ["A", "B", "C", "D"])
    #expect(try #require(model.entity(named: "A")).hierarchy.map(\.name) == ["A", "C"])
    let isKind = model.entities.map { one in model.entities.map { one.isKindOf(entity: $0) } }
    #expect(
      isKind == [
        [true, true, false, false], [false, true, false, false], [true, true, true, false], [false, true, false, true],
      ])
    #expect(try #require(model.entity(named: "C")).properties.map(\.name) == ["a0", "a1", "place", "up"])
  }
}
