import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// A save of a context, from its first hook to its end.
final class SaveSession {
  /// The time of the save, for derived attributes, and the objects that already received it.
  let date = Date()
  var derivedNow = ObjectList()
  /// What the derived attributes of the save are computed from.
  var heldInputs: [ManagedObject] = []
  /// The aggregates of members that derived attributes are computed from.
  let aggregates = SavedAggregates()
  /// The steps that the patterns of the model's rules may take.
  let patternBudget = StepBudget()
  /// How often reading rows of incremental stores had failed before.
  let failuresBefore: Int
  /// The state before a merge policy makes changes, for a save that then fails.
  var restorePoint: RestorePoint?
  /// Whether other saves wait for this one: see ``SaveTurns``.
  var holdsTurn = false

  init(failuresBefore: Int) { self.failuresBefore = failuresBefore }
}

/// The aggregates of members that a save computes derived attributes from.
final class SavedAggregates {
  /// An object with a relationship whose members are counted.
  struct Owner: Hashable {
    private let object: ObjectIdentifier
    private let relationship: Int

    init(_ object: ManagedObject, _ relationship: Int) {
      self.object = ObjectIdentifier(object)
      self.relationship = relationship
    }
  }
  struct Key: Hashable {
    private let owner: Owner
    private let expression: FetchExpression

    init(_ owner: Owner, _ expression: FetchExpression) { (self.owner, self.expression) = (owner, expression) }
  }
  /// The changed objects that are members, or were.
  var members: [Owner: ObjectList]?
  /// What stores said of the members that do not change, and which do.
  var unchanged: [Key: (changed: [ManagedObjectID], value: Int128)] = [:]
  /// With the changes.
  var totals: [Key: (owner: ManagedObject, expression: FetchExpression, value: Int128)] = [:]
  /// The row versions of their owners before the save.
  var formerVersions: [ObjectIdentifier: Int64] = [:]
  /// By store: the state of what was known before; nil where nothing may be.
  var states: [ObjectIdentifier: Int?] = [:]
  /// The stores of which something was known, and not asked.
  var used: Set<ObjectIdentifier> = []

  /// To be called when objects have changed.
  func beginPass() { members = nil }

  /// To be called when the store is to be asked again.
  func beginAttempt() {
    (members, unchanged, totals, formerVersions, states, used) = (nil, [:], [:], [:], [:], [])
  }
}

/// The objects and changes of a context before a merge policy changes them. If the save fails after that, they are
/// restored.
struct RestorePoint {
  struct State {
    let object: ManagedObject
    let cache: StoreCache?
    let base: NodeVersion?
    let node: NodeHandle
    let flags: ManagedObject.Flags
    let edits: ContiguousArray<PropertyValue?>?
    let overlay: ContiguousArray<PropertyValue?>?
    let held: ContiguousArray<HeldObjects?>?
    let lastID: ManagedObjectID?
    let parentObject: ManagedObject?
  }
  var states: [State] = []
  var inserted: [ManagedObject] = []
  var updated: [ManagedObject] = []
  var deleted: [ManagedObject] = []
  var undo: UndoHistory.Contents?
}
