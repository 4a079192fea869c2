import AtomicStoreSPI
import FoundationEssentials
import StoreJSON

/// What a program says of its format when it is asked to describe it.
struct ProgramDescription: Sendable {
  /// Bytes by which the kit recognizes content without asking the program.
  struct Signature: Sendable {
    /// The file of a directory that has them; nil for a store that is one file.
    var member: String?
    /// Where they are.
    var offset = 0
    /// The bytes; empty for a member that is there, whatever it holds.
    var bytes: [UInt8]

    func matches(_ probe: StoreProbe) -> Bool {
      guard probe.isFolder == (member != nil) else { return false }
      guard let member else { return Self.has(bytes, at: offset, in: probe.prefix) }
      guard probe.memberNames.contains(where: { ScalarString($0) == ScalarString(member) }) else { return false }
      return bytes.isEmpty || Self.has(bytes, at: offset, in: probe.prefix(ofMember: member))
    }

    private static func has(_ bytes: [UInt8], at offset: Int, in prefix: [UInt8]) -> Bool {
      prefix.dropFirst(offset).starts(with: bytes)
    }
  }

  let storeType: String
  let traits: StoreTraits
  let signatures: [Signature]
  /// Whether the program itself recognizes content that has none of the signatures.
  let recognizes: Bool
  /// How objects are sent and read: the fastest way that the program speaks.
  let encoding: GraphEncoding
  /// The requests for the conformance checks that it answers.
  let checksumRequests: [String]
  private static let checksumRequests = ["payload", "recompute", "newer", "duplicate", "crafted"]

  init(_ message: ProgramMessage) throws(PersistentStoreError) {
    try message.throwError(in: nil)
    try message.requireOnly(["atomicstore", "type", "traits", "signatures", "recognizes", "encodings", "checksum"])
    let version = try message.count("atomicstore")
    guard version == ProgramMessage.protocolVersion else {
      throw message.failure("speaks version \(version) of the protocol, and this is \(ProgramMessage.protocolVersion)")
    }
    guard let name = try message.optionalString("type"), StorePlugin.isTypeName(name) else {
      throw message.failure("described a store type without a name, or with control characters or more than 255 bytes")
    }
    storeType = name
    traits = try Self.traits(try message.object("traits"))
    recognizes = try message.optionalBoolean("recognizes") ?? false
    encoding = try GraphEncoding(message)
    checksumRequests = try message.strings("checksum")
    for request in checksumRequests where !Self.checksumRequests.contains(request) {
      throw message.failure("described the checksum request '\(request)', which is not one")
    }
    var signatures: [Signature] = []
    if let list = message.value["signatures"] {
      guard case .array(let elements) = list else { throw message.failure("described signatures that are not a list") }
      for element in elements { signatures.append(try Self.signature(element, message)) }
    }
    self.signatures = signatures
  }

  private static func signature(
    _ value: JSONValue, _ message: ProgramMessage
  ) throws(PersistentStoreError) -> Signature {
    var signature = Signature(bytes: [])
    guard case .object(let members) = value else {
      throw message.failure("described a signature that is not an object")
    }
    for (name, member) in members {
      switch (name, member) {
      case ("text", .string(let text)): signature.bytes = Array(text.utf8)
      case ("base64", .string(let text)):
        guard let data = Data(base64Encoded: text) else { throw message.failure("described a signature not in base64") }
        signature.bytes = Array(data)
      case ("at", .integer(let offset)) where (0..<4096).contains(offset): signature.offset = offset
      case ("member", .string(let text)): signature.member = text
      default: throw message.failure("described a signature with a member '\(name)' that is not understood")
      }
    }
    guard signature.member != nil || !signature.bytes.isEmpty else {
      throw message.failure("described a signature that all files have")
    }
    return signature
  }

  private static func traits(_ message: ProgramMessage) throws(PersistentStoreError) -> StoreTraits {
    try message.requireOnly([
      "summary", "extensions", "layout", "writes", "references", "keepsOrder", "keepsNilApartFromEmpty",
      "keepsSpecialFloats", "keepsDecimals", "keepsMetadata", "keepsIdentity", "writesEqualBytes", "isSelfDescribing",
      "maximumEntities", "unsupportedTypes", "readOptions", "writeOptions",
    ])
    func choice<Choice: RawRepresentable<String>>(
      _ name: String, _ standard: Choice
    ) throws(PersistentStoreError) -> Choice {
      guard let text = try message.optionalString(name) else { return standard }
      guard let choice = Choice(rawValue: text) else { throw message.failure("described '\(name)' as '\(text)'") }
      return choice
    }
    func flag(_ name: String) throws(PersistentStoreError) -> Bool { try message.optionalBoolean(name) ?? true }
    return StoreTraits(
      summary: try message.optionalString("summary") ?? "", fileExtensions: try message.strings("extensions"),
      layout: try choice("layout", StoreLayout.file), writes: try choice("writes", StoreTraits.Writes.all),
      references: try choice("references", StoreTraits.References.all), keepsOrder: try flag("keepsOrder"),
      keepsNilApartFromEmpty: try flag("keepsNilApartFromEmpty"), keepsSpecialFloats: try flag("keepsSpecialFloats"),
      keepsDecimals: try flag("keepsDecimals"), keepsMetadata: try flag("keepsMetadata"),
      keepsIdentity: try flag("keepsIdentity"), writesEqualBytes: try flag("writesEqualBytes"),
      isSelfDescribing: try flag("isSelfDescribing"),
      maximumEntities: try message.optionalInteger("maximumEntities"),
      unsupportedTypes: try message.strings("unsupportedTypes"),
      readOptions: try options("readOptions", message), writeOptions: try options("writeOptions", message))
  }

  private static func options(
    _ name: String, _ message: ProgramMessage
  ) throws(PersistentStoreError) -> [StoreOption] {
    guard let value = message.value[name] else { return [] }
    guard case .array(let list) = value else { throw message.failure("described '\(name)' that are not a list") }
    return try list.map { element throws(PersistentStoreError) in
      guard case .string(let name)? = element["name"], case .string(let help)? = element["help"] else {
        throw message.failure("described an option without a name or a help text")
      }
      var values: [String]?
      if case .array(let list)? = element["values"] {
        values = list.compactMap { if case .string(let text) = $0 { text } else { nil } }
      }
      return StoreOption(name: name, help: help, values: values)
    }
  }
}
