import FoundationEssentials

/// Sixteen bytes as they are in a cell.
struct UUIDBytes: BitwiseCopyable {
  let bytes: uuid_t
  var uuid: UUID { UUID(uuid: bytes) }
}

enum DataBytes {
  static func data(_ bytes: UnsafeRawBufferPointer) -> Data { Data(bytes) }
}
