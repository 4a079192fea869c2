import AtomicStoreSPI
import StoreImporting
import TestSupport
import Testing

@Suite("Random records with both ends of relationships, added to random stores") struct RandomEndTests {
  /// One end of a relationship.
  private struct End {
    let entity: String
    let name: String
    var isToMany = false
  }
  /// `one` names `two`, by their references.
  private struct Link: Hashable {
    let one: Int64
    let two: Int64
    var reversed: Link { Link(one: two, two: one) }
  }

  private static let pairs: [(one: End, two: End)] = [
    (End(entity: "Emp", name: "dept"), End(entity: "Dept", name: "emps", isToMany: true)),
    (End(entity: "Emp", name: "badge"), End(entity: "Badge", name: "emp")),
    (End(entity: "Emp", name: "skills", isToMany: true), End(entity: "Skill", name: "emps", isToMany: true)),
    (End(entity: "Emp", name: "buddy"), End(entity: "Emp", name: "buddy")),
  ]
  private static let references: [Int64] = [1, 2, 3, 4]
  /// The objects that only records are of.
  private static let newReferences: [Int64] = [5, 6]

  /// What records state, by entity and reference: the members of each relationship that they have.
  private typealias Records = [String: [Int64: [String: Set<Int64>]]]

  @Test(
    "what records state is right, what they do not concern stays, and nothing else changes",
    arguments: (1...150 as ClosedRange<UInt64>).share(of: "imported ends"))
  func agree(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var importer = try StaffSample.importer()
    importer.existing = try Self.store(&random)
    let before = try #require(importer.existing)
    let records = Self.records(&random)
    let found = Result { try importer.read(Self.tables(records)) }
    var isContradiction = false
    for pair in Self.pairs {
      guard let links = try Self.expected(pair, records, before) else {
        isContradiction = true
        continue
      }
      guard case .success(let result) = found else { continue }
      #expect(try Self.links(pair.one, in: result.nodes) == links, "\(pair.one.name): \(records)")
      let back = Set(try Self.links(pair.two, in: result.nodes).map(\.reversed))
      #expect(back == links, "\(pair.two.name): \(records)")
    }
    switch found {
    case .success: #expect(!isContradiction, "\(records)")
    case .failure(let error): #expect(isContradiction && error is ImportError, "\(error) \(records)")
    }
  }

  // MARK: What is to be expected

  /// The links of a relationship after the import; nil if records contradict each other.
  private static func expected(
    _ pair: (one: End, two: End), _ records: Records, _ before: NodeTable
  ) throws -> Set<Link>? {
    let isOwn = pair.one.name == pair.two.name
    let one = stated(pair.one, records)
    let two = stated(pair.two, records)
    var links: Set<Link> = []
    for (object, others) in one { for other in others { links.insert(Link(one: object, two: other)) } }
    for (object, others) in two { for other in others { links.insert(Link(one: other, two: object)) } }
    for link in links {
      if let named = one[link.one], !named.contains(link.two) { return nil }
      if let named = two[link.two], !named.contains(link.one) { return nil }
    }
    let ones = links.map(\.one)
    let twos = links.map(\.two)
    if !pair.one.isToMany, Set(ones).count < ones.count { return nil }
    if !pair.two.isToMany, Set(twos).count < twos.count { return nil }
    let kept = try Self.links(pair.one, in: before).filter { link in
      one[link.one] == nil && two[link.two] == nil && !(!pair.one.isToMany && ones.contains(link.one))
        && !(!pair.two.isToMany && twos.contains(link.two))
    }
    // Of a relationship that is its own inverse both directions are kept, or neither.
    return links.union(isOwn ? kept.filter { kept.contains($0.reversed) } : kept)
  }

  private static func stated(_ end: End, _ records: Records) -> [Int64: Set<Int64>] {
    (records[end.entity] ?? [:]).compactMapValues { $0[end.name] }
  }

  private static func links(_ end: End, in nodes: NodeTable) throws -> Set<Link> {
    var links: Set<Link> = []
    for reference in references + newReferences {
      guard nodes.handle(for: ObjectReference(entityName: end.entity, reference: .integer(reference))) != nil else {
        continue
      }
      for other in try nodes.references(end.entity, reference, end.name) {
        links.insert(Link(one: reference, two: other))
      }
    }
    return links
  }

  // MARK: Random stores and records

  private static func store(_ random: inout SeededGenerator) throws -> NodeTable {
    var importer = StoreImporter()
    importer.model = try StaffSample.model()
    let badges = references.shuffled(using: &random)
    var texts = ["Emp": "id,dept,badge,buddy,skills\n"]
    for entity in ["Dept", "Badge", "Skill"] {
      texts[entity] = "id,name\n" + references.map { "\($0),\(entity)\n" }.joined()
    }
    let buddies = Bool.random(using: &random) ? ["2", "1", "4", "3"] : ["", "3", "2", ""]
    for (index, reference) in references.enumerated() {
      let dept = Bool.random(using: &random) ? "\(Int64.random(in: 1...4, using: &random))" : ""
      let badge = Bool.random(using: &random) ? "\(badges[index])" : ""
      let skills = references.filter { _ in Bool.random(using: &random) }.map(\.description).joined(separator: " ")
      texts["Emp", default: ""] += "\(reference),\(dept),\(badge),\(buddies[index]),\(skills)\n"
    }
    return try importer.read(StaffSample.tables(texts)).nodes
  }

  private static func records(_ random: inout SeededGenerator) -> Records {
    var records: Records = [:]
    for entity in ["Badge", "Dept", "Emp", "Skill"] {
      for reference in references + newReferences where Int.random(in: 0..<4, using: &random) == 0 {
        var members: [String: Set<Int64>] = [:]
        for end in pairs.flatMap({ $0.one.name == $0.two.name ? [$0.one] : [$0.one, $0.two] })
        where end.entity == entity && Int.random(in: 0..<3, using: &random) == 0 {
          let count = Int.random(in: 0...(end.isToMany ? 3 : 1), using: &random)
          members[end.name] = Set(references.shuffled(using: &random).prefix(count))
        }
        records[entity, default: [:]][reference] = members
      }
    }
    return records
  }

  private static func tables(_ records: Records) -> [ImportSource] {
    records.sorted { $0.key < $1.key }.map { entity, objects in
      let lines = objects.sorted { $0.key < $1.key }.map { reference, members in
        let texts = members.sorted { $0.key < $1.key }.map { name, others in
          let isToMany = pairs.contains {
            [$0.one, $0.two].contains { $0.name == name && $0.entity == entity && $0.isToMany }
          }
          let list = others.sorted().map(\.description).joined(separator: ", ")
          return ", \"\(name)\": " + (isToMany ? "[\(list)]" : list.isEmpty ? "null" : list)
        }
        return "{\"id\": \(reference)\(texts.joined())}\n"
      }
      return LibrarySample.source(lines.joined(), "\(entity).ndjson", entity: entity)
    }
  }
}
