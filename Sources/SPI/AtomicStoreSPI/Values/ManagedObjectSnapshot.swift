/// The state of an object in its context, passed to a format that creates a reference or node, or updates values.
public struct ManagedObjectSnapshot: Sendable {
  /// The number of the concrete entity.
  public var entity: Int
  /// The object's reference; nil until the store has assigned one.
  public var reference: ReferenceObject?
  /// The values by slot. A missing slot has not changed; for a new object, it is null.
  public var values: SlotValues

  /// Creates a snapshot; by default without a reference and without values.
  public init(entity: Int, reference: ReferenceObject? = nil, values: SlotValues = [:]) {
    self.entity = entity
    self.reference = reference
    self.values = values
  }
}

/// Values by slot, for some of the slots: a dictionary implemented as an array.
public struct SlotValues: Sendable, ExpressibleByDictionaryLiteral, Sequence {
  private var cells: ContiguousArray<StoredValue?> = []

  /// Creates a value without slots.
  public init() {}
  public init(dictionaryLiteral elements: (Int, StoredValue)...) {
    for (slot, value) in elements { self[slot] = value }
  }

  /// Reserves room for that many slots.
  public init(slotCount: Int) { cells = ContiguousArray(repeating: nil, count: slotCount) }

  /// The value of a slot; nil if it is missing. Slots must not be negative.
  public subscript(slot: Int) -> StoredValue? {
    get { slot >= 0 && slot < cells.count ? cells[slot] : nil }
    set {
      precondition(slot >= 0, "a slot must not be negative")
      while cells.count <= slot { cells.append(nil) }
      cells[slot] = newValue
    }
  }

  /// The slots that have a value here, in ascending order.
  public var slots: [Int] { cells.indices.filter { cells[$0] != nil } }

  /// One more than the greatest slot that may have a value here: a loop over the slots allocates nothing.
  package var slotLimit: Int { cells.count }

  public func makeIterator() -> AnyIterator<(slot: Int, value: StoredValue)> {
    var next = 0
    return AnyIterator {
      while next < cells.count {
        defer { next += 1 }
        if let value = cells[next] { return (next, value) }
      }
      return nil
    }
  }
}
