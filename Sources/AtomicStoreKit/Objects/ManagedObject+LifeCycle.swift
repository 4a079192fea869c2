import AtomicStoreSPI

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
    if error.reason == .contextGone { OutlivedContexts.report(error) }
  }
}
