import AtomicStoreSPI
import StoreJSON

/// A message of a program: an object of one line. What is wrong with it is the program's fault.
struct ProgramMessage {
  /// The version of the protocol.
  static let protocolVersion = 1
  /// How deep a message may be nested: metadata as deep as is supported, in a message.
  static let depth = StoreLimits.greatestDepth + 4

  let value: JSONValue
  private let connection: ProgramConnection

  init(_ line: [UInt8], _ connection: ProgramConnection) throws(PersistentStoreError) {
    self.connection = connection
    func text() -> String { TerminalText.escaped(String(decoding: line.prefix(80), as: UTF8.self)) }
    do throws(PersistentStoreError) {
      value = try JSONReader.read(line, name: "", depth: Self.depth)
    } catch {
      throw connection.failure("wrote '\(text())', which is not a message: \(error.message)")
    }
    guard case .object = value else { throw connection.failure("wrote '\(text())', which is not an object") }
  }

  /// Reads the next message.
  init(from connection: ProgramConnection) throws(PersistentStoreError) {
    self = try ProgramMessage(try connection.message(), connection)
  }

  func failure(_ reason: String) -> PersistentStoreError { connection.failure(reason) }

  /// Refuses members that mean nothing, which are mistakes in names.
  func requireOnly(_ names: [String]) throws(PersistentStoreError) {
    guard case .object(let members) = value else { return }
    for (name, _) in members where !names.contains(where: { ScalarString($0) == ScalarString(name) }) {
      throw failure("wrote a message with the member '\(TerminalText.escaped(name))', which has no meaning there")
    }
  }

  /// Throws the error that the program reports, if the message is one.
  ///
  /// - Parameter source: What is read, for the location.
  func throwError(in source: StoreSource?) throws(PersistentStoreError) {
    guard let error = value["error"] else { return }
    guard case .string(let message)? = error["message"], case .string(let word)? = error["code"],
      let code = Self.codes.first(where: { $0.description == word })
    else {
      throw failure(
        "reported an error without a message, or with a code that it cannot have: \(error.line.prefix(200))")
    }
    func text(_ name: String) -> String? { if case .string(let text)? = error[name] { text } else { nil } }
    func number(_ name: String) -> Int? { if case .integer(let number)? = error[name] { number } else { nil } }
    let place = StoreLocation(
      file: source?.displayName(ofMember: text("member")), line: number("line"), column: number("column"),
      offset: number("offset"), entity: text("entity"), reference: error["reference"].map(Self.text),
      property: text("property"))
    throw PersistentStoreError(code, message, at: place)
  }

  private static func text(_ reference: JSONValue) -> String {
    if case .string(let text) = reference { text } else { reference.line }
  }

  /// The kinds of failure that a program can report. Others are the kit's to find.
  static let codes: [PersistentStoreError.Code] = [
    .malformed, .limitExceeded, .unsupportedVersion, .foreignFormat, .storeTypeMismatch, .danglingReference,
    .duplicateReference, .invalidValue, .unsupportedByFormat, .modelMismatch, .invalidModel, .modelNeeded,
    .invalidOption, .notSupported,
  ]

  // MARK: Members

  func optionalString(_ name: String) throws(PersistentStoreError) -> String? {
    switch value[name] {
    case nil, .null: return nil
    case .string(let text): return text
    default: throw failure("wrote a message whose '\(name)' is not a text")
    }
  }

  func optionalInteger(_ name: String) throws(PersistentStoreError) -> Int? {
    switch value[name] {
    case nil, .null: return nil
    case .integer(let number): return number
    default: throw failure("wrote a message whose '\(name)' is not an integer")
    }
  }

  func optionalBoolean(_ name: String) throws(PersistentStoreError) -> Bool? {
    switch value[name] {
    case nil, .null: return nil
    case .boolean(let flag): return flag
    default: throw failure("wrote a message whose '\(name)' is neither true nor false")
    }
  }

  func strings(_ name: String) throws(PersistentStoreError) -> [String] {
    guard let found = value[name] else { return [] }
    if case .array(let list) = found {
      let texts = list.compactMap { if case .string(let text) = $0 { text } else { nil } }
      if texts.count == list.count { return texts }
    }
    throw failure("wrote a message whose '\(name)' is not a list of texts")
  }

  /// A count of bytes or objects.
  func count(_ name: String) throws(PersistentStoreError) -> Int {
    guard case .integer(let number)? = value[name], number >= 0 else {
      throw failure("wrote a message whose '\(name)' is not a number of 0 or more")
    }
    return number
  }

  /// The message of a member that is an object itself.
  func object(_ name: String) throws(PersistentStoreError) -> ProgramMessage {
    guard let member = value[name], case .object = member else {
      throw failure("wrote a message whose '\(name)' is not an object")
    }
    return ProgramMessage(member, connection)
  }

  private init(_ value: JSONValue, _ connection: ProgramConnection) {
    self.value = value
    self.connection = connection
  }
}
