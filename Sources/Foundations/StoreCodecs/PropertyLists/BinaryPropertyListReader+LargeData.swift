public import StorePrimitives

/// Large data objects, which a reader of packed columns may read later than the rest of a file.
extension BinaryPropertyListReader {
  /// The marker of a data object whose number of bytes follows as an integer.
  private static let countedData: UInt8 = 0x4F
  /// The markers of the integers that such a number can be: of one, two, four and eight bytes.
  static let countMarkers: ClosedRange<UInt8> = 0x10...0x13
  /// A file with more objects has small columns, or none.
  private static let mostObjects = 1 << 16

  /// Returns where the bytes of large data objects are in a file, in ascending order, from a few short parts of it: the
  /// object table at its end, and the beginning of each object that is followed by enough bytes. Empty if there are
  /// none, or the file is not a binary property list: reading it reports what is wrong.
  ///
  /// - Parameters:
  ///   - size: The size of the file.
  ///   - least: The number of bytes from which on a data object is large.
  ///   - read: Returns the bytes of a range of the file, fewer if it ends before.
  /// - Throws: The errors of `read`.
  public static func largeData(
    inFileOfSize size: Int, atLeast least: Int, _ read: (Range<Int>) throws(PersistentStoreError) -> [UInt8]
  ) throws(PersistentStoreError) -> [Range<Int>] {
    guard size >= headerSize + trailerSize else { return [] }
    let trailer = size - trailerSize
    let end = try read(trailer..<size)
    guard end.count == trailerSize else { return [] }
    let (width, count, table) = end.withUnsafeBytes {
      (Int($0[6]), unsigned($0, at: 8, size: 8), unsigned($0, at: 24, size: 8))
    }
    guard 1...8 ~= width, 1...UInt64(mostObjects) ~= count, table >= UInt64(headerSize), table <= UInt64(trailer),
      UInt64(trailer) - table == count * UInt64(width)
    else { return [] }
    let entries = try read(Int(table)..<trailer)
    guard entries.count == trailer - Int(table) else { return [] }
    var offsets = entries.withUnsafeBytes { entries in
      (0..<Int(count)).map { unsigned(entries, at: $0 * width, size: width) }
    }
    offsets.append(table)
    offsets.sort()
    var found: [Range<Int>] = []
    for (offset, next) in zip(offsets, offsets.dropFirst())
    where offset >= UInt64(headerSize) && next <= table && next - offset >= UInt64(least) {
      let head = try read(Int(offset)..<min(Int(offset) + 10, Int(next)))
      guard let range = dataRange(head, at: Int(offset)), range.count >= least, range.upperBound <= Int(next) else {
        continue
      }
      found.append(range)
    }
    return found
  }

  /// The range of the bytes of a data object of at least fifteen bytes, from its first bytes; nil for other objects.
  private static func dataRange(_ head: [UInt8], at offset: Int) -> Range<Int>? {
    guard head.count >= 2, head[0] == countedData, countMarkers.contains(head[1]) else { return nil }
    let width = 1 << Int(head[1] - countMarkers.lowerBound)
    guard head.count >= 2 + width else { return nil }
    let count = head.withUnsafeBytes { unsigned($0, at: 2, size: width) }
    guard count <= UInt64(UInt32.max) << 16 else { return nil }
    let start = offset + 2 + width
    return start..<start + Int(count)
  }
}
