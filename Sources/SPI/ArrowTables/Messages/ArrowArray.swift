/// The values of a column in one batch: ranges of the file.
@usableFromInline package struct ArrowArray {
  /// The type of the values.
  let type: ArrowType
  /// The number of rows.
  package let count: Int
  /// How many rows do not have a value: as many as the bits say.
  package let nullCount: Int
  /// A bit for each row, the lowest first, 1 for a value; nil if all rows have one. The last byte may have others.
  @usableFromInline package let validity: UnsafeRawBufferPointer?
  /// For types of variable length, `count + 1` positions in ``values`` or ``item``, ascending.
  let offsets: UnsafeRawBufferPointer
  /// The values: `count` times the type's width, a bit each for booleans, and all bytes of text and binary.
  package let values: UnsafeRawBufferPointer
  /// The values of lists; one array or none.
  package let item: [ArrowArray]
  /// Where the column is in the file.
  package let fileOffset: Int
  /// The bytes of an offset; 0 if the type has none. Looking at the type of each row would take most of the time.
  private let offsetWidth: Int

  init(
    type: ArrowType, count: Int, nullCount: Int, validity: UnsafeRawBufferPointer?, offsets: UnsafeRawBufferPointer,
    values: UnsafeRawBufferPointer, item: [ArrowArray], fileOffset: Int
  ) {
    self.type = type
    self.count = count
    self.nullCount = nullCount
    self.validity = validity
    self.offsets = offsets
    self.values = values
    self.item = item
    self.fileOffset = fileOffset
    offsetWidth = type.offsetWidth ?? 0
  }

  /// Whether a row has a value.
  @inlinable package func isPresent(_ row: Int) -> Bool {
    guard let validity else { return true }
    return validity[row >> 3] & (1 << UInt8(row & 7)) != 0
  }

  /// The position at which the values of a row begin, for types of variable length; of `count`, where the last ends.
  package func start(_ row: Int) -> Int {
    offsetWidth == 8
      ? Int(truncatingIfNeeded: offsets.loadUnaligned(fromByteOffset: row * 8, as: Int64.self))
      : Int(offsets.loadUnaligned(fromByteOffset: row * 4, as: Int32.self))
  }
}
