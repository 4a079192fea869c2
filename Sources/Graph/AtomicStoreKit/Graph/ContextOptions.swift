/// Settings of a context that most contexts do not change.
struct ContextOptions {
  var userInfo: [String: Any] = [:]
  var transactionAuthor: String?
  /// Whether results that follow the context were fetched: they also have to know of objects that it has not read.
  var hasLiveResults = false
  /// Whether it makes the changes of a batch: programs do not see it.
  var isBatch = false
  var conflictResolver: (any ConflictResolver)?
  var threadCheck: ThreadCheck?
  /// The saves of other contexts that are merged automatically.
  var inbox: SaveInbox?
  /// For a child context that merges the changes of its parent.
  var parentObservation: AnyObject?
  /// What lets the main actor merge automatically.
  var mainActorHolder: AnyObject?
  /// In a child context: new objects that were given permanent IDs before they were saved to the parent.
  var newWithPermanentIDs: [ManagedObjectID: WeakObject] = [:]
  /// The versions that the context is pinned to.
  var generation: QueryGenerationToken?
}

extension ManagedObjectContext {
  /// Values that the program stores with the context. The kit does not use them.
  public var userInfo: [String: Any] {
    get { options.userInfo }
    set { options.userInfo = newValue }
  }

  /// A name for what makes the changes, such as `import`. Other contexts find it in the
  /// ``ObjectIDChanges/transactionAuthor`` of a save, to tell apart who saved.
  public var transactionAuthor: String? {
    get { options.transactionAuthor }
    set { options.transactionAuthor = newValue }
  }

  /// Decides about conflicts instead of ``mergePolicy``; nil, the default, leaves them to the merge policy. A child
  /// context has no conflicts, so it does not use it.
  public var conflictResolver: (any ConflictResolver)? {
    get { options.conflictResolver }
    set { options.conflictResolver = newValue }
  }

  /// A check that the context and its objects are used on one thread only; nil, the default, checks nothing.
  ///
  /// Code in Swift 6 mode does not need it: the compiler keeps a context where it is. It is for code in Swift 5 mode.
  public var threadCheck: ThreadCheck? {
    get { options.threadCheck }
    set { options.threadCheck = newValue }
  }

  /// Reports the use of the context on a thread that its check forbids.
  func checkThread() { options.threadCheck?.check(name) }
}
