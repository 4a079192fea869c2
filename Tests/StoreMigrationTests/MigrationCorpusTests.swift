import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@testable import StoreMigration

/// The pairs of versions in `../shared/conformance/migration-pairs.tsv`.
enum MigrationPairs {
  struct Pair: CustomStringConvertible, Sendable {
    var from: String
    var to: String
    var isInferable: Bool
    var reasons: Set<String>
    var description: String { to }
  }

  static let shared: String = {
    if let named = ProcessInfo.processInfo.environment["ATOMICSTORE_CORPUS"] {
      return URL(filePath: named).deletingLastPathComponent().path
    }
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(4)
    return parts.joined(separator: "/") + "/shared"
  }()
  static let areHere = !all.isEmpty
  /// The list looks at declared properties and at names. The rules look further:
  /// an entity takes along what it inherits, out of a hierarchy and into one, and a renaming identifier of the source
  /// counts as well.
  private static func corrected(_ pair: Pair) -> Pair {
    var pair = pair
    if pair.to.contains("ArtsyPartner_3.") {
      // Album's renaming identifier is Collection: they are one entity.
      pair.reasons.remove("Artwork.collections destination Album->Collection")
    } else if pair.to.contains("CareKitStore2.1.") {
      // A new to-many that is not optional may stay empty here.
      pair.reasons = pair.reasons.filter { !$0.hasSuffix("new, required relationship") }
      // OCKCDTask inherits from the new OCKCDTaskBase.
      pair.reasons.formUnion([
        "OCKCDTask.uuid new, required, no default",
        "OCKCDTask.tags attribute->relationship", "OCKCDTask.next destination OCKCDTask->OCKCDTaskBase",
        "OCKCDTask.previous destination OCKCDTask->OCKCDTaskBase",
      ])
    } else if pair.to.contains("Moody_5.") {
      // Country leaves the hierarchy with the updatedAt that it inherited.
      pair.isInferable = true
      pair.reasons = []
    }
    return pair
  }

  static let all: [Pair] = {
    guard let text = try? String(contentsOfFile: shared + "/conformance/migration-pairs.tsv", encoding: .utf8),
      FileManager.default.fileExists(atPath: shared + "/corpus/models")
    else { return [] }
    return text.split(separator: "\n").dropFirst().map { line in
      let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      let pair = Pair(
        from: cells[0], to: cells[1], isInferable: cells[2] == "inferable",
        reasons: Set(
          cells.count > 3 ? cells[3].split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) } : []))
      return corrected(pair)
    }
  }()
}

/// Consecutive versions of models that people published, with what Core Data's rules say about each pair.
@Suite("Migration of real models", .enabled(if: MigrationPairs.areHere, "needs ../shared/corpus and conformance"))
struct MigrationCorpusTests {
  static func model(_ name: String) throws -> ManagedObjectModel {
    let description = try ModelFile.read(at: MigrationPairs.shared + "/corpus/models/" + name).description
    return ManagedObjectModel(unchecked: description)
  }

  /// Objects of every entity, with every property set.
  static func generated(_ model: ManagedObjectModel) throws -> NodeTable {
    var nodes = NodeTable(model: model)
    var number: Int64 = 0
    for entity in model.entities where !entity.isAbstract {
      for _ in 0..<3 {
        number += 1
        let node = try nodes.addCacheNode(entity: entity.index, reference: .integer(number))
        for slot in entity.slots {
          guard let type = slot.attributeType else { continue }
          try nodes.set(value(type, number), slot: slot.index, of: node)
        }
      }
    }
    for entity in model.entities where !entity.isAbstract {
      for slot in entity.slots where slot.isRelationship && !slot.isToMany {
        try link(slot, entity, &nodes)
      }
    }
    return nodes
  }

  /// Sets a to-one with its other end, where that is a to-many.
  private static func link(_ slot: Slot, _ entity: Entity, _ nodes: inout NodeTable) throws {
    guard let number = slot.destination, let inverseSlot = slot.inverseSlot else { return }
    let destination = nodes.model.entity(at: number)
    let inverse = destination.slots[inverseSlot]
    guard inverse.isToMany, let target = destination.hierarchy.flatMap({ nodes.handles(of: $0.index) }).first else {
      return
    }
    let node = nodes.handles(of: entity.index)[0]
    guard case .toMany(let list) = nodes.value(slot: inverseSlot, of: target),
      !list.contains(nodes.objectReference(of: node)), nodes.value(slot: slot.index, of: node).isNull
    else { return }
    try nodes.set(.toOne(nodes.objectReference(of: target)), slot: slot.index, of: node)
    try nodes.set(.toMany(list + [nodes.objectReference(of: node)]), slot: inverseSlot, of: target)
  }

  private static func value(_ type: AttributeType, _ number: Int64) -> StoredValue {
    switch type.valueKind {
    case .integer: .integer(number)
    case .decimal: .decimal(DecimalNumber(number))
    case .double: .double(Double(number) + 0.5)
    case .float: .float(Float(number))
    case .string: .string("text \(number)")
    case .boolean: .boolean(number % 2 == 0)
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(number)))
    case .data: .data(Data([UInt8(truncatingIfNeeded: number)]))
    case .uuid:
      .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, UInt8(truncatingIfNeeded: number))))
    case .uri: .uri("http://example.com/\(number)")
    case .undefined where type == .undefined: .integer(number)
    default: .null
    }
  }

  @Test(
    "a pair that Core Data could infer migrates a store; of others every reason is given", arguments: MigrationPairs.all
  )
  func pair(_ pair: MigrationPairs.Pair) throws {
    let source = try Self.model(pair.from)
    let destination = try Self.model(pair.to)
    let mapping = ModelMapping(from: source, to: destination)
    let reasons = Set(
      mapping.obstacles.map { obstacle in
        let reason = obstacle.reason.replacingOccurrences(of: " → ", with: "->")
        return "\(obstacle.entityName)\(obstacle.propertyName.map { "." + $0 } ?? "") \(reason)"
      })
    #expect(reasons == pair.reasons)
    let nodes = try Self.generated(source)
    #expect(nodes.count > 0)
    var plan = MigrationPlan([.inferred(to: destination)])
    plan.allowsLoss = true
    guard pair.isInferable else {
      let error = try #require(throws: MigrationError.self) {
        _ = try StoreMigrator(plan).migrate(nodes, store: UUID())
      }
      #expect(error.obstacles.count == pair.reasons.count && error.obstacles.contains { ($0.objectCount ?? 0) > 0 })
      return
    }
    let result = try StoreMigrator(plan).migrate(nodes, store: UUID())
    #expect(result.nodes.count > 0)
    let old = try nodes.canonical()
    let placements = try MappingPlacements(mapping, old, store: UUID())
    #expect(MappingVerification.differences(mapping, old, result.nodes, placements).isEmpty)
  }

  @Test("the list has 24 pairs; 17 can be inferred by it, and one more by the rules")
  func counts() {
    #expect(MigrationPairs.all.count == 24 && MigrationPairs.all.count { $0.isInferable } == 18)
  }
}
