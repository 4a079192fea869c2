package import AtomicStoreSPI

/// A value as the column has it. Bytes are those of the column, valid as long as its store's version.
package enum RowCell: BitwiseCopyable {
  case null
  case boolean(Bool)
  case integer(Int64)
  case double(Double)
  /// In seconds since 2001-01-01T00:00:00Z.
  case date(Double)
  /// The UTF-8 of a string or URI.
  case text(UnsafeBufferPointer<UInt8>)
  /// The exact text of a decimal number.
  case decimal(UnsafeBufferPointer<UInt8>)
  case data(UnsafeBufferPointer<UInt8>)
  case object(NodeHandle)
  /// The objects of a to-many.
  case objects(UnsafeBufferPointer<NodeHandle>)
  /// Any other value: ask the row for it by the number of the column.
  case other
}

/// The name of an object's entity and its reference.
package struct RowObjectName {
  package let entity: UnsafeBufferPointer<UInt8>
  package let number: Int64
  /// The UTF-8 of a string reference; nil if the number is the reference.
  package let text: UnsafeBufferPointer<UInt8>?
}
