import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreJSON

/// A request that writes a store: the kit sends the objects, and stages the bytes that the program answers with.
final class ProgramWriting {
  private let files: StagedFiles
  private let layout: StoreLayout
  private var file: StagedFile?
  private var members: [ScalarString: StagedFile] = [:]

  /// How much is sent before answers are read.
  private static let greatestBacklog = 1 << 19
  private static let leastSent = 1 << 16
  private let encoding: GraphEncoding
  private let limits: ProgramLimits

  init(_ files: StagedFiles, _ layout: StoreLayout, _ encoding: GraphEncoding, _ limits: ProgramLimits) {
    self.files = files
    self.layout = layout
    self.encoding = encoding
    self.limits = limits
  }

  func save(
    _ snapshot: StoreSnapshot, _ options: StoreOptions, _ connection: ProgramConnection
  ) throws(PersistentStoreError) {
    let (nodes, metadata) = (snapshot.nodes, snapshot.metadata)
    if layout == .file { file = try files.file() }
    let count = nodes.model.entities.reduce(0) { $0 + nodes.count(of: $1.index) }
    let writer = ByteWriter()
    try begin(metadata, nodes, count, options, writer)
    guard writer.byteCount <= limits.sentMessage else {
      throw ProgramLimits.tooLong("metadata and model", "a message", limits.sentMessage, StoreLocation())
    }
    connection.send(writer.takeBytes())
    switch encoding {
    case .json: try sendObjects(nodes, connection)
    case .arrow:
      try ProgramTables.send(nodes, connection, limits) { () throws(PersistentStoreError) in
        try self.takeAnswers(connection)
      }
    }
    connection.send(Request.bytes(.object([("end", .integer(count))])))
    while try !isDone(try ProgramMessage(from: connection), connection) {}
  }

  private func sendObjects(_ nodes: NodeTable, _ connection: ProgramConnection) throws(PersistentStoreError) {
    let (writer, limit) = (ByteWriter(), limits.sentMessage)
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      for row in 0..<reader.count {
        let start = writer.byteCount
        ObjectMessage.append(row, of: entity, reader, nodes, to: writer)
        guard writer.byteCount - start <= limit else {
          throw ProgramLimits.tooLong(
            "the object", "a message", limit,
            StoreLocation(entity: entity.name, reference: reader.reference(row: row).description))
        }
        guard writer.byteCount >= Self.leastSent else { continue }
        connection.send(writer.takeBytes())
        try takeAnswers(connection)
      }
    }
    connection.send(writer.takeBytes())
  }

  /// Does what the program says while much of what it is sent waits to be read.
  private func takeAnswers(_ connection: ProgramConnection) throws(PersistentStoreError) {
    while connection.backlog > Self.greatestBacklog {
      guard let line = try connection.messageIfAny() else { continue }
      if try isDone(try ProgramMessage(line, connection), connection) {
        throw connection.failure("says that it is done before it was sent all objects")
      }
    }
  }

  private func begin(
    _ metadata: StoreMetadata, _ nodes: NodeTable, _ count: Int, _ options: StoreOptions, _ writer: ByteWriter
  ) throws(PersistentStoreError) {
    writer.append(Array(Request.line("save", Request.options(options) + encoding.members).dropLast(2)))
    writer.append(",\"entities\":")
    Request.entities(nodes.model).write(to: writer, indent: nil)
    writer.append(",\"objects\":")
    writer.append(integer: Int64(count))
    writer.append(",\"metadata\":{\"uuid\":\"")
    writer.append(metadata.uuid.uuidString)
    writer.append("\",\"last\":")
    ProgramValues.append(metadata.lastReference, to: writer)
    writer.append(",\"entries\":")
    writer.append(try PropertyListValue.dictionary(metadata.entries).typedText)
    if let model = metadata.model {
      writer.append(",\"model\":")
      writer.append(try model.propertyList.typedText)
    }
    writer.append("}}\n")
  }

  /// Does what a message says.
  ///
  /// - Returns: Whether it is the last one.
  private func isDone(
    _ message: ProgramMessage, _ connection: ProgramConnection
  ) throws(PersistentStoreError) -> Bool {
    try message.throwError(in: nil)
    if message.value["write"] != nil {
      try message.requireOnly(["write", "member"])
      let file = try target(try message.optionalString("member"), message)
      try connection.bytes(try message.count("write")) { bytes throws(PersistentStoreError) in try file.write(bytes) }
      return false
    }
    try message.requireOnly(["saved"])
    guard try message.optionalBoolean("saved") == true else { throw message.failure("wrote neither bytes nor 'saved'") }
    return true
  }

  private func target(_ member: String?, _ message: ProgramMessage) throws(PersistentStoreError) -> StagedFile {
    switch (file, member) {
    case (let file?, nil): return file
    case (nil, let member?):
      if let known = members[ScalarString(member)] { return known }
      let new = try files.member(member)
      members[ScalarString(member)] = new
      return new
    default:
      throw message.failure(
        "wrote bytes of \(member == nil ? "a directory without a 'member'" : "a 'member' of a file")")
    }
  }
}
