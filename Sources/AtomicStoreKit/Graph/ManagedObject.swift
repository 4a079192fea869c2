public import AtomicStoreSPI
import FoundationEssentials

/// An object of a graph: an entity's properties, in a context.
///
/// Any entity's objects can be had as this class, by key (``value(forKey:)``, `object["name"]`); subclass it and
/// register the class with the coordinator for typed access (``Managed``). An object belongs to its context and stays
/// where that is: it is not `Sendable`, its ``objectID`` is.
///
/// It is a *fault* until a property is asked for, and then reads the values that its store holds at that moment. It
/// costs about a hundred bytes until it is changed, since values stay in the store's columns.
///
/// **You may customise** the hooks: ``awakeFromInsert()``, ``awakeFromFetch()``, ``willSave()``, ``didSave()``,
/// ``prepareForDeletion()``, ``willTurnIntoFault()``, ``didTurnIntoFault()``, ``validate(_:forKey:)``,
/// ``validateForInsert()``, ``validateForUpdate()``, ``validateForDelete()``.
open class ManagedObject {
  final let plan: EntityPlan
  /// Kept for an object that outlives its context: the plan does not keep it.
  private final let model: ManagedObjectModel
  // Unowned and unsafe is sound here: a context keeps track of every object that names it, and takes its name from each
  // when it ends; an object takes itself from its context's tables when it ends. Neither can leave the isolation that
  // both are in.
  final unowned(unsafe) var context: ManagedObjectContext?
  /// The store it is in or will be, as its context sees it.
  final var home: StoreHome?
  /// What the store knows it by. For a new object nil until it is given one.
  final var reference: ReferenceObject?
  /// The version of the store that it reads.
  final var base: NodeVersion?
  /// Where it stands in ``base``.
  final var node = NodeHandle(entity: 0, row: 0)
  final var flags: Flags = []
  /// Its place in the context's list of changed objects.
  final var position: Int32 = -1
  /// What was changed since the last save, by property.
  final var edits: ContiguousArray<PropertyValue?>?
  /// What lies over the store's values without being a change to save.
  final var overlay: ContiguousArray<PropertyValue?>?
  final var extras: ObjectExtras?

  struct Flags: OptionSet {
    let rawValue: UInt16
    static let inserted = Flags(rawValue: 1)
    static let updated = Flags(rawValue: 2)
    static let deleted = Flags(rawValue: 4)
    /// Its values can be read; otherwise it is a fault, or gone.
    static let realized = Flags(rawValue: 8)
    /// It is among the objects that the next notice tells of.
    static let noticed = Flags(rawValue: 16)
    /// Nothing changed since it was prepared for the save that runs.
    static let prepared = Flags(rawValue: 32)
    /// Its values are being set up: they are no changes.
    static let awakening = Flags(rawValue: 64)
    /// Its ID is permanent, though it may not be saved yet.
    static let permanent = Flags(rawValue: 128)
    /// Its deletion has been carried to the objects around it.
    static let propagated = Flags(rawValue: 256)
    static let registered = Flags(rawValue: 512)
    /// It is being prepared for its deletion.
    static let deleting = Flags(rawValue: 1024)
    /// It is about to turn into a fault.
    static let faulting = Flags(rawValue: 2048)
    /// It stands for its class, to be asked which keys its properties read.
    static let probing = Flags(rawValue: 4096)
    /// It was merged into another object that has the same unique values.
    static let merged = Flags(rawValue: 8192)
    /// Its values are in the context's table of values that fetches ask for, as they are.
    static let indexed = Flags(rawValue: 16384)
    static let changed: Flags = [.inserted, .updated, .deleted]
  }

  /// Creates an object and inserts it into a context; without one it stands alone until it is inserted.
  ///
  /// An abstract entity has no objects: what is made of one cannot be saved, and says so then.
  public required init(entity: Entity, insertInto context: ManagedObjectContext?) {
    model = entity.model
    plan = ModelPlan.plan(of: model).entities[entity.index]
    if let context { context.insert(self) }
  }

  /// Creates an object of the entity that this class is registered for, and inserts it.
  ///
  /// Where the class is registered for none, or for several, the object is of the first entity of that name, or of the
  /// first one it is registered for. Where the model has no entity of that name either, it stands alone, and the
  /// context's next save fails with the class and what to do.
  public convenience init(context: ManagedObjectContext) {
    if let entity = context.entity(for: Self.self) {
      self.init(entity: entity, insertInto: context)
    } else {
      self.init(entity: Self.standInModel.entity(at: 0), insertInto: nil)
      context.refuseUnregistered(self)
    }
  }

  /// What objects are of that no model knows: one entity without properties, which is a valid model.
  static let standInModel = ManagedObjectModel(
    unchecked: ModelDescription(entities: [EntityDescription(name: "Unknown")]))

  /// An object of no context and no properties, where there must be one.
  static func standIn() -> ManagedObject { ManagedObject(entity: standInModel.entity(at: 0), insertInto: nil) }

  deinit {
    if let context { context.forget(self) }
    guard edits != nil || overlay != nil || extras?.fetched.isEmpty == false else { return }
    // A chain of objects that only each other holds is taken apart here, link by link: left to themselves they would
    // end within each other, and a long chain would need more stack than there is.
    var rest: [ManagedObject] = []
    handOverPartners(to: &rest)
    while var next = rest.popLast() {
      if isKnownUniquelyReferenced(&next) { next.handOverPartners(to: &rest) }
    }
  }

  private final func handOverPartners(to list: inout [ManagedObject]) {
    for layer in [edits, overlay] {
      guard let layer else { continue }
      for case let value? in layer {
        switch value {
        case .object(let object?): list.append(object)
        case .changes(let changes):
          list += changes.added.elements
          list += changes.removed.values
        case .ordered(let objects): list += objects.elements
        case .object(nil), .stored, .transient: break
        }
      }
    }
    edits = nil
    overlay = nil
    guard let extras, !extras.fetched.isEmpty else { return }
    for found in extras.fetched.values { list += found }
    extras.fetched = [:]
  }

  // MARK: What it is

  /// The object's concrete entity.
  public final var entity: Entity { model.entity(at: plan.index) }

  /// The object's context; nil for one that stands alone or is gone.
  public final var managedObjectContext: ManagedObjectContext? { context }

  /// What the object is known by: temporary until it is saved or given a permanent ID.
  public final var objectID: ManagedObjectID {
    if let reference, let home, !flags.contains(.inserted) || flags.contains(.permanent) {
      return ManagedObjectID(storeIdentifier: home.identifier, entityName: plan.name, reference: reference)
    }
    if let parent = extras?.parentObject { return parent.objectID }
    let extras = needExtras()
    if let id = extras.lastID { return id }
    if let name = extras.temporaryName { return ManagedObjectID(temporary: name, entityName: plan.name) }
    let name = UUID()
    extras.temporaryName = name
    context?.remember(self, as: name)
    return ManagedObjectID(temporary: name, entityName: plan.name)
  }

  /// Whether it is new in its context and not saved.
  public final var isInserted: Bool { flags.contains(.inserted) && !flags.contains(.deleted) }
  /// Whether it has changes that are not saved, and is not new.
  public final var isUpdated: Bool { flags.contains(.updated) }
  /// Whether it is to be deleted with the next save.
  public final var isDeleted: Bool { flags.contains(.deleted) }
  /// Whether it is new, changed or deleted, and not saved.
  public final var hasChanges: Bool { !flags.isDisjoint(with: .changed) }
  /// Whether its values have yet to be fetched. Asking does not fetch them.
  public final var isFault: Bool { !flags.contains(.realized) }
  /// Whether a save would write anything of it: changes to transient properties do not count.
  public final var hasPersistentChangedValues: Bool {
    if !flags.isDisjoint(with: [.inserted, .deleted]) { return true }
    guard let edits else { return false }
    return edits.indices.contains { edits[$0] != nil && plan.properties[$0].slot >= 0 }
  }

  /// Why the object cannot be had, once it cannot.
  public final var unavailableReason: ManagedObjectError.UnavailableReason? { extras?.gone }
  /// The last error that property access met, which it could not throw. Cleared by
  /// ``ManagedObjectContext/discardAccessErrors()``.
  public final var accessError: ManagedObjectError? { extras?.accessError }

  final func needExtras() -> ObjectExtras {
    if let extras { return extras }
    let made = ObjectExtras()
    extras = made
    return made
  }

  // MARK: Hooks

  /// Called once, when the object is inserted for the first time. Set defaults here that the model cannot.
  open func awakeFromInsert() {}
  /// Called when the object's values have been fetched. What is set here is no change to save; inverses are not kept.
  open func awakeFromFetch() {}
  /// Called before a save, also for objects to be deleted. Changing properties is allowed; the object is then prepared
  /// again. ``setPrimitiveValue(_:forKey:)`` changes without that.
  open func willSave() {}
  /// Called after a save that succeeded.
  open func didSave() {}
  /// Called when the object is about to be deleted, its relationships still in place.
  open func prepareForDeletion() {}
  /// Called before the object turns into a fault.
  open func willTurnIntoFault() {}
  /// Called when the object has turned into a fault. For tidying up; the properties must not be asked for.
  open func didTurnIntoFault() {}

  /// Adds rules to those of the model for one property; may change the value. Throw to refuse it.
  ///
  /// Do not call it: call ``validateValue(_:forKey:)``, which runs the model's rules first.
  open func validate(_ value: inout Any?, forKey key: String) throws {}
  /// Checks the object before its first save. An override calls `super` to have its properties checked, and may throw
  /// errors of any kind.
  open func validateForInsert() throws { try validateProperties() }
  /// Checks a changed object before a save.
  open func validateForUpdate() throws { try validateProperties() }
  /// Checks an object before its deletion is saved: by default that no relationship with the rule Deny forbids it.
  open func validateForDelete() throws { try validateDeleteRules() }
}

/// What few objects need.
final class ObjectExtras {
  /// The property that was read of an object that is asked for its keys.
  var probed: AnyKeyPath?
  /// The temporary ID's name, once somebody asked for it.
  var temporaryName: UUID?
  /// In a child context, the object this one stands for.
  var parentObject: ManagedObject?
  var gone: ManagedObjectError.UnavailableReason?
  /// What it was known by when it went.
  var lastID: ManagedObjectID?
  var accessError: ManagedObjectError?
  /// What transformers made of stored bytes, by property.
  var transformed: [Int: Any] = [:]
  /// What fetched properties found, by property.
  var fetched: [Int: [ManagedObject]] = [:]
  /// The relationship it was last reached by, as text.
  var reachedBy: String?
}

struct WeakObject {
  weak var object: ManagedObject?
}

extension ManagedObject: Hashable {
  /// Objects are equal when they are one.
  public static func == (one: ManagedObject, other: ManagedObject) -> Bool { one === other }
  public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject: CustomStringConvertible {
  /// The ID and, for an object that is no fault, its attributes. Never fetches.
  public final var description: String {
    var text = "<\(plan.name) \(objectID.uriRepresentation)"
    if flags.contains(.inserted) { text += ", inserted" }
    if flags.contains(.updated) { text += ", updated" }
    if flags.contains(.deleted) { text += ", deleted" }
    guard flags.contains(.realized) else {
      return text + (extras?.gone.map { ", " + $0.text } ?? ", not loaded") + ">"
    }
    for p in plan.attributes where plan.properties[p].slot >= 0 {
      let value = storedValue(p)
      if !value.isNull { text += ", \(plan.properties[p].name): \(value.displayText)" }
    }
    return text + ">"
  }
}
