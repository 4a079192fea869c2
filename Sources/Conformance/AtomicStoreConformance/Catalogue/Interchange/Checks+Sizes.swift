import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// SCL, continued: counts beyond round numbers. What is written is compared whole.
extension Checks {
  #if DEBUG
    /// Without the slowest, where the code under test is ten times slower. The greatest finds what is cut off.
    private static let objectCounts = [
      0, 1, 2, 127, 128, 129, 255, 256, 257, 512, 1_001, 1_024, 4_095, 4_096, 4_097, 10_000, 20_481, 100_001,
    ]
    private static let memberCounts = [11, 255, 256, 257, 1_001, 4_097, 10_000]
    private static let columnCount = 66_001
  #else
    private static let objectCounts = [
      0, 1, 2, 127, 128, 129, 255, 256, 257, 511, 512, 513, 1_000, 1_001, 1_023, 1_024, 1_025, 2_048, 4_095, 4_096,
      4_097, 8_192, 10_000, 16_384, 16_385, 20_481, 32_768, 32_769, 65_535, 65_536, 65_537, 100_001,
    ]
    private static let memberCounts = [11, 255, 256, 257, 1_001, 4_095, 4_096, 4_097, 10_000, 20_481, 65_537]
    private static let columnCount = 131_073
  #endif

  static let counts: [CheckDefinition] = [
    CheckDefinition(
      "SCL-06", "As many objects come back as were saved, with their values", level: .must, profile: .scale, from: kit,
      by:
        "\(objectCounts.map(String.init).joined(separator: ", ")) objects, each with its own number; \(columnCount) with own texts, equal values, values that only the first or the last one has, and relationships; each number of objects up to 130, of which some have no values",
      causes: [
        "a count is written in 8 or 16 bits", "what does not fill a page, or fills it, is left out",
        "a column is described by its first values", "a bit for each object is missing in the last byte",
      ],
      catches: ["objectsBeyond4096Lost", "objectsBeyond100000Lost"], timeLimit: 180
    ) { check in
      for count in objectCounts where count > 0 {
        try check.expectForgedKept(
          Graph.values(.integer32, (0..<count).map { .integer(Int64($0) &* 7 - 3) }), "\(count) objects")
      }
      try check.expectForgedKept(Models.columns(columnCount), "\(columnCount) objects of many properties")
      guard check.traits.maximumEntities ?? .max >= 130 else { return }
      try check.expectForgedKept(Models.gaps(130), "1 to 130 objects, some without values")
    },
    CheckDefinition(
      "SCL-07", "As many related objects come back as were saved, ordered ones in their order", level: .must,
      profile: .scale, from: kit,
      by:
        "\(memberCounts.map(String.init).joined(separator: ", ")) objects that one leads to, in a set and in an order that no sort gives; every number up to 130, and those about powers of two, upwards, downwards and mixed, with an inverse that leads to many, and one that leads to one",
      causes: ["a count is written in 8 or 16 bits", "a long list is written in another way than a short one"],
      catches: ["membersBeyond1000Lost", "orderBeyond255Lost"], timeLimit: 180
    ) { check in
      try check.expectForgedKept(Models.constellation(isOrdered: check.traits.keepsOrder), "lists of every length")
      for count in memberCounts {
        try check.expectForgedKept(Models.star(count, isOrdered: false), "a set of \(count) objects")
        guard check.traits.keepsOrder else { continue }
        try check.expectForgedKept(Models.star(count, isOrdered: true), "a list of \(count) objects")
      }
    },
    CheckDefinition(
      "SCL-08", "Entities with many properties, and models with many entities, are kept whole", level: .must,
      profile: .scale, from: kit,
      by:
        "attributes and relationships in numbers about powers of two, 700 and 1,025, all with values; 255, 256, 257 and 400 entities",
      causes: ["properties or entities are counted in a byte"],
      catches: ["slotsBeyond512Lost", "slotsBeyond512LostWhenSavedAgain"], timeLimit: 120
    ) { check in
      for count in [7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 700, 1_025] {
        try check.expectForgedKept(Models.wide(count), "objects with \(count) properties", name: "wide")
      }
      let most = check.traits.maximumEntities ?? .max
      for count in [255, 256, 257, 400] where count <= most {
        try check.expectForgedKept(Models.manyEntities(count), "objects of \(count) entities", name: "many")
      }
    },
    CheckDefinition(
      "SCH-17", "Objects of entities without additional properties are kept, however deep the hierarchy is",
      from: "Atomic Store Life-cycle, Loading",
      by:
        "hierarchies of three and of twelve levels, in which no level, or the first alone, has properties; objects of each level",
      causes: ["an object is written with the entity that has its properties"], catches: ["entityOfOwnPropertiesLost"],
      demand: several
    ) { check in
      for depth in [3, 12] {
        for hasRootProperty in [false, true] {
          let graph = Models.hierarchy(depth, hasRootProperty: hasRootProperty)
          try check.expectKept(
            graph, "a hierarchy of \(depth) levels", path: check.path("levels\(depth)\(hasRootProperty)"))
        }
      }
    },
  ]
}

extension Models {
  /// Objects of one entity, each of which leads to another: with values that differ, that are equal, and that only the
  /// first or the last one has.
  static func columns(_ count: Int) -> Graph {
    var graph = Graph(
      ModelDescription(entities: [
        EntityDescription(
          name: "Row",
          properties: [
            .attribute("text", .string), .attribute("same", .string), .attribute("equal", .integer32),
            .attribute("first", .double), .attribute("last", .double), .attribute("none", .string),
            .toOne("next", "Row"),
          ])
      ]))
    graph.objects = (0..<count).map { row in
      .init(
        label: "\(row)", entity: "Row",
        values: ["text": .string("row \(row)"), "same": .string("the same"), "equal": .integer(7)],
        // No row leads to the next one, and those at the end to others all through.
        links: ["next": ["\((row * 7 + 3) % count)"]])
    }
    graph.objects[0].values["first"] = .double(0.5)
    graph.objects[count - 1].values["last"] = .double(-0.5)
    return graph
  }

  /// Entities with 1, 2, 3 … objects, each of which lacks one of three values.
  static func gaps(_ count: Int) -> Graph {
    var graph = Graph(
      ModelDescription(
        entities: (1...count).map { number in
          EntityDescription(
            name: "Rows\(number)",
            properties: [.attribute("number", .integer32), .attribute("flag", .boolean), .attribute("text", .string)])
        }))
    for number in 1...count {
      for row in 0..<number {
        var values: [ScalarKey: StoredValue] = [
          "number": .integer(Int64(row)), "flag": .boolean(row % 2 == 0), "text": .string("\(row) of \(number)"),
        ]
        values[["number", "flag", "text"][(row + number) % 3]] = nil
        graph.objects.append(.init(label: "\(number)/\(row)", entity: "Rows\(number)", values: values))
      }
    }
    return graph
  }

  /// An object that leads to so many others.
  static func star(_ count: Int, isOrdered: Bool) -> Graph {
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Item",
        properties: [
          .attribute(AttributeDescription(name: "number", type: .integer32)),
          .relationship(
            RelationshipDescription(name: "list", destinationEntityName: "Item", maximumCount: 0, isOrdered: isOrdered)),
        ])
    ])
    var graph = Graph(model)
    for position in 0...count + 1 {
      graph.objects.append(.init(label: "\(position)", entity: "Item", values: ["number": .integer(Int64(position))]))
    }
    // Odd ones upwards, then even ones downwards.
    let members = stride(from: 1, through: count, by: 2).map { $0 } + stride(from: 2, through: count, by: 2).reversed()
    graph.objects[0].links["list"] = members.map { "\($0)" }
    graph.objects[count].links["list"] = ["\(count + 1)", "0"]
    return graph
  }

  /// Objects that lead to so many others as their name says: in `list`, whose inverse leads to many, and in `owned`,
  /// whose inverse leads to one object.
  static func constellation(isOrdered: Bool) -> Graph {
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Item",
        properties: [
          .attribute("number", .integer32), .toMany("list", "Item", inverse: "lists", isOrdered: isOrdered),
          .toMany("lists", "Item", inverse: "list"),
          .toMany("owned", "Item", inverse: "owner", isOrdered: isOrdered), .toOne("owner", "Item", inverse: "owned"),
        ])
    ])
    let sizes = Array(0...130) + [500, 511, 512, 513, 1_000, 1_023, 1_024, 1_025]
    var graph = Graph(model)
    func add(_ label: String) {
      graph.objects.append(
        .init(label: label, entity: "Item", values: ["number": .integer(Int64(graph.objects.count))]))
    }
    for position in 0..<1_100 { add("\(position)") }
    var free = 0
    for (position, size) in sizes.enumerated() {
      add("owner \(size)")
      let owner = graph.objects.count - 1
      func mixed(_ members: Range<Int>) -> [String] {
        let labels = members.map { "\($0)" }
        switch position % 3 {
        case 0: return labels
        case 1: return labels.reversed()
        default:
          return stride(from: 0, to: size, by: 2).map { labels[$0] }
            + stride(from: 1, to: size, by: 2).map { labels[$0] }
        }
      }
      if size > 0 { graph.objects[owner].links["list"] = mixed(0..<size) }
      for member in 0..<size { graph.objects[member].links["lists", default: []].append("owner \(size)") }
      // Each object has one owner.
      guard (1...45).contains(size), free + size <= 1_100 else { continue }
      graph.objects[owner].links["owned"] = mixed(free..<free + size)
      for member in free..<free + size { graph.objects[member].links["owner"] = ["owner \(size)"] }
      free += size
    }
    return graph
  }

  /// Two objects of an entity with so many properties: one has all of them, the other every third.
  static func wide(_ count: Int) -> Graph {
    let types: [AttributeType] = [.string, .integer32, .double, .boolean]
    func isRelationship(_ position: Int) -> Bool { position % 5 == 4 }
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Wide",
        properties: (0..<count).map { position in
          isRelationship(position)
            ? .relationship(RelationshipDescription(name: "p\(position)", destinationEntityName: "Wide"))
            : .attribute(AttributeDescription(name: "p\(position)", type: types[position % 4]))
        })
    ])
    var graph = Graph(model, [("a", "Wide"), ("b", "Wide")])
    for position in 0..<count {
      for object in 0..<2 where object == 0 || position % 3 == 0 {
        if isRelationship(position) {
          graph.objects[object].links["p\(position)"] = [position % 2 == 0 ? "a" : "b"]
          continue
        }
        graph.objects[object].values["p\(position)"] =
          switch position % 4 {
          case 0: .string("\(position)/\(object)")
          case 1: .integer(Int64(position * 2 + object))
          case 2: .double(Double(position) / 7)
          default: .boolean(position % 8 == 3)
          }
      }
    }
    return graph
  }

  /// Entities below each other, none of which has its own property but perhaps the first.
  static func hierarchy(_ depth: Int, hasRootProperty: Bool) -> Graph {
    var entity = EntityDescription(name: "Level\(depth - 1)")
    for level in (0..<depth - 1).reversed() {
      // The name of a level does not say how deep it is: another, empty one is beside it.
      entity = EntityDescription(
        name: "Level\(level)", subentities: [EntityDescription(name: "Beside\(level)"), entity])
    }
    if hasRootProperty { entity.properties = [.attribute(AttributeDescription(name: "name", type: .string))] }
    var graph = Graph(
      ModelDescription(entities: [
        entity,
        EntityDescription(
          name: "Link",
          properties: [.relationship(RelationshipDescription(name: "to", destinationEntityName: "Level0"))]),
      ]))
    for level in 0..<depth {
      for name in ["Level\(level)", "Beside\(level)"] where name != "Beside\(depth - 1)" {
        var object = Graph.Object(label: name, entity: name)
        if hasRootProperty { object.values["name"] = .string("of \(name)") }
        graph.objects.append(object)
        graph.objects.append(.init(label: "to \(name)", entity: "Link", links: ["to": [name]]))
      }
    }
    return graph
  }
}
