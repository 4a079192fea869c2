/// Work that waits until the context is not in the middle of something.
extension ManagedObjectContext {
  /// Runs a block: immediately, or, if called inside a hook, an observer or a save, when that has ended. Use it to save
  /// in response to a change notification. If called inside ``ManagedObject/awakeFromFetch()``, it waits until pending
  /// changes are processed, because the fault may have been fired in the middle of another operation.
  public func perform(_ block: @escaping () -> Void) {
    guard calloutDepth == 0, !isProcessing, !isSaving else {
      deferredBlocks.append(block)
      return
    }
    block()
  }

  /// Runs a block at once and returns its result. The context must be used by the caller anyway: this does not wait,
  /// and does not change to another thread. An error keeps its type.
  public func performAndWait<Result, Failure: Error>(_ block: () throws(Failure) -> Result) throws(Failure) -> Result {
    try block()
  }

  func runDeferredBlocks() {
    while calloutDepth == 0, !isProcessing, !isSaving, let block = deferredBlocks.popFirst() { block() }
  }
}
