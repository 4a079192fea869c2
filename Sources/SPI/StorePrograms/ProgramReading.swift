import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs
import StoreJSON

/// A request that reads a store: the program asks for bytes, and the kit reads them.
struct ProgramReading {
  let source: StoreSource
  let limits: StoreLimits
  let programLimits: ProgramLimits
  private let file: StoreFileReader?
  /// The member of a directory that was read last.
  private let lastMember = LastMember()

  private final class LastMember {
    var name = ""
    var bytes: StoreBytes?
  }

  init(_ source: StoreSource, _ limits: StoreLimits, _ programLimits: ProgramLimits) {
    self.init(source, limits, programLimits, nil)
  }
  private init(_ source: StoreSource, _ limits: StoreLimits, _ programLimits: ProgramLimits, _ file: StoreFileReader?) {
    self.source = source
    self.limits = limits
    self.programLimits = programLimits
    self.file = file
  }

  /// Sends a request while the file is open.
  func request<Answer>(
    _ processes: ProgramProcesses, _ what: String,
    _ body: (ProgramConnection, ProgramReading) throws(PersistentStoreError) -> Answer
  ) throws(PersistentStoreError) -> Answer {
    func answer(_ reading: ProgramReading) throws(PersistentStoreError) -> Answer {
      do throws(PersistentStoreError) {
        return try processes.request(what) { connection throws(PersistentStoreError) in try body(connection, reading) }
      } catch { throw error.located(StoreLocation(file: source.name)) }
    }
    if source.isFolder { return try answer(self) }
    return try source.withReader { file throws(PersistentStoreError) in
      try answer(ProgramReading(source, limits, programLimits, file))
    }
  }

  // MARK: Bytes

  /// Sends the bytes that a message asks for.
  private func serve(_ message: ProgramMessage, _ connection: ProgramConnection) throws(PersistentStoreError) {
    try message.requireOnly(["read", "at", "member"])
    let count = min(try message.count("read"), programLimits.read)
    let offset = try message.count("at")
    let member = try message.optionalString("member")
    guard source.isFolder == (member != nil) else {
      throw message.failure(
        "asked for bytes of \(member == nil ? "a directory without a 'member'" : "a 'member' of a file")")
    }
    let bytes = try read(count, at: offset, of: member)
    connection.send(Request.bytes(.object([("bytes", .integer(bytes.count))])))
    connection.send(bytes)
  }

  private func read(_ count: Int, at offset: Int, of member: String?) throws(PersistentStoreError) -> [UInt8] {
    if let file {
      var bytes = [UInt8](repeating: 0, count: max(0, min(count, file.size - min(offset, file.size))))
      let got = try bytes.withUnsafeMutableBufferPointer { buffer throws(PersistentStoreError) in
        try file.read(at: offset, into: UnsafeMutableRawBufferPointer(buffer))
      }
      bytes.removeLast(bytes.count - got)
      return bytes
    }
    let name = member ?? ""
    if lastMember.bytes == nil || ScalarString(lastMember.name) != ScalarString(name) {
      lastMember.bytes = try source.bytes(ofMember: name)
      lastMember.name = name
    }
    return lastMember.bytes?.withUnsafeBytes { Array($0.dropFirst(offset).prefix(count)) } ?? []
  }

  // MARK: Answers

  /// Reads the answer to a request for metadata.
  func metadata(_ connection: ProgramConnection, storeType: String) throws(PersistentStoreError) -> StoreMetadata {
    let message = try message(connection)
    try finish(message, connection, "metadata")
    let answer = try message.object("metadata")
    try answer.requireOnly(["uuid", "last", "entries", "model"])
    guard case .string(let text)? = answer.value["uuid"], let uuid = UUID(uuidString: text) else {
      throw PersistentStoreError(.malformed, "the UUID of the store is not one", at: StoreLocation(file: source.name))
    }
    var metadata = StoreMetadata(storeType: storeType, uuid: uuid)
    guard let last = ProgramValues.integer(answer.value["last"] ?? .integer(0)) else {
      throw PersistentStoreError(
        .malformed, "the last reference of the store is not an integer", at: StoreLocation(file: source.name))
    }
    metadata.lastReference = last
    if let entries = try propertyList(answer.value["entries"]) {
      guard case .dictionary(let dictionary) = entries else {
        throw PersistentStoreError(
          .malformed, "the metadata of the store is not a dictionary", at: StoreLocation(file: source.name))
      }
      metadata.entries = dictionary
    }
    metadata.model = try propertyList(answer.value["model"]).map { list throws(PersistentStoreError) in
      try ModelDescription(propertyList: list)
    }
    return metadata
  }

  private func propertyList(_ value: JSONValue?) throws(PersistentStoreError) -> PropertyListValue? {
    guard let value else { return nil }
    if case .null = value { return nil }
    return try PropertyListValue(typedText: value.line, limits: limits, at: StoreLocation(file: source.name))
  }

  /// Reads the objects that answer a request to load.
  func objects(_ connection: ProgramConnection, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    var count = 0
    while true {
      let message = try message(connection)
      guard message.value["entity"] != nil else {
        return try finish(message, connection, objects: count)
      }
      do throws(PersistentStoreError) { try ObjectMessage.load(message.value, source, into: nodes) } catch {
        try readOn(connection)
        throw error
      }
      count += 1
    }
  }

  /// Reads the answer to a request for other stores; nil if the program makes none.
  ///
  /// - Parameter stores: A store that the program does not name; empty if it names each, with what comes of it.
  func stores(
    _ connection: ProgramConnection, into stores: [CraftedStore]
  ) throws(PersistentStoreError) -> [CraftedStore]? {
    let areNamed = stores.isEmpty
    var stores = stores
    while true {
      let message = try message(connection)
      if areNamed, let label = try message.optionalString("store") {
        try message.requireOnly(["store", "expected"])
        guard let expected = (try message.optionalString("expected")).flatMap(CraftedStore.Expectation.init) else {
          throw message.failure("named a store whose 'expected' is neither 'refused' nor 'same'")
        }
        stores.append(CraftedStore(TerminalText.escaped(label), files: [:], expected))
        continue
      }
      guard message.value["write"] != nil else {
        try finish(message, connection, "done")
        return try message.optionalBoolean("done") == true ? stores : nil
      }
      guard !stores.isEmpty else { throw message.failure("wrote bytes before it named their store") }
      try message.requireOnly(["write", "member"])
      let member = try message.optionalString("member")
      guard source.isFolder == (member != nil) else {
        throw message.failure(
          "wrote bytes of \(member == nil ? "a directory without a 'member'" : "a 'member' of a file")")
      }
      var written = stores[stores.count - 1].files.removeValue(forKey: member ?? "") ?? []
      try connection.bytes(try message.count("write")) { bytes throws(PersistentStoreError) in written += bytes }
      stores[stores.count - 1].files[member ?? ""] = written
    }
  }

  /// Reads what follows an object or a table that was refused: a process whose answer ends soon is used again.
  func readOn(_ connection: ProgramConnection) throws(PersistentStoreError) {
    for _ in 0...1_000 {
      let message = try ProgramMessage(from: connection)
      if message.value["table"] != nil {
        guard try skip(message, connection) else { return }
        continue
      }
      guard message.value["entity"] == nil else { continue }
      connection.isAnswered = message.value["read"] == nil
      return
    }
  }

  /// Reads the bytes of a frame that is not needed.
  ///
  /// - Returns: Whether it did: a frame that is longer than those of the kit is not worth it.
  func skip(_ message: ProgramMessage, _ connection: ProgramConnection) throws(PersistentStoreError) -> Bool {
    let count = try message.count("bytes")
    guard count <= programLimits.frame else { return false }
    try connection.bytes(count) { _ in }
    return true
  }

  /// The next message, after the requests to read, which are answered.
  func message(_ connection: ProgramConnection) throws(PersistentStoreError) -> ProgramMessage {
    while true {
      let message = try ProgramMessage(from: connection)
      guard message.value["read"] != nil else { return message }
      try serve(message, connection)
    }
  }

  /// Takes a message as the end of objects, which counts them.
  func finish(
    _ message: ProgramMessage, _ connection: ProgramConnection, objects count: Int
  ) throws(PersistentStoreError) {
    try finish(message, connection, "objects")
    let announced = try message.count("objects")
    guard announced == count else {
      throw message.failure("wrote \(count) objects, and says that they are \(announced)")
    }
  }

  /// Takes a message as the end of an answer.
  func finish(
    _ message: ProgramMessage, _ connection: ProgramConnection, _ member: String
  ) throws(PersistentStoreError) {
    connection.isAnswered = true
    try message.throwError(in: source)
    try message.requireOnly([member])
  }
}
