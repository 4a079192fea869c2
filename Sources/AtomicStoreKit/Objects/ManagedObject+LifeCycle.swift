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
}
