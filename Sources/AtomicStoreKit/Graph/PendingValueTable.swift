/// A table of the values of objects with changes, which a context keeps for its fetches.
protocol PendingValueTable: AnyObject {
  /// Called when a value is set in an object whose values are in the table (``ManagedObject/Flags/indexed``).
  func noteChange(of object: ManagedObject)
}
