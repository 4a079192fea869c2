/// What the kit passes along when it asks for a reference, a node, or values: an object as the context has it.
public struct ManagedObjectSnapshot: Sendable {
  /// The number of the concrete entity.
  public var entity: Int
  /// Nil until the store has given one.
  public var reference: ReferenceObject?
  /// By slot; a slot that is absent has not changed, or for a new object is null.
  public var values: SlotValues

  /// Creates a snapshot; by default without a reference and without values.
  public init(entity: Int, reference: ReferenceObject? = nil, values: SlotValues = [:]) {
    self.entity = entity
    self.reference = reference
    self.values = values
  }
}

/// Values by slot, some slots absent: a dictionary that costs an array.
public struct SlotValues: Sendable, ExpressibleByDictionaryLiteral, Sequence {
  private var cells: ContiguousArray<StoredValue?> = []

  /// Creates a value in which all slots are absent.
  public init() {}
  public init(dictionaryLiteral elements: (Int, StoredValue)...) {
    for (slot, value) in elements { self[slot] = value }
  }

  /// Makes room for that many slots.
  public init(slotCount: Int) { cells = ContiguousArray(repeating: nil, count: slotCount) }

  /// Nil where the slot is absent. Slots are 0 and above.
  public subscript(slot: Int) -> StoredValue? {
    get { slot >= 0 && slot < cells.count ? cells[slot] : nil }
    set {
      precondition(slot >= 0, "slots are 0 and above")
      while cells.count <= slot { cells.append(nil) }
      cells[slot] = newValue
    }
  }

  /// The slots that are there, ascending.
  public var slots: [Int] { cells.indices.filter { cells[$0] != nil } }

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
