/// The end of the file, which says where the batches are.
struct ArrowFooter {
  struct Block: Equatable {
    var offset: Int
    var metadataLength: Int
    var bodyLength: Int
  }
  /// Where the footer begins.
  var start: Int
  var schema: ArrowSchema
  var blocks: [Block] = []

  init(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    func malformed(_ what: String, _ offset: Int) -> PersistentStoreError {
      PersistentStoreError(.malformed, what, at: StoreLocation(offset: offset))
    }
    let magic = ArrowWriter.magic
    let end = bytes.count - magic.count - 4
    guard end >= magic.count + 2, bytes[(bytes.count - magic.count)...].elementsEqual(magic) else {
      throw malformed("the file does not end with ARROW1: it is not complete", bytes.count)
    }
    let length = Int(Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: end, as: Int32.self)))
    guard length > 0, length <= end - magic.count - 2 else {
      throw malformed("a footer of \(length) bytes does not fit", end)
    }
    start = end - length
    let reader = FlatBufferReader(UnsafeRawBufferPointer(rebasing: bytes[start..<end]), fileOffset: start)
    let table = try reader.root()
    guard let fields = try table.table(1) else { throw malformed("the footer does not have a schema", start) }
    schema = try ArrowSchema(fields)
    if let (_, count) = try table.vector(2, elementSize: 24), count > 0 {
      throw PersistentStoreError(
        .notSupported, "the file has dictionaries, which are not read", at: StoreLocation(offset: start))
    }
    guard let (first, count) = try table.vector(3, elementSize: 24) else { return }
    for index in 0..<count {
      let place = first + index * 24
      blocks.append(
        Block(
          offset: Int(truncatingIfNeeded: try reader.number(at: place, as: Int64.self)),
          metadataLength: Int(try reader.number(at: place + 8, as: Int32.self)),
          bodyLength: Int(truncatingIfNeeded: try reader.number(at: place + 16, as: Int64.self))))
    }
  }
}
