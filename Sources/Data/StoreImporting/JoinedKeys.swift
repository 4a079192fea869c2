import AtomicStoreSPI

/// Keys of objects that a join table connects with others.
struct JoinedKeys {
  /// The keys that one key is connected with, in the order of the pairs.
  private struct Others {
    var list: [ReferenceObject] = []
    /// The same, if there are many.
    var known: Set<ReferenceObject>?
    var isUsed = false

    mutating func add(_ key: ReferenceObject) {
      // Bound to a name, the set would be copied when it is changed.
      if known != nil {
        guard known?.insert(key).inserted == true else { return }
      } else if list.contains(key) {
        return
      }
      list.append(key)
      if known == nil, list.count > 8 { known = Set(list) }
    }
  }

  let join: Int
  /// The first table of its entity, for messages.
  let table: Int
  let slot: Int
  let destinationRoot: Int
  private var keys: [ReferenceObject: Others] = [:]
  /// How many keys were those of records.
  private(set) var usedCount = 0

  init(join: Int, table: Int, slot: Int, destinationRoot: Int) {
    self.join = join
    self.table = table
    self.slot = slot
    self.destinationRoot = destinationRoot
  }

  /// How many keys there are.
  var count: Int { keys.count }

  /// The keys that are not those of records, with the others, in ascending order.
  var unused: [(key: ReferenceObject, others: [ReferenceObject])] {
    guard usedCount < keys.count else { return [] }
    return keys.filter { !$0.value.isUsed }.map { ($0.key, $0.value.list) }.sorted { $0.key < $1.key }
  }

  /// Adds a pair, once.
  mutating func add(_ other: ReferenceObject, for key: ReferenceObject) { keys[key, default: Others()].add(other) }

  /// The keys that a record's key is connected with; nil if the table does not have it.
  mutating func use(_ key: ReferenceObject) -> [ReferenceObject]? {
    guard let index = keys.index(forKey: key) else { return nil }
    if !keys.values[index].isUsed { usedCount += 1 }
    keys.values[index].isUsed = true
    return keys.values[index].list
  }
}
