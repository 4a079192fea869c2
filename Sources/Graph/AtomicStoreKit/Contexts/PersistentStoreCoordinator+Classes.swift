import AtomicStoreSPI
public import StoreCoordination

extension PersistentStoreCoordinator {
  /// Registers the classes of a whole model: each for the entities whose class name in the model it has, or else for
  /// the entity of its name. Call it before contexts are created.
  ///
  /// - Parameter classes: The classes, in any order.
  /// - Throws: `.managedObjectValidation` if a class has no entity, or if the model names a class that is not in the
  ///   list; nothing is registered then. Names are compared without their module.
  public func setManagedObjectClasses(_ classes: [ManagedObject.Type]) throws(ManagedObjectError) {
    let entities = managedObjectModel?.entities ?? persistentStores.flatMap(\.model.entities)
    var byName: [ScalarString: ManagedObject.Type] = [:]
    for type in classes { byName[ScalarString(String(describing: type))] = type }
    var used: Set<ScalarString> = []
    var found: [(type: ManagedObject.Type, entity: String)] = []
    var missing: [String] = []
    for entity in entities {
      let wanted = Self.plainClassName(entity)
      let name = ScalarString(wanted ?? entity.name)
      if let type = byName[name] {
        used.insert(name)
        found.append((type, entity.name))
      } else if let wanted {
        missing.append("\(entity.name) needs the class \(wanted)")
      }
    }
    missing += byName.keys.filter { !used.contains($0) }.sorted().map { "no entity has the class \($0.string)" }
    guard missing.isEmpty else {
      throw ManagedObjectError(
        .managedObjectValidation, "the classes do not fit the model: \(missing.joined(separator: "; "))")
    }
    for (type, entity) in found { setManagedObjectClass(type, forEntityName: entity) }
  }

  /// The class name of an entity without its module; nil if the model names no class of the program.
  private static func plainClassName(_ entity: Entity) -> String? {
    guard let name = entity.managedObjectClassName?.split(separator: ".").last else { return nil }
    return name == "NSManagedObject" ? nil : String(name)
  }
}
