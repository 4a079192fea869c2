import AtomicStoreSPI

/// A FlatBuffer within a file: every access is checked against its bounds, and what is read in all against its size.
///
/// Tables may share parts, so a small buffer can describe a large tree: each visit takes from ``room``.
final class FlatBufferReader {
  let bytes: UnsafeRawBufferPointer
  /// The offset of the buffer in the file, for errors.
  let fileOffset: Int
  private var room: Int

  init(_ bytes: UnsafeRawBufferPointer, fileOffset: Int) {
    self.bytes = bytes
    self.fileOffset = fileOffset
    // Without shared parts, everything is visited once.
    room = bytes.count * 4 + 1024
  }

  func malformed(_ what: String, at position: Int) -> PersistentStoreError {
    PersistentStoreError(.malformed, what, at: StoreLocation(offset: fileOffset + position))
  }

  func take(_ count: Int, at position: Int) throws(PersistentStoreError) {
    room -= count
    guard room >= 0 else { throw malformed("the metadata shares its parts too often", at: position) }
  }

  func number<Number: FixedWidthInteger & BitwiseCopyable>(
    at position: Int, as type: Number.Type
  ) throws(PersistentStoreError) -> Number {
    guard position >= 0, position <= bytes.count - MemoryLayout<Number>.size else {
      throw malformed("the metadata ends within a number", at: min(max(position, 0), bytes.count))
    }
    return Number(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: type))
  }

  /// The position that the reference at `position` leads to.
  func target(of position: Int) throws(PersistentStoreError) -> Int {
    let distance = Int(try number(at: position, as: UInt32.self))
    guard distance >= 4, position + distance <= bytes.count - 4 else {
      throw malformed("a reference of the metadata leads out of it", at: position)
    }
    return position + distance
  }

  func root() throws(PersistentStoreError) -> FlatBufferTable { try table(at: try target(of: 0)) }

  func table(at position: Int) throws(PersistentStoreError) -> FlatBufferTable {
    try take(8, at: position)
    let layout = position - Int(try number(at: position, as: Int32.self))
    let layoutSize = Int(try number(at: layout, as: UInt16.self))
    let size = Int(try number(at: layout + 2, as: UInt16.self))
    guard layoutSize >= 4, layoutSize % 2 == 0, layout <= bytes.count - layoutSize, size >= 4,
      position <= bytes.count - size
    else { throw malformed("the layout of a table is not valid", at: position) }
    return FlatBufferTable(reader: self, position: position, size: size, layout: layout, layoutSize: layoutSize)
  }
}

/// A table of a FlatBuffer. Fields that are not there have their defaults.
struct FlatBufferTable {
  let reader: FlatBufferReader
  let position: Int
  fileprivate let size: Int
  fileprivate let layout: Int
  fileprivate let layoutSize: Int

  func malformed(_ what: String) -> PersistentStoreError { reader.malformed(what, at: position) }

  private func field(_ id: Int, width: Int) throws(PersistentStoreError) -> Int? {
    let entry = 4 + 2 * id
    guard entry + 2 <= layoutSize else { return nil }
    let offset = Int(try reader.number(at: layout + entry, as: UInt16.self))
    guard offset != 0 else { return nil }
    guard offset >= 4, offset + width <= size else { throw malformed("a field is outside its table") }
    return position + offset
  }

  func number<Number: FixedWidthInteger & BitwiseCopyable>(
    _ id: Int, default value: Number
  ) throws(PersistentStoreError) -> Number {
    guard let place = try field(id, width: MemoryLayout<Number>.size) else { return value }
    return try reader.number(at: place, as: Number.self)
  }

  func isTrue(_ id: Int) throws(PersistentStoreError) -> Bool { try number(id, default: UInt8(0)) != 0 }

  func table(_ id: Int) throws(PersistentStoreError) -> FlatBufferTable? {
    guard let place = try field(id, width: 4) else { return nil }
    return try reader.table(at: try reader.target(of: place))
  }

  func string(_ id: Int) throws(PersistentStoreError) -> String? {
    guard let (start, count) = try vector(id, elementSize: 1) else { return nil }
    let bytes = UnsafeRawBufferPointer(rebasing: reader.bytes[start..<start + count])
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw reader.malformed("a text of the metadata is not UTF-8", at: start)
    }
    return text
  }

  func tables(_ id: Int) throws(PersistentStoreError) -> [FlatBufferTable] {
    guard let (start, count) = try vector(id, elementSize: 4) else { return [] }
    var tables: [FlatBufferTable] = []
    for index in 0..<count { tables.append(try reader.table(at: try reader.target(of: start + index * 4))) }
    return tables
  }

  /// The position and number of a vector's elements.
  func vector(_ id: Int, elementSize: Int) throws(PersistentStoreError) -> (start: Int, count: Int)? {
    guard let place = try field(id, width: 4) else { return nil }
    let start = try reader.target(of: place)
    let count = Int(try reader.number(at: start, as: UInt32.self))
    guard count <= (reader.bytes.count - start - 4) / elementSize else {
      throw reader.malformed("a list of \(count) elements exceeds the metadata", at: start)
    }
    try reader.take(count * elementSize + 4, at: start)
    return (start + 4, count)
  }
}
