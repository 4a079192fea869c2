/// Rows of one entity that become a record batch.
package struct ArrowRows: Sendable {
  /// The entity's rows.
  let reader: EntityReader
  /// The rows in their order; nil for all of them.
  let rows: [Int]?

  /// Rows of an entity: all of them, or those listed.
  package init(_ reader: EntityReader, rows: [Int]? = nil) {
    self.reader = reader
    self.rows = rows
  }

  /// The number of rows.
  package var count: Int { rows?.count ?? reader.count }

  /// Calls `body` with each index in the batch and its row in the entity.
  @inline(__always) func forEach(_ body: (_ index: Int, _ row: Int) -> Void) {
    if let rows {
      for index in 0..<rows.count { body(index, rows[index]) }
    } else {
      for row in 0..<reader.count { body(row, row) }
    }
  }
}

/// The bits of rows that have a value.
struct ValidityBits {
  private var bits: [UInt8]
  private let count: Int
  private var present = 0

  init(count: Int) {
    bits = [UInt8](repeating: 0, count: (count + 7) / 8)
    self.count = count
  }

  @inline(__always) mutating func set(_ index: Int) {
    bits[index >> 3] |= 1 << UInt8(truncatingIfNeeded: index & 7)
    present += 1
  }

  var nullCount: Int { count - present }
  /// Empty if all rows have a value.
  var buffer: ArrowBuffer { present == count ? .empty : .bytes(bits) }
}

/// A column of an Arrow table: its field, and how its values are encoded. The type can depend on all of its values.
package struct ArrowColumn {
  /// The name, type and metadata.
  package var field: ArrowField
  /// Encodes the rows of a batch, by its index.
  let encode: (_ batch: Int) -> ArrowColumnData

  init(_ field: ArrowField, _ encode: @escaping (_ batch: Int) -> ArrowColumnData) {
    self.field = field
    self.encode = encode
  }

  /// The values of a batch.
  package func data(batch: Int) -> ArrowColumnData { encode(batch) }
}

/// The keys of the metadata that says what the model says of a column.
package enum ArrowKey {
  /// The type of an attribute, as in model files, or `Reference`, `To-one`, `To-many`.
  package static let type = "atomicstore.type"
  /// `false` for a property that the model requires.
  package static let optional = "atomicstore.optional"
  /// The name of a relationship's destination entity.
  package static let destination = "atomicstore.destination"
  /// The name of a relationship's inverse.
  static let inverse = "atomicstore.inverse"
  /// `true` for an ordered relationship.
  static let ordered = "atomicstore.ordered"
  /// `trimmed` for decimals that were written with a greater scale than they have: without trailing zeros.
  package static let decimals = "atomicstore.decimals"
  /// `typed` for references that are texts with a kind, `integer:5` and `string:abc`.
  package static let references = "atomicstore.references"
  /// In the schema: the name of the entity.
  package static let entity = "atomicstore.entity"
  /// In the schema: the UUID of the store that the references are of.
  package static let store = "atomicstore.store"
  /// Of Arrow: what marks 16 bytes as a UUID.
  static let uuidExtension = [
    ArrowMetadataEntry("ARROW:extension:name", "arrow.uuid"), ArrowMetadataEntry("ARROW:extension:metadata", ""),
  ]
}
