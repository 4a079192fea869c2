package import AtomicStoreKit
package import AtomicStoreSPI
import FoundationEssentials

/// The model of the checks of incremental stores, and random graphs of it: every type of attribute, sub-entities, and
/// relationships of every kind.
package enum ItemGraph {
  /// The model.
  package static let description = ModelDescription(
    entities: [
      EntityDescription(
        name: "Owner",
        properties: [
          .attribute("name", .string), .attribute("rank", .integer32), .attribute("link", .uri),
          .toMany("items", "Item", inverse: "owner"),
          .toMany("queue", "Item", inverse: "waitsFor", isOrdered: true),
          .toOne("favourite", "Item", inverse: "fan"),
        ]),
      EntityDescription(
        name: "Item",
        properties: [
          .attribute("name", .string), .attribute("small", .integer16), .attribute("big", .integer64),
          .attribute("price", .decimal), .attribute("weight", .double), .attribute("ratio", .float),
          .attribute("isNew", .boolean), .attribute("made", .date), .attribute("code", .uuid),
          .attribute("picture", .binaryData), .attribute("anything", .undefined),
          .toOne("owner", "Owner", inverse: "items"),
          .toOne("waitsFor", "Owner", inverse: "queue"),
          .toOne("fan", "Owner", inverse: "favourite"),
          .toMany("tags", "Tag", inverse: "items"),
          .toMany("parts", "Item", inverse: "wholes", isOrdered: true),
          .toMany("wholes", "Item", inverse: "parts"),
          .toOne("alone", "Tag"),
        ],
        subentities: [
          EntityDescription(name: "Special", properties: [.attribute("extra", .string)])
        ]),
      EntityDescription(
        name: "Tag",
        properties: [
          .attribute("name", .string), .attribute("weight", .double), .toMany("items", "Item", inverse: "tags"),
        ]),
    ])

  /// Texts that stores confuse, cut or misread.
  package static let texts = [
    "", "a", "b", "ab", "Ä", "a\u{308}", "zz", "a\0b", "a\u{1}b", "a\u{2}", "'\"", "%_", "😀 x",
    "long " + String(repeating: "x", count: 50),
  ]
  /// Numbers at the edges of floating point.
  package static let doubles: [Double] = [0, -0.0, 1, -1, 0.1, 1e300, .infinity, -.infinity, .nan, 1 / 3]

  /// Inserts a random graph.
  ///
  /// - Parameter count: The number of items; there are fewer owners and tags.
  package static func fill(
    _ context: ManagedObjectContext, _ count: Int, _ random: inout SeededRandom
  ) throws {
    var (owners, items, tags): ([ManagedObject], [ManagedObject], [ManagedObject]) = ([], [], [])
    for _ in 0..<max(2, count / 5) { owners.append(try context.insertNewObject(forEntityName: "Owner")) }
    for index in 0..<count {
      items.append(try context.insertNewObject(forEntityName: index % 4 == 0 ? "Special" : "Item"))
    }
    for _ in 0..<max(2, count / 6) { tags.append(try context.insertNewObject(forEntityName: "Tag")) }
    for object in owners + items + tags { try change(object, owners, items, tags, &random, all: true) }
  }

  /// Makes random changes: inserts, deletions, other values and relationships.
  package static func edit(_ context: ManagedObjectContext, _ count: Int, _ random: inout SeededRandom) throws {
    func all(_ name: String) throws -> [ManagedObject] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: name))
    }
    let (owners, items, tags) = (try all("Owner"), try all("Item"), try all("Tag"))
    for _ in 0..<count {
      switch random.below(5) {
      case 0:
        let new = try context.insertNewObject(forEntityName: "Special")
        try change(new, owners, items.filter { !$0.isDeleted }, tags, &random, all: true)
      case 1:
        if let item = items.randomElement(using: &random), !item.isDeleted { context.delete(item) }
        context.processPendingChanges()
      default:
        guard let item = items.randomElement(using: &random), !item.isDeleted else { continue }
        try change(item, owners, items.filter { !$0.isDeleted }, tags, &random, all: false)
      }
    }
  }

  /// A random value of an attribute.
  private static func value(_ name: String, _ random: inout SeededRandom) -> Any? {
    if random.below(6) == 0 { return nil }
    let number = random.below(7) - 3
    switch name {
    case "name", "extra": return texts.randomElement(using: &random)
    case "link": return URL(string: "http://x/\(number)")
    case "rank", "small", "big": return number
    case "price": return Decimal(number) / 4
    case "weight": return doubles.randomElement(using: &random)
    case "ratio": return Float(doubles.randomElement(using: &random) ?? 0)
    case "isNew": return number > 0
    case "made": return Date(timeIntervalSinceReferenceDate: Double(number) * 1000.5)
    case "code": return code(abs(number))
    case "picture": return Data(repeating: UInt8(abs(number)), count: abs(number))
    case "anything": return number > 1 ? "text" as Any : number
    default: return nil
    }
  }

  /// One of the UUIDs of items.
  static func code(_ number: Int) -> UUID {
    UUID(uuid: (UInt8(truncatingIfNeeded: number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
  }

  /// Sets properties of an object at random: all of them, or some.
  private static func change(
    _ object: ManagedObject, _ owners: [ManagedObject], _ items: [ManagedObject], _ tags: [ManagedObject],
    _ random: inout SeededRandom, all: Bool
  ) throws {
    for slot in object.entity.slots {
      guard all || random.below(4) == 0 else { continue }
      switch slot.kind {
      case .attribute: try object.setValue(value(slot.name, &random), forKey: slot.name)
      case .toOne:
        let list =
          ["owner": owners, "waitsFor": owners, "fan": owners, "favourite": items, "alone": tags][slot.name] ?? []
        let other = random.below(4) == 0 ? nil : list.randomElement(using: &random)
        try object.setValue(other, forKey: slot.name)
      case .toMany:
        let list = ["items": items, "queue": items, "tags": tags, "parts": items][slot.name] ?? []
        guard !list.isEmpty else { continue }
        for _ in 0..<random.below(4) {
          guard let other = list.randomElement(using: &random) else { continue }
          if try object.objects(forRelationshipNamed: slot.name).contains(where: { $0 === other }) {
            try object.remove(other, from: slot.name)
          } else {
            try object.add(other, to: slot.name)
          }
        }
      }
    }
  }
}
