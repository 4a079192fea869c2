import AtomicStoreSPI
import StoreCodecs

/// A column of the file, for the rows of an entity that the builder has already.
struct StoredColumn {
  let entity: Entity
  let slot: Slot
  let rows: Int
  let node: PropertyListNode

  /// Whether it consists of data objects only, which can be read without other columns.
  var isPacked: Bool {
    get throws(PersistentStoreError) {
      if case .attribute(.undefined) = slot.kind { return false }
      guard slot.isRelationship else { return true }
      return try node.optional("objects") == nil
    }
  }
}

/// Columns that several threads fill.
///
/// `@unchecked Sendable`: the columns and the bytes of the file are only read, and the bytes outlive the load.
struct PackedColumns: @unchecked Sendable {
  let all: [StoredColumn]
}
