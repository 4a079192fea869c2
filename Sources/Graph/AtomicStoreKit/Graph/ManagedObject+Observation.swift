import AtomicStoreSPI
public import Observation

/// Properties take part in Observation: reading one inside `withObservationTracking` observes it, and `onChange` is
/// called before its value changes: by the program, undo, redo, a merge, a refresh, a rollback, or because the object
/// was deleted and saved.
///
/// ```swift
/// withObservationTracking {
///   label.text = employee.name
/// } onChange: {
///   Task { @MainActor in label.needsUpdate = true }
/// }
/// ```
///
/// Reads by `value(forKey:)`, by subscript and by ``Managed`` properties count; predicates and sorting do not.
/// `onChange` is called in the middle of the change, so it must not use the context. An object that no one observes
/// costs nothing more when it changes.
extension ManagedObject: Observable {}

extension ManagedObject {
  /// Stands for the property of that number, for Observation only.
  private final subscript(observed p: Int) -> Bool { false }

  /// Key paths are created once, since creating one allocates.
  private static let keyPaths: [any KeyPath<ManagedObject, Bool> & Sendable] = (0..<64).map { makeKeyPath($0) }

  private static func makeKeyPath(_ p: Int) -> any KeyPath<ManagedObject, Bool> & Sendable {
    \ManagedObject[observed: p]
  }

  private static func keyPath(_ p: Int) -> any KeyPath<ManagedObject, Bool> & Sendable {
    p < keyPaths.count ? keyPaths[p] : makeKeyPath(p)
  }

  /// Called when the program reads a property.
  @inline(__always) final func noteAccess(_ p: Int) {
    // Neither the context nor the probe is retained: retaining and releasing them would cost more than the read.
    guard let context = contextReference, let probe = context._withUnsafeGuaranteedRef({ $0.probeReference }) else {
      return
    }
    if probe._withUnsafeGuaranteedRef({ $0.isTracking }) { track(p) }
  }

  /// As ``isReadable()``, for a property that the program reads.
  @inline(__always) final func isReadable(_ p: Int) -> Bool {
    noteAccess(p)
    return isReadable()
  }

  private final func track(_ p: Int) {
    let extras = needExtras()
    let registrar = extras.registrar ?? ObservationRegistrar()
    extras.registrar = registrar
    flags.insert(.observed)
    registrar.access(self, keyPath: Self.keyPath(p))
    for part in plan.properties[p].parts { registrar.access(self, keyPath: Self.keyPath(part)) }
  }

  /// Called before a property changes.
  @inline(__always) final func willChangeObserved(_ p: Int) {
    if flags.contains(.observed) { report(p) }
  }

  private final func report(_ p: Int) { extras?.registrar?.willSet(self, keyPath: Self.keyPath(p)) }

  /// Called before any property may change.
  final func willChangeAllObserved() {
    guard flags.contains(.observed) else { return }
    for p in plan.properties.indices { report(p) }
  }

  /// Called before the object reads another version of its store: reports the properties whose values differ there.
  final func willMoveObserved(to version: NodeVersion, _ other: NodeHandle) {
    guard flags.contains(.observed), let base, base !== version else { return }
    for property in plan.properties where property.slot >= 0 {
      switch edits?[property.index] ?? overlay?[property.index] {
      // The change made here stays, whatever the store has.
      case .stored?, .object?, .transient?: continue
      case .changes?, .ordered?, nil: break
      }
      if base.differs(slot: plan.entity.slots[property.slot], of: node, from: version, other) {
        report(property.index)
      }
    }
  }
}

extension ManagedObjectContext {
  /// Whether reading properties of its objects inside `withObservationTracking` observes them. True by default, but
  /// false for the context of a ``BackgroundContext``. Turn it off for a context whose objects no one observes and that
  /// reads very many values, since each read asks whether it is observed.
  public var isObservable: Bool {
    get { accessProbe != nil }
    set { accessProbe = newValue ? accessProbe ?? AccessProbe() : nil }
  }
}
