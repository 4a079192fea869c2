import Foundation
import StoreCoordination
import TestSupport
import Testing

/// The comparison value by value, with nothing but public readers, which the comparison by column must agree with.
private enum ByValue {
  static func differences(
    _ one: NodeTable, _ other: NodeTable, _ options: GraphComparison.Options
  ) -> [GraphDifference] {
    var found: [GraphDifference] = []
    func folded(_ name: String) -> String { options.ignoresNameCase ? name.lowercased() : name }
    let names = Set((one.model.entities + other.model.entities).map { folded($0.name) }).sorted()
    for name in names {
      let left = one.model.entities.last { folded($0.name) == name }
      let right = other.model.entities.last { folded($0.name) == name }
      let ours = left.map { entity in objects(one, entity) } ?? [:]
      let theirs = right.map { entity in objects(other, entity) } ?? [:]
      for reference in Set(ours.keys).union(theirs.keys).sorted() {
        guard let node = ours[reference] else {
          found.append(.init(kind: .inserted, object: .init(entityName: right?.name ?? "", reference: reference)))
          continue
        }
        let object = ObjectReference(entityName: left?.name ?? "", reference: reference)
        guard let otherNode = theirs[reference] else {
          found.append(.init(kind: .deleted, object: object))
          continue
        }
        guard let left, let right else { continue }
        var keys = left.slots.map(\.name)
        keys += right.slots.map(\.name).filter { key in !keys.contains { folded($0) == folded(key) } }
        for key in keys {
          let slot = left.slots.first { folded($0.name) == folded(key) }
          let otherSlot = right.slots.first { folded($0.name) == folded(key) }
          let old = slot.map { one.value(slot: $0.index, of: node) }
          let new = otherSlot.map { other.value(slot: $0.index, of: otherNode) }
          let isOrdered = [slot, otherSlot].contains {
            $0.map { $0.isOrdered || options.comparesUnknownOrder && $0.keepsSequence } ?? false
          }
          if text(old, isOrdered, folded) == text(new, isOrdered, folded) { continue }
          found.append(
            .init(
              kind: .changed, object: object, key: key, old: old.map { GraphComparison.text($0) },
              new: new.map { GraphComparison.text($0) }))
        }
      }
    }
    return found
  }

  private static func objects(_ nodes: NodeTable, _ entity: Entity) -> [ReferenceObject: NodeHandle] {
    Dictionary(uniqueKeysWithValues: nodes.handles(of: entity.index).map { (nodes.reference(of: $0), $0) })
  }

  /// Different for different values: by kind and by bits.
  private static func text(_ value: StoredValue?, _ isOrdered: Bool, _ folded: (String) -> String) -> [String] {
    func name(_ object: ObjectReference) -> String { "\(folded(object.entityName))/\(ReferenceKey(object.reference))" }
    switch value ?? .null {
    case .null, .toMany([]): return []
    case .toOne(let object): return [name(object)]
    case .toMany(let list): return isOrdered ? list.map { name($0) } : list.map { name($0) }.sorted()
    case let value: return [value.kindDescription, bits(value)]
    }
  }

  private static func bits(_ value: StoredValue) -> String {
    switch value {
    case .double(let number): "\(number.bitPattern)"
    case .float(let number): "\(number.bitPattern)"
    case .date(let date): "\(date.timeIntervalSinceReferenceDate.bitPattern)"
    case .string(let text), .uri(let text): "\(Array(text.utf8))"
    case .data(let data): "\(Array(data))"
    default: "\(value)"
    }
  }

  private struct ReferenceKey: CustomStringConvertible {
    let description: String
    init(_ reference: ReferenceObject) {
      description =
        switch reference {
        case .integer(let number): "i\(number)"
        case .string(let text): "s\(Array(text.utf8))"
        }
    }
  }
}

/// Random graphs with every kind of slot, and copies that differ from them.
private struct RandomGraphs {
  var generator: SeededGenerator

  static func model(_ isOther: Bool) throws -> ManagedObjectModel {
    let types: [AttributeType] = [
      .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string, .boolean, .date,
      .binaryData, .uuid, .uri, .transformable,
    ]
    var properties = types.map { PropertyDescription.attribute("\($0)", $0) }
    properties += [
      .attribute(isOther ? "SOME" : "some", .string), .attribute("width", isOther ? .integer32 : .integer64),
      .attribute(isOther ? "right" : "left", .integer64),
      .toOne("one", "Thing"), .toMany("many", "Thing"), .toMany("list", "Thing", isOrdered: true),
      .toMany("maybe", "Thing", isOrdered: isOther),
    ]
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Thing", properties: properties, subentities: [EntityDescription(name: "Sub")]),
        EntityDescription(name: isOther ? "OTHER" : "Other", properties: [.toOne("thing", "Thing")]),
        EntityDescription(name: isOther ? "New" : "Old", properties: [.attribute("text", .string)]),
      ]))
  }

  mutating func pick<Element>(_ list: [Element]) -> Element {
    list[Int.random(in: 0..<list.count, using: &generator)]
  }

  mutating func value(_ type: AttributeType) -> StoredValue {
    switch type {
    case .integer16, .integer32, .integer64: return .integer(pick([0, 1, -1, 300]))
    case .decimal:
      return .decimal(pick([DecimalNumber(mantissa: 150, exponent: -2), DecimalNumber(mantissa: 15, exponent: -1)]))
    case .double: return .double(pick([0, -0.0, .nan, 1.5, .infinity]))
    case .float: return .float(pick([0, -0.0, 1.5]))
    case .string: return .string(pick(["", "é", "e\u{301}", "plain text"]))
    case .boolean: return .boolean(Bool.random(using: &generator))
    case .date: return .date(Date(timeIntervalSinceReferenceDate: pick([0, 0.1, 1e9])))
    case .binaryData, .transformable: return .data(pick([Data(), Data([0]), Data([1, 2, 3])]))
    case .uuid: return .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, pick([16, 17]))))
    case .uri: return .uri(pick(["http://a.example", "http://b.example"]))
    default: return pick([.integer(1), .double(1), .string("1"), .boolean(true)])
    }
  }

  mutating func setSome(_ nodes: inout NodeTable, _ node: NodeHandle, share: Double) throws {
    let entity = nodes.model.entity(at: node.entity)
    let things = ["Thing", "Sub"].compactMap { nodes.model.entity(named: $0) }.flatMap { nodes.handles(of: $0.index) }
    for slot in entity.slots where Double.random(in: 0..<1, using: &generator) < share {
      if Double.random(in: 0..<1, using: &generator) < 0.2 {
        try nodes.set(slot.isToMany ? .toMany([]) : .null, slot: slot.index, of: node)
      } else if let type = slot.attributeType {
        try nodes.set(value(type), slot: slot.index, of: node)
      } else if slot.isToMany {
        let count = Int.random(in: 0..<4, using: &generator)
        let list = Array(Set((0..<count).map { _ in pick(things) })).map { nodes.objectReference(of: $0) }
        try nodes.set(.toMany(list.shuffled(using: &generator)), slot: slot.index, of: node)
      } else {
        try nodes.set(.toOne(nodes.objectReference(of: pick(things))), slot: slot.index, of: node)
      }
    }
  }

  mutating func graph(texts: Bool, isOther: Bool) throws -> NodeTable {
    var nodes = NodeTable(model: try Self.model(isOther))
    for entity in nodes.model.entities {
      for number in 0..<Int64(Int.random(in: 1..<12, using: &generator)) {
        let isText = texts && Bool.random(using: &generator)
        let reference: ReferenceObject =
          isText
          ? .string(pick(["é", "e\u{301}", ""]) + "\(entity.name.lowercased()) \(number)")
          : .integer(Int64(entity.index) * 100 + number * 3)
        if nodes.handle(for: reference, entity: entity.index) == nil {
          _ = try nodes.addCacheNode(entity: entity.index, reference: reference)
        }
      }
    }
    for entity in nodes.model.entities {
      for node in nodes.handles(of: entity.index) { try setSome(&nodes, node, share: 0.8) }
    }
    return nodes
  }

  /// The same graph with a few changes, removals and additions.
  mutating func changed(_ original: NodeTable) throws -> NodeTable {
    var nodes = original
    for entity in nodes.model.entities {
      for node in nodes.handles(of: entity.index) {
        if Double.random(in: 0..<1, using: &generator) < 0.2 { try setSome(&nodes, node, share: 0.2) }
      }
      if Bool.random(using: &generator) {
        let reference = ReferenceObject.integer(Int64.random(in: 1000..<1010, using: &generator))
        if nodes.handle(for: reference, entity: entity.index) == nil {
          _ = try nodes.addCacheNode(entity: entity.index, reference: reference)
        }
      }
    }
    if let old = nodes.model.entity(named: "Old") ?? nodes.model.entity(named: "New"),
      let node = nodes.handles(of: old.index).first, Bool.random(using: &generator)
    {
      nodes.remove(node)
    }
    return nodes
  }
}

@Suite("Comparing by column") struct ComparisonByColumnTests {
  @Test(
    "random graphs differ as they do value by value, in the same order",
    arguments: (0..<60).share(of: "comparisons by columns"))
  func random(_ seed: Int) throws {
    var random = RandomGraphs(generator: SeededGenerator(seed: UInt64(seed)))
    let texts = seed % 3 == 0
    let original = try random.graph(texts: texts, isOther: false)
    let changed = try random.changed(original)
    let unrelated = try random.graph(texts: texts, isOther: seed % 2 == 0)
    for (one, other) in [
      (original, original), (original, changed), (changed, original), (original, unrelated), (unrelated, changed),
      (try original.canonical(), try changed.canonical()), (try original.canonical(), original),
      (try changed.canonical(), try unrelated.canonical()),
    ] {
      for options in [
        GraphComparison.Options(), .init(ignoresNameCase: true), .init(comparesUnknownOrder: true),
      ] {
        let metadata = StoreMetadata(storeType: "", uuid: Self.uuid)
        let found = GraphComparison.differences(
          StoreSnapshot(nodes: one, metadata: metadata), StoreSnapshot(nodes: other, metadata: metadata),
          options: options)
        #expect(found == ByValue.differences(one, other, options))
      }
    }
  }
  private static let uuid = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

  private static let long: ManagedObjectModel? = try? ManagedObjectModel(
    ModelDescription(entities: [
      EntityDescription(
        name: "Row",
        properties: [
          .attribute("number", .integer32), .attribute("text", .string), .toOne("next", "Row"), .toMany("all", "Row"),
        ])
    ]))

  private static let manyRows = Result { try rows(9_001) }

  /// A table of more rows than are compared at a time, loaded as from a file.
  private static func rows(_ count: Int) throws -> NodeTable {
    let builder = NodeTableBuilder(model: try #require(long))
    for row in 0..<count {
      try builder.beginNode(entity: 0, reference: Int64(row))
      if row % 3 != 0 { try builder.set(.integer(Int64(row)), slot: try slot("number")) }
      if row % 5 != 0 { try builder.set(.string("text \(row)"), slot: try slot("text")) }
      try builder.set(toOne: Int64((row + 1) % count), slot: try slot("next"))
      try builder.append(toMany: Int64(row / 2), slot: try slot("all"))
    }
    return try builder.finish()
  }
  private static func slot(_ name: String) throws -> Int {
    let model = try #require(long)
    return try #require(model.entities[0].slot(named: name))
  }

  @Test(
    "one change is found in any row: the first, the last, and at the borders of what is compared at a time",
    arguments: [0, 1, 63, 64, 4095, 4096, 4097, 8191, 8192, 9_000], ["number", "text", "next", "all"])
  func borders(_ row: Int, _ property: String) throws {
    let original = try Self.manyRows.get()
    var changed = original
    let value: StoredValue =
      switch property {
      case "number": .integer(-1)
      case "text": .string("text x")
      case "next": .toOne(ObjectReference(entityName: "Row", reference: .integer(77)))
      default: .toMany([])
      }
    try changed.set(value, slot: try Self.slot(property), of: NodeHandle(entity: 0, row: row))
    let metadata = StoreMetadata(storeType: "", uuid: Self.uuid)
    let found = GraphComparison.differences(
      StoreSnapshot(nodes: original, metadata: metadata), StoreSnapshot(nodes: changed, metadata: metadata))
    #expect(found.map(\.key) == [property])
    #expect(found.first?.object?.reference == .integer(Int64(row)))
  }

  @Test("differences that are not asked for do not count towards the limit")
  func limit() throws {
    let original = try Self.rows(100)
    var changed = original
    for row in 0..<100 {
      try changed.set(.integer(-1), slot: try Self.slot("number"), of: NodeHandle(entity: 0, row: row))
      try changed.set(.null, slot: try Self.slot("next"), of: NodeHandle(entity: 0, row: row))
    }
    let metadata = StoreMetadata(storeType: "", uuid: Self.uuid)
    var seen = 0
    let found = GraphComparison.differences(
      StoreSnapshot(nodes: original, metadata: metadata), StoreSnapshot(nodes: changed, metadata: metadata),
      options: .init(limit: 3)
    ) { difference in
      seen += 1
      return difference.key == "next"
    }
    #expect(found.map(\.key) == ["next", "next", "next"])
    // It stops there: the other rows are not compared.
    #expect(seen == 6)
  }
}
