import AtomicStoreSPI

/// The classes of a context's objects.
extension ManagedObjectContext {
  /// Creates an object in no context, of the class registered for its entity or for the nearest of its super-entities.
  func make(_ plan: EntityPlan) -> ManagedObject {
    (registeredClass(of: plan) ?? ManagedObject.self).init(entity: plan.entity, insertInto: nil)
  }

  /// The class registered for an entity, or else for the nearest of its super-entities.
  private func registeredClass(of plan: EntityPlan) -> ManagedObject.Type? {
    guard !classes.isEmpty else { return nil }
    var level: Entity? = plan.entity
    while let entity = level {
      if let type = classes[ScalarString(entity.name)] { return type }
      level = entity.superentity
    }
    return nil
  }
}

extension ManagedObjectContext: Hashable {
  /// Contexts are equal if they are identical.
  public static func == (one: ManagedObjectContext, other: ManagedObjectContext) -> Bool { one === other }
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
