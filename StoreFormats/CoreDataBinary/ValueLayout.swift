import AtomicStoreSPI

/// Where the values of an entity's objects are in `NSAttributeValues`.
///
/// Usually this follows from the model. A model that was inferred from a binary store has invented names, which do not
/// sort as the real ones do: it carries the positions, and the number of all values, as user info. Every format keeps
/// user info, so a store that was converted to another type and back is still written in its own layout.
struct ValueLayout {
  /// The user info of an entity: the number of values of each object. Relationships, and attributes that are null in
  /// all objects, have positions, too, but an inferred model does not know which of the two they are.
  static let countKey = "CoreDataBinary.valueCount"
  /// The user info of an attribute: its position, from 1.
  static let positionKey = "CoreDataBinary.position"
  /// The count of an entity whose objects have different numbers of values.
  static let unknownCount = "unknown"
  /// A limit for models of untrusted files: each object is written with this many values at most that no attribute has.
  private static let maximumGapCount = 4096

  /// The attribute at each position; nil where no attribute is known.
  let slots: [Slot?]
  /// The number of values of each object; nil if objects differ in it.
  let count: Int?
  /// Whether the entity carries its layout.
  let isCarried: Bool

  /// - Throws: `.invalidModel` if the entity carries a layout that is not possible.
  init(of entity: Entity) throws(PersistentStoreError) {
    let attributes = Self.attributesByName(of: entity)
    guard let text = entity.declaration.userInfo.first(where: { $0.key == Self.countKey })?.value else {
      slots = attributes
      count = attributes.count + entity.slots.count(where: \.isRelationship)
      isCarried = false
      return
    }
    func invalid(_ problem: String, _ property: String? = nil) -> PersistentStoreError {
      PersistentStoreError(
        .invalidModel, "\(problem), so the layout of its objects in a binary store is not known",
        at: StoreLocation(entity: entity.name, property: property))
    }
    let count = Int(text)
    guard count != nil || text == Self.unknownCount else {
      throw invalid("the user info \(Self.countKey) is '\(text)'")
    }
    // Both numbers may come from an untrusted file: they are bounded before anything is made of them.
    let most = entity.slots.count + Self.maximumGapCount
    guard count.map({ (0...most).contains($0) }) ?? true else { throw invalid("it has \(text) values") }
    var slots = [Slot?](repeating: nil, count: attributes.count)
    for slot in attributes {
      let text = slot.attribute?.userInfo.first { $0.key == Self.positionKey }?.value
      guard let position = text.flatMap({ Int($0) }), position > 0,
        position <= count ?? most
      else {
        throw invalid(
          text.map { "the user info \(Self.positionKey) is '\($0)'" } ?? "the user info \(Self.positionKey) is missing",
          slot.name)
      }
      while slots.count < position { slots.append(nil) }
      guard slots[position - 1] == nil else { throw invalid("two attributes have the position \(position)", slot.name) }
      slots[position - 1] = slot
    }
    self.slots = slots
    self.count = count
    isCarried = true
  }

  /// The attributes as Core Data orders them: from the root entity down, each entity's own attributes by name. One null
  /// for each relationship follows.
  private static func attributesByName(of entity: Entity) -> [Slot] {
    var chain: [Entity] = []
    var next: Entity? = entity
    while let current = next {
      chain.insert(current, at: 0)
      next = current.superentity
    }
    return chain.flatMap { entity in
      entity.slots[(entity.superentity?.slots.count ?? 0)...].filter { !$0.isRelationship }
        .sorted { ScalarString($0.name) < ScalarString($1.name) }
    }
  }
}
