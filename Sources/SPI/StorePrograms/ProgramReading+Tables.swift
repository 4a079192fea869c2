import ArrowTables
import AtomicStoreSPI
import StoreJSON

extension ProgramReading {
  /// Reads the tables that answer a request to load: see ``ProgramTables``.
  func tables(_ connection: ProgramConnection, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var count = 0
    var known: Set<ScalarString> = []
    var table: Table?
    while true {
      let message = try message(connection)
      let name = try Self.tableName(message)
      if let complete = table, name.map({ ScalarString($0) != ScalarString(complete.entity) }) ?? true {
        table = nil
        // What the program reports is the reason why the last stream has no end.
        if name == nil { try finish(message, connection, "objects") }
        do throws(PersistentStoreError) { count += try load(complete, connection, into: nodes) } catch {
          if name != nil, connection.isRunning, try skip(message, connection) { try readOn(connection) }
          throw error
        }
      }
      guard let name else { return try finish(message, connection, objects: count) }
      if table == nil {
        guard known.insert(ScalarString(name)).inserted else {
          throw message.failure("wrote the objects of \(TerminalText.escaped(name)) twice")
        }
      }
      let objects = try message.count("objects")
      guard table.map({ $0.count == objects }) ?? true else {
        throw message.failure("wrote two numbers of objects for the table of \(TerminalText.escaped(name))")
      }
      let before = table?.bytes ?? []
      table = nil
      table = Table(entity: name, count: objects, bytes: try bytes(message, connection, after: before, of: name))
    }
  }

  /// The stream of an entity, as far as it was read.
  private struct Table {
    let entity: String
    /// The number of its objects, as the program says.
    let count: Int
    let bytes: [UInt8]
  }

  /// The entity of a frame; nil for another message.
  private static func tableName(_ message: ProgramMessage) throws(PersistentStoreError) -> String? {
    guard message.value["table"] != nil else { return nil }
    try message.requireOnly(["table", "objects", "bytes"])
    guard let name = try message.optionalString("table") else {
      throw message.failure("wrote a message whose 'table' is not a text")
    }
    return name
  }

  /// Reads the bytes of a frame, and appends them to those before.
  private func bytes(
    _ message: ProgramMessage, _ connection: ProgramConnection, after before: consuming [UInt8], of entity: String
  ) throws(PersistentStoreError) -> [UInt8] {
    var all = before
    let count = try message.count("bytes")
    guard count > 0 else { throw message.failure("wrote a part of a table without bytes") }
    guard count <= programLimits.table - all.count else {
      throw message.failure("wrote a table of more than \(programLimits.table) bytes")
    }
    if let most = limits.memory, count > most - all.count {
      throw PersistentStoreError(
        .limitExceeded, "the objects of the entity need more memory than the limit 'maximumMemory'",
        at: StoreLocation(file: source.name, entity: entity))
    }
    try connection.bytes(count) { piece throws(PersistentStoreError) in all.append(contentsOf: piece) }
    return all
  }

  /// Loads the objects of a table.
  ///
  /// - Returns: Their number.
  private func load(
    _ table: Table, _ connection: ProgramConnection, into nodes: NodeTableBuilder
  ) throws(PersistentStoreError) -> Int {
    let place = StoreLocation(file: source.name, entity: table.entity)
    guard let entity = nodes.model.entity(named: table.entity), !entity.isAbstract else {
      throw PersistentStoreError(
        .modelMismatch, "the model has no entity '\(table.entity)', or only as an abstract one", at: place)
    }
    return try table.bytes.span.withUnsafeBytes { raw throws(PersistentStoreError) in
      let stream: ArrowFile
      do throws(PersistentStoreError) { stream = try ArrowFile(stream: raw) } catch {
        // The program did not make a table of what the store contains. One that passes streams through need not look
        // into them: a damaged store is refused by this, too.
        let offset = error.location.offset.map { " at byte \($0)" } ?? ""
        let name = TerminalText.escaped(table.entity)
        throw connection.error(
          "wrote a table of \(name) that is not an Arrow stream\(offset): \(error.message)")
      }
      guard stream.rowCount == table.count else {
        throw connection.mistake(
          "wrote a table of \(stream.rowCount) objects, and says that they are \(table.count)")
      }
      do throws(PersistentStoreError) { try stream.load(entity, ofBytes: raw.count, into: nodes) } catch {
        var error = error
        // It is an offset in the stream, not in the store.
        error.location.offset = nil
        throw error.located(place)
      }
      return stream.rowCount
    }
  }
}
