import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// Models and graphs that dice make.
enum RandomGraphs {
  /// - Parameter isLarge: Whether there are more objects, and longer lists, than most programs have in a test.
  static func make(
    _ dice: inout SeededRandom, entities most: Int, isOrdered: Bool, _ traits: StoreTraits, isLarge: Bool = false
  ) throws -> [Graph] {
    let types: [AttributeType] = [
      .string, .string, .integer32, .integer16, .integer64, .double, .boolean, .date, .decimal, .binaryData, .uuid,
    ]
    .filter { !traits.unsupportedTypes.contains($0.modelName) && ($0 != .decimal || traits.keepsDecimals) }
    var names: [String] = []
    for place in 0..<(1 + dice.below(min(most, 4))) { names.append("Entity\(place)") }
    var roots: [EntityDescription] = names.map { name in
      var properties: [PropertyDescription] = []
      for place in 0..<(1 + dice.below(5)) {
        properties.append(.attribute("a\(place)", types[dice.below(types.count)]))
      }
      return EntityDescription(name: name, properties: properties)
    }
    for place in 0..<dice.below(5) {
      let from = dice.below(names.count)
      let to = dice.below(names.count)
      let here = "r\(place)"
      let there = "i\(place)"
      let one = RelationshipDescription(
        name: here, destinationEntityName: names[to], inverseName: there, maximumCount: dice.below(2), isOrdered: false)
      var other = RelationshipDescription(
        name: there, destinationEntityName: names[from], inverseName: here, maximumCount: dice.below(2))
      if isOrdered, other.isToMany, dice.below(3) == 0 { other.isOrdered = true }
      roots[from].properties.append(.relationship(one))
      roots[to].properties.append(.relationship(other))
    }
    // Some have a sub-entity, which inherits all of it.
    if most > names.count, dice.below(2) == 0 {
      roots[0].subentities = [
        EntityDescription(name: "Sub", properties: [.attribute("own", .string)])
      ]
      names.append("Sub")
    }
    let model = ModelDescription(entities: roots)
    var graph = Graph(model)
    for place in 0..<(isLarge ? 25 + dice.below(16) : 4 + dice.below(11)) {
      graph.objects.append(.init(label: "o\(place)", entity: names[dice.below(names.count)]))
    }
    try change(&graph, &dice, all: true, longest: isLarge ? 30 : 5)
    var graphs = [graph]
    for edit in 0..<2 {
      if let gone = graph.objects.randomElement(using: &dice)?.label, graph.objects.count > 2 { graph.remove(gone) }
      graph.objects.append(.init(label: "new\(edit)", entity: names[dice.below(names.count)]))
      try change(&graph, &dice, all: false, longest: isLarge ? 30 : 5)
      graphs.append(graph)
    }
    return graphs
  }

  /// Gives objects other values and relationships.
  ///
  /// - Parameters:
  ///   - all: Whether every object is changed; some are otherwise.
  ///   - longest: The most members that a relationship gets.
  static func change(_ graph: inout Graph, _ dice: inout SeededRandom, all: Bool, longest: Int) throws {
    let frozen = try Models.frozen(graph.model)
    for object in graph.objects where all || dice.below(3) == 0 {
      guard let entity = frozen.entity(named: object.entity) else { continue }
      for slot in entity.slots where dice.below(4) > 0 {
        if let type = slot.attributeType {
          graph.set(object.label, slot.name, dice.below(5) == 0 ? nil : value(type, &dice))
          continue
        }
        guard let wanted = slot.relationship.flatMap({ frozen.entity(named: $0.destinationEntityName) }) else {
          continue
        }
        let candidates = graph.objects.filter { frozen.entity(named: $0.entity)?.isKindOf(entity: wanted) ?? false }
          .map(\.label)
        guard !candidates.isEmpty else { continue }
        let count = slot.isToMany ? dice.below(min(candidates.count, longest) + 1) : dice.below(2)
        try graph.relate(object.label, slot.name, to: Array(candidates.shuffled(using: &dice).prefix(count)))
      }
    }
  }

  private static func value(_ type: AttributeType, _ dice: inout SeededRandom) -> StoredValue {
    let word = dice.next()
    switch type.valueKind {
    case .string:
      let pieces = ["a", "ä", " ", "\n", "\"", ",", "<", "&", "𝄞", "e\u{301}", "0", "\r\n", ";", "'", "\t"]
      return .string((0..<(1 + dice.below(6))).map { _ in pieces[dice.below(pieces.count)] }.joined())
    case .integer:
      let unused = 64 - type.integerBits
      return .integer((Int64(truncatingIfNeeded: word) << unused) >> unused)
    case .double: return .double(Double(Int64(truncatingIfNeeded: word >> 11)) / 1024)
    case .boolean: return .boolean(word & 1 == 0)
    case .date: return .date(Date(timeIntervalSinceReferenceDate: Double(Int64(truncatingIfNeeded: word >> 30)) / 7))
    case .decimal:
      return .decimal(
        DecimalNumber(
          mantissa: UInt128(word), exponent: Int8(truncatingIfNeeded: Int(word % 40)) - 20, isNegative: word & 2 == 0))
    case .data: return .data(Data((0..<(1 + dice.below(9))).map { UInt8(truncatingIfNeeded: word >> ($0 * 7)) }))
    case .uuid:
      let byte = UInt8(truncatingIfNeeded: word)
      return .uuid(UUID(uuid: (byte, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 255 - byte)))
    default: return .null
    }
  }
}
