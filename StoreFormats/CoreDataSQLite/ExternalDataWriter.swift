import AtomicStoreSPI
import FoundationEssentials

/// Writes the cells of binary attributes that allow external storage: the data with a mark before them, or the name of
/// a file beside the store that has them.
struct ExternalDataWriter {
  /// Values of more bytes are put into files. No file says from which size on Core Data does; it reads both forms at
  /// any size.
  static let largestInline = 128 << 10

  private let writesFiles: Bool
  /// The name of the file of a value.
  private let name: (_ table: Int64, _ column: Int, _ key: Int64) -> String
  private let write: (_ name: String, UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void

  /// For a new store.
  init(_ files: StagedFiles, uuid: UUID, isAllowed: Bool) {
    writesFiles = isAllowed && files.hasCompanions
    name = { Self.name(in: uuid, $0, $1, $2).uuidString }
    write = { (name, bytes) throws(PersistentStoreError) in
      try files.writeCompanion(name, in: ExternalData.directory(of: files.fileName), bytes)
    }
  }

  /// For a store that is changed: a new value gets a new file, and the old file is there until the change is.
  init(
    changing isAllowed: Bool, _ write: @escaping (String, UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void
  ) {
    writesFiles = isAllowed
    name = { _, _, _ in UUID().uuidString }
    self.write = write
  }

  /// The cell for a value.
  ///
  /// - Parameters:
  ///   - table: the number of the table's root entity.
  ///   - column: the position of the column in the table.
  ///   - key: the row's.
  /// - Throws: as ``StagedFiles/writeCompanion(_:in:_:)``.
  func cell(
    _ value: UnsafeRawBufferPointer, table: Int64, column: Int, key: Int64
  ) throws(PersistentStoreError) -> [UInt8] {
    guard writesFiles, value.count > Self.largestInline else { return [ExternalData.inlineMark] + value }
    let name = name(table, column, key)
    try write(name, value)
    return [ExternalData.fileMark] + Array(name.utf8) + [0]
  }

  /// A name that no other value of the store has, and the same one whenever the store is written.
  private static func name(in store: UUID, _ table: Int64, _ column: Int, _ key: Int64) -> UUID {
    let store = store.uuid
    func byte<Number: BinaryInteger>(_ number: Number, _ shift: Int) -> UInt8 {
      UInt8(truncatingIfNeeded: number >> Number(shift))
    }
    // Version 8 and its variant leave 122 bits: of the store's identifier, the table, the column and the key.
    return UUID(
      uuid: (
        store.0, store.1, store.2, store.3, byte(table, 8), byte(table, 0), 0x80 | byte(column, 8) & 0x0F,
        byte(column, 0), 0x80 | byte(key, 56) & 0x3F, byte(key, 48), byte(key, 40), byte(key, 32), byte(key, 24),
        byte(key, 16), byte(key, 8), byte(key, 0)
      ))
  }
}
