import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Testing

/// The four shortest sequences of two contexts that left a file in disagreement with version 0.1.0, each found by a
/// random run.
@Suite("Two contexts, and the shortest sequences that once left a file whose two ends disagreed")
struct ShrunkScriptTests {
  /// What a context does in one step. Objects have the names of the audit: P0, P1 own and have tags, T0 and T1 are
  /// owned and are tags.
  enum Step: Sendable {
    case toggle(Int, person: Int, tag: Int)
    case own(Int, tag: Int, person: Int?)
    case refresh(Int, person: Int, merging: Bool)
    case delete(Int, person: Int)
    case save(Int)

    var context: Int {
      switch self {
      case .toggle(let context, _, _), .own(let context, _, _), .refresh(let context, _, _), .delete(let context, _),
        .save(let context):
        context
      }
    }
  }

  struct Script: Sendable, CustomTestStringConvertible {
    let name: String
    let policy: MergePolicy
    let steps: [Step]
    var testDescription: String { name }
  }

  static let scripts = [
    Script(
      name: "a refresh beside a change", policy: .error,
      steps: [
        .toggle(1, person: 1, tag: 0), .own(0, tag: 0, person: 1), .toggle(0, person: 0, tag: 0), .save(0),
        .refresh(1, person: 1, merging: true), .save(1),
      ]),
    Script(
      name: "a change undone after another save", policy: .rollback,
      steps: [
        .own(1, tag: 1, person: 0), .toggle(0, person: 0, tag: 0), .save(1), .toggle(0, person: 0, tag: 0),
        .own(0, tag: 1, person: nil), .save(0),
      ]),
    Script(
      name: "a refresh that drops a change", policy: .mergeByPropertyStoreTrump,
      steps: [
        .toggle(0, person: 1, tag: 1), .toggle(1, person: 1, tag: 0), .save(1), .toggle(0, person: 1, tag: 0),
        .refresh(0, person: 1, merging: false), .save(0),
      ]),
    Script(
      name: "a deletion beside a change", policy: .overwrite,
      steps: [
        .toggle(0, person: 1, tag: 1), .toggle(1, person: 1, tag: 1), .delete(0, person: 0), .save(0), .save(1),
        .toggle(0, person: 1, tag: 1), .save(0),
      ]),
  ]

  /// What is in the file at the start.
  enum Start: String, CaseIterable, Sendable { case unrelated, tagged, owned }

  static func model() throws -> ManagedObjectModel {
    func relationship(_ name: String, _ destination: String, _ inverse: String, toMany: Bool) -> PropertyDescription {
      .relationship(
        RelationshipDescription(
          name: name, destinationEntityName: destination, inverseName: inverse, maximumCount: toMany ? 0 : 1,
          deleteRule: .nullify))
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "P",
          properties: [
            .attribute("name", .string),
            relationship("tags", "T", "ps", toMany: true),
            relationship("owned", "T", "owner", toMany: true),
          ]),
        EntityDescription(
          name: "T",
          properties: [
            .attribute("name", .string),
            relationship("ps", "P", "tags", toMany: true),
            relationship("owner", "P", "owned", toMany: false),
          ]),
      ]))
  }

  @Test("the file is consistent after each save, whichever side wins", arguments: scripts, Start.allCases)
  func agrees(_ script: Script, _ start: Start) throws {
    for type in Stack.types {
      for policy in script.policy == .error ? [.error] : [script.policy, .error] {
        try carryOut(script, start, type, policy)
      }
    }
  }

  private func carryOut(_ script: Script, _ start: Start, _ type: String, _ policy: MergePolicy) throws {
    let stack = try Stack(type, model: try Self.model())
    let people = try (0..<2).map { try stack.insert("P", ["name": "P\($0)"]) }
    let tags = try (0..<2).map { try stack.insert("T", ["name": "T\($0)"]) }
    switch start {
    case .unrelated: break
    case .tagged: for person in people { try person.setValue(Set(tags), forKey: "tags") }
    case .owned: for tag in tags { try tag.setValue(people[0], forKey: "owner") }
    }
    try stack.context.save()
    // Both contexts have read everything, and neither takes over what the other saves.
    let contexts = [ManagedObjectContext(stack.coordinator), ManagedObjectContext(stack.coordinator)]
    for context in contexts {
      context.mergePolicy = policy
      context.retainsRegisteredObjects = true
      for object in people + tags {
        for slot in object.entity.slots {
          _ = try context.existingObject(with: object.objectID).value(forKey: slot.name)
        }
      }
    }
    var saves = 0
    for step in script.steps {
      let context = contexts[step.context]
      func here(_ object: ManagedObject) -> ManagedObject { context.object(with: object.objectID) }
      switch step {
      case .toggle(_, let person, let tag):
        var members = Set(try here(people[person]).objects(forRelationshipNamed: "tags"))
        if members.remove(here(tags[tag])) == nil { members.insert(here(tags[tag])) }
        try here(people[person]).setValue(members, forKey: "tags")
      case .own(_, let tag, let person): try here(tags[tag]).setValue(person.map { here(people[$0]) }, forKey: "owner")
      case .refresh(_, let person, let merging): context.refresh(here(people[person]), mergeChanges: merging)
      case .delete(_, let person): context.delete(here(people[person]))
      case .save:
        do {
          try context.save()
          saves += 1
        } catch {
          // A conflict may be refused; what was refused must not be in the file.
          context.rollback()
        }
        let problems = try inverseProblems(in: stack.reopened().store.nodes)
        #expect(problems.isEmpty, "\(type), \(policy), \(script.name), \(start): after \(step)")
      }
    }
    #expect(saves > 0, "\(type), \(policy), \(script.name), \(start): every save failed")
  }
}
