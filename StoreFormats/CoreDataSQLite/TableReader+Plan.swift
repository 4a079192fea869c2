import AtomicStoreSPI

/// What is read of the rows of each entity.
extension TableReader {
  /// One property of one entity and the column that it comes from.
  struct Field {
    let kind: StoredValue.Kind
    /// Whether the value may be in a file beside the store.
    var isExternal = false
    let column: Int32
    let slot: Int
    /// The member list that the reference is an entry of, where the inverse is a to-many.
    var list: Int?
    /// The column with the order key in that list.
    var orderColumn: Int32?
  }

  /// A to-many without inverse whose members are in this table.
  struct OwnerField {
    let column: Int32
    let orderColumn: Int32?
    let list: Int
  }

  struct EntityPlan {
    let entity: Int
    var fields: [Field] = []
    var owners: [OwnerField] = []
  }
}
