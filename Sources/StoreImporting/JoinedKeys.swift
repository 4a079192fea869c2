import AtomicStoreSPI

/// Keys of objects that a join table connects with others.
struct JoinedKeys {
  let join: Int
  let table: Int
  let slot: Int
  let destinationRoot: Int
  private(set) var keys: [ReferenceObject: [ReferenceObject]] = [:]
  /// How many keys were those of records.
  var usedCount = 0

  init(join: Int, table: Int, slot: Int, destinationRoot: Int) {
    self.join = join
    self.table = table
    self.slot = slot
    self.destinationRoot = destinationRoot
  }

  /// Adds a pair, once.
  mutating func add(_ other: ReferenceObject, for key: ReferenceObject) {
    guard !(keys[key]?.contains(other) ?? false) else { return }
    keys[key, default: []].append(other)
  }
}
