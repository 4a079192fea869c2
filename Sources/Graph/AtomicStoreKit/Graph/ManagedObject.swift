public import AtomicStoreSPI
import FoundationEssentials
import Observation

/// An object of a graph: the properties of an entity, in a context.
///
/// ```swift
/// for book in try context.fetch(FetchRequest<ManagedObject>(entityName: "Book")) {
///   print(book.objectID, try book.value(forKey: "title") ?? "no title")
/// }
/// ```
///
/// This class serves objects of any entity, by key (``value(forKey:)``, `object["name"]`). For typed access
/// (``Managed``), subclass it and register the class with the coordinator. An object belongs to its context and must be
/// used where its context is: it is not `Sendable`, its ``objectID`` is.
///
/// It is a *fault* until a property is read, and then reads the values that its store holds at that moment. It needs
/// about a hundred bytes until it is changed, since values stay in the store's columns.
///
/// It holds the objects that were read through its relationships, so that reading again gives the same instances: until
/// it is refreshed, turns into a fault or leaves its context. Objects may hold each other in a cycle; a context that
/// lives long ends cycles by ``ManagedObjectContext/refreshAllObjects()`` or ``ManagedObjectContext/reset()``.
///
/// **You may customize** the hooks: ``awakeFromInsert()``, ``awakeFromFetch()``, ``willSave()``, ``didSave()``,
/// ``prepareForDeletion()``, ``willTurnIntoFault()``, ``didTurnIntoFault()``, ``validate(_:forKey:)``,
/// ``validateForInsert()``, ``validateForUpdate()``, ``validateForDelete()``.
open class ManagedObject {
  final let plan: EntityPlan
  /// Retained for an object that outlives its context: the plan does not retain it.
  private final let model: ManagedObjectModel
  // An unretained reference is sound here: a context tracks every object that references it and clears the reference in
  // each when it ends; an object removes itself from its context's tables when it ends. Both happen in the isolation
  // that they share.
  final private(set) var contextReference: Unmanaged<ManagedObjectContext>?
  final var context: ManagedObjectContext? {
    get { contextReference?.takeUnretainedValue() }
    set { contextReference = newValue.map { .passUnretained($0) } }
  }
  /// The store that it is in or will be in, as its context sees it.
  final var cache: StoreCache?
  /// Its reference in the store. For a new object, nil until it is assigned.
  final var reference: ReferenceObject?
  /// The version of the store that it reads.
  final var base: NodeVersion?
  /// Its node in ``base``.
  final var node = NodeHandle(entity: 0, row: 0)
  final var flags: Flags = []
  /// Its index in the context's list of changed objects.
  final var position: Int32 = -1
  // A read of a property looks at the next three: checking that each such access is exclusive would cost more than the
  // read. No code runs while one of them is being changed.
  /// The values changed since the last save, by property.
  @exclusivity(unchecked) final var edits: ContiguousArray<PropertyValue?>?
  /// Values that override the store's without being changes to save.
  @exclusivity(unchecked) final var overlay: ContiguousArray<PropertyValue?>?
  /// The objects of the stored relationships that the program read, by their numbers; nil if it read none. See
  /// ``HeldObjects``.
  @exclusivity(unchecked) final var held: ContiguousArray<HeldObjects?>?
  final var extras: ObjectExtras?

  struct Flags: OptionSet {
    let rawValue: UInt32
    static let inserted = Flags(rawValue: 1)
    static let updated = Flags(rawValue: 2)
    static let deleted = Flags(rawValue: 4)
    /// Its values can be read. Otherwise it is a fault, or unavailable.
    static let realized = Flags(rawValue: 8)
    /// It is among the objects of the next notification.
    static let noticed = Flags(rawValue: 16)
    /// It has not changed since it was prepared for the current save.
    static let prepared = Flags(rawValue: 32)
    /// Its values are being initialized: setting them is not a change.
    static let awakening = Flags(rawValue: 64)
    /// Its ID is permanent, even if it is not saved yet.
    static let permanent = Flags(rawValue: 128)
    /// Its deletion has been propagated to related objects.
    static let propagated = Flags(rawValue: 256)
    static let registered = Flags(rawValue: 512)
    /// It is being prepared for its deletion.
    static let deleting = Flags(rawValue: 1024)
    /// It is about to turn into a fault.
    static let faulting = Flags(rawValue: 2048)
    /// It was merged into another object that has the same unique values.
    static let merged = Flags(rawValue: 8192)
    /// Its current values are in the context's table of values that fetches search.
    static let indexed = Flags(rawValue: 16384)
    /// The context recorded its values before the changes of the current event.
    static let recorded = Flags(rawValue: 32768)
    /// It was inserted in the current event.
    static let insertedInEvent = Flags(rawValue: 65536)
    /// One of its properties was read in a tracking of Observation.
    static let observed = Flags(rawValue: 131072)
    static let insertedAndRecorded: Flags = [.recorded, .insertedInEvent]
    static let changed: Flags = [.inserted, .updated, .deleted]
  }

  /// Creates an object and inserts it into a context. Without a context, it is in none until it is inserted.
  ///
  /// An object of an abstract entity cannot be saved: the save throws an error.
  public required init(entity: Entity, insertInto context: ManagedObjectContext?) {
    model = entity.model
    plan = ModelPlan.plan(of: model).entities[entity.index]
    if let context { context.insert(self) }
  }

  /// Creates an object of the entity that this class is registered for, and inserts it.
  ///
  /// If the class is registered for several entities, the object is of the first of them; if it is registered for none,
  /// of the first entity with the class's name. If there is no such entity either, the object is in no context, and the
  /// context's next save fails with an error that names the class and the remedy.
  public required convenience init(context: ManagedObjectContext) {
    if let entity = context.entity(for: Self.self) {
      self.init(entity: entity, insertInto: context)
    } else {
      self.init(entity: Self.standInModel.entity(at: 0), insertInto: nil)
      context.refuseUnregistered(self)
    }
  }

  /// The model of objects whose model is unknown: one entity without properties, which is a valid model.
  static let standInModel = ManagedObjectModel(
    unchecked: ModelDescription(entities: [EntityDescription(name: "Unknown")]))

  /// An object without context and properties, for callers that need an object.
  static func standIn() -> ManagedObject { ManagedObject(entity: standInModel.entity(at: 0), insertInto: nil) }

  deinit {
    if let context { context.forget(self) }
    guard edits != nil || overlay != nil || held != nil || extras?.fetched.isEmpty == false else { return }
    // A chain of objects that only keep each other alive is released here iteratively, link by link: otherwise
    // deinitializers would nest, and a long chain would overflow the stack.
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
    for case let related? in held ?? [] { list += related.objects }
    held = nil
    guard let extras, !extras.fetched.isEmpty else { return }
    for found in extras.fetched.values { list += found }
    extras.fetched = [:]
  }

  /// The object's concrete entity.
  public final var entity: Entity { model.entity(at: plan.index) }

  /// The object's context; nil for one that is in none or whose context no longer exists.
  public final var managedObjectContext: ManagedObjectContext? { context }

  /// The object's ID: temporary until it is saved or given a permanent ID.
  ///
  /// ```swift
  /// print(object.objectID.isTemporaryID ? "not saved" : object.objectID.uriRepresentation)
  /// ```
  public final var objectID: ManagedObjectID {
    if let reference, let cache, !flags.contains(.inserted) || flags.contains(.permanent) {
      return ManagedObjectID(storeIdentifier: cache.identifier, entityName: plan.name, reference: reference)
    }
    if let parent = extras?.parentObject { return parent.objectID }
    let extras = needExtras()
    if let id = extras.lastID { return id }
    if let name = extras.temporaryName { return ManagedObjectID(temporary: name, entityName: plan.name) }
    let name = UUID()
    extras.temporaryName = name
    context?.temporaryIDs.remember(self, as: name)
    return ManagedObjectID(temporary: name, entityName: plan.name)
  }

  /// Whether it is new in its context and has not been saved.
  public final var isInserted: Bool { flags.contains(.inserted) && !flags.contains(.deleted) }
  /// Whether it has unsaved changes and is not new.
  public final var isUpdated: Bool { flags.contains(.updated) }
  /// Whether the next save will delete it.
  public final var isDeleted: Bool { flags.contains(.deleted) }
  /// Whether it is new, changed or deleted, and not saved.
  public final var hasChanges: Bool { !flags.isDisjoint(with: .changed) }
  /// Whether its values have not been fetched yet. Reading this does not fetch them.
  public final var isFault: Bool { !flags.contains(.realized) }
  /// Whether a save would write anything of it: changes to transient properties do not count.
  public final var hasPersistentChangedValues: Bool {
    if !flags.isDisjoint(with: [.inserted, .deleted]) { return true }
    guard let edits else { return false }
    return edits.indices.contains { edits[$0] != nil && plan.properties[$0].slot >= 0 }
  }

  /// Why the object is unavailable; nil if it is available.
  public final var unavailableReason: ManagedObjectError.UnavailableReason? { extras?.gone }
  /// The last error of a property access that could not throw it. Cleared by
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
  /// Called when the object's values have been fetched. Values set here are not changes to save; inverses are not
  /// updated.
  open func awakeFromFetch() {}
  /// Called before a save, also for objects to be deleted. It may change properties; the object is then prepared again.
  /// ``setPrimitiveValue(_:forKey:)`` sets values without that.
  open func willSave() {}
  /// Called after a save that succeeded.
  open func didSave() {}
  /// Called when the object is about to be deleted, before its relationships change.
  open func prepareForDeletion() {}
  /// Called before the object turns into a fault.
  open func willTurnIntoFault() {}
  /// Called when the object has turned into a fault, to release resources. It must not read properties.
  open func didTurnIntoFault() {}

  /// Adds rules to those of the model for one property. It may change the value, or throw to refuse it.
  ///
  /// Do not call it: call ``validateValue(_:forKey:)``, which checks the model's rules first.
  open func validate(_ value: inout Any?, forKey key: String) throws {}
  /// Checks the object before its first save. An override calls `super` to check the properties, and may throw any
  /// error.
  open func validateForInsert() throws { try validation.validateProperties() }
  /// Checks a changed object before a save.
  open func validateForUpdate() throws { try validation.validateProperties() }
  /// Checks an object before its deletion is saved. By default, it checks that no relationship with the rule Deny
  /// forbids it.
  open func validateForDelete() throws { try validation.validateDeleteRules() }

  // MARK: What higher layers do for it

  private final var validation: any PropertyValidating { self }
  final var fetches: any FetchedPropertyReading { self }
}

/// How the layer of validation checks an object, for the hooks that call it.
protocol PropertyValidating {
  /// Checks every property by the model's rules and the object's own. All failures are reported together.
  func validateProperties() throws
  /// Refuses the deletion while a relationship with the rule Deny leads to objects that remain.
  func validateDeleteRules() throws
}

/// How the layer of fetches reads a property whose value is the result of a fetch.
protocol FetchedPropertyReading {
  /// Returns the objects of a fetched property: fetched on first access, then kept until the object is refreshed.
  func fetchedObjects(_ p: Int) throws(ManagedObjectError) -> [ManagedObject]
}

/// Rarely needed parts of an object.
final class ObjectExtras {
  /// Records the accesses to a placeholder object: a ``PropertyProbe``.
  weak var recorder: AnyObject?
  /// The name of the temporary ID, once it was requested.
  var temporaryName: UUID?
  /// In a child context, the object of the parent that this one represents.
  var parentObject: ManagedObject?
  var gone: ManagedObjectError.UnavailableReason?
  /// Its ID when it became unavailable.
  var lastID: ManagedObjectID?
  var accessError: ManagedObjectError?
  /// The values that transformers created from stored bytes, by property.
  var transformed: [Int: Any] = [:]
  /// The objects of fetched properties, by property.
  var fetched: [Int: [ManagedObject]] = [:]
  /// Who observes its properties.
  var registrar: ObservationRegistrar?
  /// The relationship through which it was last reached, as text.
  var reachedBy: String?
}

struct WeakObject {
  weak var object: ManagedObject?
}

extension ManagedObject: Hashable {
  /// Objects are equal if they are identical.
  public static func == (one: ManagedObject, other: ManagedObject) -> Bool { one === other }
  public final func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject: CustomStringConvertible {
  /// The ID and, unless the object is a fault, its attributes. Never fetches.
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

/// Where an object comes from and goes, and errors of reaching it.
extension ManagedObject {
  final func forgetInitialValues() {
    flags.remove(.realized)
    edits = nil
  }

  /// Called when the object leaves its context.
  final func abandon(_ reason: ManagedObjectError.UnavailableReason) {
    willChangeAllObserved()
    let extras = needExtras()
    // It keeps the ID that it had.
    if extras.parentObject != nil
      || reference != nil && cache != nil && (!flags.contains(.inserted) || flags.contains(.permanent))
    {
      extras.lastID = objectID
    }
    cache?.unregister(self)
    if let context, !context.retained.isEmpty { context.retained[ObjectIdentifier(self)] = nil }
    context = nil
    cache = nil
    base = nil
    edits = nil
    overlay = nil
    held = nil
    flags = []
    position = -1
    extras.gone = reason
    extras.parentObject = nil
    extras.fetched = [:]
    extras.transformed = [:]
  }

  final func unavailable(_ reason: ManagedObjectError.UnavailableReason) -> ManagedObjectError {
    let name = extras?.lastID?.entityName ?? plan.name
    var message = "\(name)/\(reference.map(\.description) ?? "new") \(reason.text)"
    if let way = extras?.reachedBy { message += "; it was reached by \(way)" }
    return ManagedObjectError(
      .managedObjectReferentialIntegrity, message, objectID: objectID, entityName: name, reason: reason)
  }

  /// Records an error of a property access that cannot throw it.
  final func record(_ error: ManagedObjectError) {
    needExtras().accessError = error
    context?.record(error)
    if error.reason == .contextGone { ReleasedContexts.report(error) }
  }

  final func refuse(_ error: ManagedObjectError) {
    record(error)
    context?.refusedAssignments.append(error)
  }

  /// Whether its values can be read or fetched. Does not record an error.
  final var isReachable: Bool {
    if flags.contains(.realized) { return true }
    return (try? realize()) != nil
  }

  /// An order of objects that depends only on the objects: saved ones by reference, then new ones by insertion.
  static func precedes(_ one: ManagedObject, _ other: ManagedObject) -> Bool {
    switch (one.reference, other.reference) {
    case (let a?, let b?): a == b ? one.plan.index < other.plan.index : a < b
    case (_?, nil): true
    case (nil, _?): false
    case (nil, nil): one.position < other.position
    }
  }

  /// The entity's name and the reference, for messages.
  final var rowName: String { "\(plan.name)/\(reference.map(\.description) ?? "new")" }

  /// What happens in this process when a property is read of an object whose context no longer exists.
  /// ``value(forKey:)`` always throws then.
  public static var releasedContextReaction: ReleasedContextReaction {
    get { ReleasedContexts.reaction }
    set { ReleasedContexts.reaction = newValue }
  }
}
