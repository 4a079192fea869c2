import AtomicStoreSPI

/// Undo and redo of a context's changes, in groups.
///
/// It records single steps (a value, one end of a relationship, an insertion, a deletion) as they happen, delete
/// propagation included, so that undoing everything restores exactly the initial graph, and redoing everything the
/// final one. It keeps the objects in it alive. It corresponds to Foundation's `UndoManager`, which does not exist on
/// Linux.
public final class UndoHistory {
  enum Step {
    case inserted(ManagedObject)
    case deleted(ManagedObject)
    case attribute(ManagedObject, Int, StoredValue)
    case transient(ManagedObject, Int, Any?)
    case toOne(ManagedObject, Int, ManagedObject?)
    case added(ManagedObject, Int, ManagedObject, Int?)
    case removed(ManagedObject, Int, ManagedObject, Int?)
    case order(ManagedObject, Int, [ManagedObject])
    /// An action of the program's own.
    case action(() -> Void)
  }
  struct Group {
    var name: String?
    var steps: [Step] = []
  }

  /// Whether the changes between two calls of ``ManagedObjectContext/processPendingChanges()`` form a group. Otherwise,
  /// begin and end each group explicitly.
  public var groupsByEvent = true
  /// The maximum number of groups that are kept; 0 for no limit.
  public var levelsOfUndo = 0 { didSet { trim() } }

  var undoGroups: [Group] = []
  var redoGroups: [Group] = []
  var open = Group()
  var depth = 0
  private var disabled = 0
  var isWorking = false
  /// Whether an action of the program's own runs in an undo or a redo, and what it did: its opposite.
  var isRunningAction = false
  var actionSteps: [Step] = []
  private(set) weak var context: ManagedObjectContext?

  /// Creates an empty history. It records once it is set as a context's `undoManager`.
  public init() {}

  func attach(_ context: ManagedObjectContext) {
    removeAllActions()
    self.context = context
  }
  func detach() {
    removeAllActions()
    context = nil
  }

  /// The complete recorded state.
  struct Contents {
    fileprivate var undoGroups: [Group]
    fileprivate var redoGroups: [Group]
    fileprivate var open: Group
  }
  var contents: Contents {
    get { Contents(undoGroups: undoGroups, redoGroups: redoGroups, open: open) }
    set { (undoGroups, redoGroups, open) = (newValue.undoGroups, newValue.redoGroups, newValue.open) }
  }

  // MARK: Recording

  func log(_ step: Step) {
    // Merges record nothing, also those that happen while an action runs.
    guard disabled == 0 else { return }
    if isRunningAction {
      actionSteps.append(step)
      return
    }
    guard !isWorking else { return }
    if !redoGroups.isEmpty {
      discard(redoGroups)
      redoGroups = []
    }
    open.steps.append(step)
  }

  func holds(_ object: ManagedObject) -> Bool {
    isWorking || !open.steps.isEmpty || !undoGroups.isEmpty || !redoGroups.isEmpty
  }

  /// Stops recording until ``enableUndoRegistration()`` is called the same number of times.
  public func disableUndoRegistration() { disabled += 1 }
  /// Reverts one ``disableUndoRegistration()``. Has no effect if there is none.
  public func enableUndoRegistration() { disabled = max(0, disabled - 1) }
  /// Whether changes are recorded.
  public var isUndoRegistrationEnabled: Bool { disabled == 0 }

  /// Records an action of the program's own in the open group: undo calls it, in order with the other steps of the
  /// group.
  ///
  /// What the action registers, and what it changes in the context, is recorded for redo. An action that changes
  /// something outside the context registers its opposite:
  ///
  /// ```swift
  /// func setZoom(_ zoom: Double) {
  ///   let old = view.zoom
  ///   history.registerUndo { setZoom(old) }
  ///   view.zoom = zoom
  /// }
  /// ```
  ///
  /// The action must not undo, redo, save or reset the context. Without a context the action is recorded, too, in a
  /// group that ``endUndoGrouping()`` or ``undo()`` closes.
  public func registerUndo(_ action: @escaping () -> Void) { log(.action(action)) }

  /// As ``registerUndo(_:)``, with an object that the action works on. The history retains it only weakly: an action
  /// whose target is gone does nothing.
  public func registerUndo<Target: AnyObject>(withTarget target: Target, handler: @escaping (Target) -> Void) {
    registerUndo { [weak target] in if let target { handler(target) } }
  }

  /// Begins a group that lasts until ``endUndoGrouping()``, even if pending changes are processed meanwhile. Groups
  /// nest; undo reverts the outermost as one.
  public func beginUndoGrouping() {
    if depth == 0 { closeOpenGroup() }
    depth += 1
  }

  /// Names the open group, or else the last one.
  public func setActionName(_ name: String) {
    if open.steps.isEmpty, depth == 0, let last = undoGroups.indices.last {
      undoGroups[last].name = name
    } else {
      open.name = name
    }
  }
  /// The name of the group that ``undo()`` would revert; nil if it has no name, or there is no group.
  public var undoActionName: String? { open.steps.isEmpty ? undoGroups.last?.name : open.name }
  /// The name of the group that ``redo()`` would perform again; nil if it has no name, or there is no group.
  public var redoActionName: String? { redoGroups.last?.name }

  func endEvent() { if groupsByEvent, depth == 0, !isWorking { closeOpenGroup() } }

  func closeOpenGroup() {
    guard !open.steps.isEmpty else { return }
    undoGroups.append(open)
    open = Group()
    trim()
  }

  private func trim() {
    guard levelsOfUndo > 0, undoGroups.count > levelsOfUndo else { return }
    let surplus = undoGroups.count - levelsOfUndo
    discard(undoGroups.prefix(surplus))
    undoGroups.removeFirst(surplus)
  }

  /// Removes all groups, and releases the objects that only the history kept alive.
  public func removeAllActions() {
    discard(undoGroups)
    discard(redoGroups)
    discard(CollectionOfOne(open))
    undoGroups = []
    redoGroups = []
    open = Group()
    depth = 0
  }

  /// Releases the values of objects that only these groups could have restored, and thereby their references to each
  /// other.
  private func discard(_ groups: some Collection<Group>) {
    for group in groups {
      for case .deleted(let object) in group.steps where object.context == nil {
        object.edits = nil
        object.overlay = nil
        object.base = nil
      }
    }
  }

  // MARK: Undo and redo

  /// Whether ``undo()`` would revert anything.
  public var canUndo: Bool { !undoGroups.isEmpty || !open.steps.isEmpty }
  /// Whether ``redo()`` would perform anything again. A new change clears the redo groups.
  public var canRedo: Bool { !redoGroups.isEmpty && open.steps.isEmpty }
  /// Whether an undo or a redo is running.
  public var isUndoing: Bool { isWorking }
}
