import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StoreJSON
import StorePredicates

/// Makes objects of JSON: finds those that have the values of a uniqueness constraint, and creates the others.
///
/// All of the text is read first, into drafts. Then each draft is found or created, after the objects that its
/// constraints lead to; and last, relationships are set.
struct ObjectJSONReader {
  let context: ManagedObjectContext
  let ignoresUnknownKeys: Bool
  /// The objects of the JSON, the outer ones before those inside.
  var drafts: [Draft] = []
  /// By `$id`.
  private var draftsByID: [String: Int] = [:]
  /// Those inside an object before its own.
  private var links: [(draft: Int, link: Link)] = []
  /// The objects that were created here, by the values of each constraint.
  var createdObjects: [CreatedKey: ManagedObject] = [:]
  var created: Set<ObjectIdentifier> = []

  /// An object of the JSON.
  struct Draft {
    let entity: Entity
    let place: String
    var values: [(slot: Slot, value: StoredValue)] = []
    /// Relationships with the objects that they lead to, by slot.
    var links: [Int: Link] = [:]
    /// To-one relationships that only the other end states: by slot, the draft that is there.
    var impliedEnds: [Int: Int] = [:]
    /// Whether the objects that its constraints lead to were looked for.
    var isEntered = false
    var object: ManagedObject?
  }

  /// What a relationship leads to.
  struct Link {
    let slot: Slot
    var ends: [End]
  }
  enum End {
    /// An object that is inside the owner.
    case draft(Int)
    /// An object that is elsewhere in the text, or in a store.
    case reference(String)
  }

  init(_ context: ManagedObjectContext, ignoresUnknownKeys: Bool) {
    self.context = context
    self.ignoresUnknownKeys = ignoresUnknownKeys
  }

  mutating func read(_ json: JSONValue, _ entity: Entity) throws -> [ManagedObject] {
    let list: [JSONValue] = if case .array(let list) = json { list } else { [json] }
    var outermost: [Int] = []
    for (index, item) in list.enumerated() { outermost.append(try draft(item, entity, "item \(index + 1)", 0)) }
    noteImpliedEnds()
    for index in drafts.indices { try makeObject(of: index) }
    for (draft, link) in links { try connect(draft, link) }
    return outermost.compactMap { drafts[$0].object }
  }

  // MARK: Reading

  private mutating func draft(
    _ json: JSONValue, _ expected: Entity, _ place: String, _ depth: Int
  ) throws -> Int {
    guard case .object(let members) = json else { throw failure("is not a JSON object", expected, place) }
    let entity = try concrete(json, expected, place)
    let index = drafts.count
    drafts.append(Draft(entity: entity, place: place))
    for (name, member) in members
    where ![ObjectJSONWriter.idKey, ObjectJSONWriter.entityKey].contains(where: { name.utf8.elementsEqual($0.utf8) }) {
      guard let number = entity.slot(named: name) else {
        if ignoresUnknownKeys { continue }
        let known = entity.slots.map(\.name)
        throw failure(
          "has the key '\(name)', which is not a stored property\(Suggestion.text(for: name, among: known))", entity,
          place, name)
      }
      let slot = entity.slots[number]
      guard case .attribute(let type) = slot.kind else {
        let link = try link(member, slot, entity, "\(place).\(name)", depth)
        drafts[index].links[number] = link
        links.append((index, link))
        continue
      }
      guard let value = StoredValue(json: member, slot: slot) else {
        throw failure("does not hold a value of type \(type.modelName)", entity, place, name)
      }
      drafts[index].values.append((slot, value))
    }
    if case .string(let id)? = json[ObjectJSONWriter.idKey] { draftsByID[id] = index }
    return index
  }

  private func concrete(_ json: JSONValue, _ expected: Entity, _ place: String) throws -> Entity {
    guard let named = json[ObjectJSONWriter.entityKey] else { return expected }
    guard case .string(let name) = named, let entity = expected.model.entity(named: name),
      entity.isKindOf(entity: expected)
    else { throw failure("is not of the entity or a sub-entity of it", expected, place, ObjectJSONWriter.entityKey) }
    return entity
  }

  private mutating func link(
    _ json: JSONValue, _ slot: Slot, _ entity: Entity, _ place: String, _ depth: Int
  ) throws -> Link {
    let name = slot.name
    guard depth < 200 else { throw failure("is nested too deeply", entity, place, name) }
    var link = Link(slot: slot, ends: [])
    guard let destination = slot.destination.map({ entity.model.entity(at: $0) }) else { return link }
    let ends: [JSONValue]
    switch (json, slot.isToMany) {
    case (.null, false): ends = []
    case (.object, false): ends = [json]
    case (.array(let list), true): ends = list
    default: throw failure("does not hold \(slot.isToMany ? "a list of objects" : "an object")", entity, place, name)
    }
    for (index, end) in ends.enumerated() {
      guard let reference = end[ObjectJSONWriter.referenceKey] else {
        let place = slot.isToMany ? "\(place)[\(index)]" : place
        link.ends.append(.draft(try draft(end, destination, place, depth + 1)))
        continue
      }
      guard case .string(let text) = reference, case .object(let members) = end, members.count == 1 else {
        throw failure(
          "has a \(ObjectJSONWriter.referenceKey) that is not a string, or other members beside it", entity, place, name
        )
      }
      link.ends.append(.reference(text))
    }
    return link
  }

  // MARK: Relationships

  /// The draft that an end is; nil for an object of a store.
  func draft(of end: End) -> Int? {
    switch end {
    case .draft(let index): index
    case .reference(let text): draftsByID[text]
    }
  }

  /// An object inside a list is at the other end of its to-one, although it does not say so itself.
  private mutating func noteImpliedEnds() {
    for (owner, link) in links {
      guard let inverse = link.slot.inverseSlot else { continue }
      for end in link.ends {
        guard let index = draft(of: end), drafts[index].entity.slots.indices.contains(inverse),
          case .toOne = drafts[index].entity.slots[inverse].kind, drafts[index].links[inverse] == nil,
          drafts[index].impliedEnds[inverse] == nil
        else { continue }
        drafts[index].impliedEnds[inverse] = owner
      }
    }
  }

  private func connect(_ index: Int, _ link: Link) throws {
    guard let object = drafts[index].object else { return }
    let ends = try link.ends.compactMap { try self.object(at: $0, link.slot, of: index) }
    try object.setValue(link.slot.isToMany ? ends as Any? : ends.first, forKey: link.slot.name)
  }

  /// The object at an end; nil for a draft that has none yet.
  func object(at end: End, _ slot: Slot, of index: Int) throws -> ManagedObject? {
    if let draft = draft(of: end) { return drafts[draft].object }
    guard case .reference(let text) = end else { return nil }
    guard let id = context.persistentStoreCoordinator.managedObjectID(forURIRepresentation: text) else {
      throw failure(
        "refers to \(text), which does not exist", drafts[index].entity, "\(drafts[index].place).\(slot.name)",
        slot.name)
    }
    return try context.existingObject(with: id)
  }

  func failure(
    _ text: String, _ entity: Entity, _ place: String, _ property: String? = nil
  ) -> PersistentStoreError {
    PersistentStoreError(
      .invalidValue, "\(place) \(text)", at: StoreLocation(entity: entity.name, property: property))
  }
}
