import ArrowTables
import AtomicStoreSPI
import StoreJSON

/// Objects as Arrow streams, one for each entity that has any. A stream is sent in frames:
/// `{"table":"Person","objects":100,"bytes":4096}` and so many bytes, which follow those of the frame before.
final class ProgramTables {
  private let entity: String
  private let count: Int
  private let connection: ProgramConnection
  private let limits: ProgramLimits
  private let takeAnswers: () throws(PersistentStoreError) -> Void
  private var waiting: [UInt8] = []
  private var total = 0

  private init(
    _ entity: String, _ count: Int, _ connection: ProgramConnection, _ limits: ProgramLimits,
    _ takeAnswers: @escaping () throws(PersistentStoreError) -> Void
  ) {
    self.entity = entity
    self.count = count
    self.connection = connection
    self.limits = limits
    self.takeAnswers = takeAnswers
  }

  /// Sends the objects of all entities.
  ///
  /// - Parameter takeAnswers: Called after each frame, so that a program may write before it has read everything.
  static func send(
    _ nodes: NodeTable, _ connection: ProgramConnection, _ limits: ProgramLimits,
    _ takeAnswers: @escaping () throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    let references = ArrowReferences(nodes)
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 {
      let table = ProgramTables(entity.name, nodes.count(of: entity.index), connection, limits, takeAnswers)
      try ArrowWriter.write(.stream, entity, nodes, references) { bytes throws(PersistentStoreError) in
        try table.append(bytes)
      }
      try table.sendFrame()
    }
  }

  private func append(_ bytes: UnsafeRawBufferPointer) throws(PersistentStoreError) {
    total += bytes.count
    guard total <= limits.sentTable else {
      throw ProgramLimits.tooLong(
        "the objects of the entity", "an Arrow stream", limits.sentTable, StoreLocation(entity: entity))
    }
    var rest = bytes[...]
    while !rest.isEmpty {
      let part = rest.prefix(limits.frame - waiting.count)
      waiting.append(contentsOf: part)
      rest = rest.dropFirst(part.count)
      if waiting.count == limits.frame { try sendFrame() }
    }
  }

  /// Sends what was appended since the last frame.
  private func sendFrame() throws(PersistentStoreError) {
    guard !waiting.isEmpty else { return }
    let size = JSONValue.integer(waiting.count)
    connection.send(
      Request.bytes(.object([("table", .string(entity)), ("objects", .integer(count)), ("bytes", size)])))
    connection.send(waiting)
    waiting.removeAll(keepingCapacity: true)
    try takeAnswers()
  }
}
