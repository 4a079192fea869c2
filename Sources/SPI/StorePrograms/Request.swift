import AtomicStoreSPI
import StoreCodecs
import StoreJSON

/// What the kit asks a program.
enum Request {
  /// A line that begins a request.
  static func line(_ verb: String, _ members: [(String, JSONValue)]) -> [UInt8] {
    let all = [("atomicstore", JSONValue.integer(ProgramMessage.protocolVersion)), ("do", .string(verb))] + members
    return bytes(.object(all))
  }

  static func bytes(_ value: JSONValue) -> [UInt8] {
    let writer = ByteWriter()
    value.write(to: writer, indent: nil)
    writer.append(byte: UInt8(ascii: "\n"))
    return writer.takeBytes()
  }

  /// The store to read: its name for messages, its size or its files, the options, and the memory that it may take if
  /// that is limited.
  static func store(_ source: StoreSource, _ options: StoreOptions, _ memory: Int? = nil) -> [(String, JSONValue)] {
    var members: [(String, JSONValue)] = [("name", .string(source.name))]
    if let memory { members.append(("memory", .integer(memory))) }
    if source.isFolder {
      let list = source.memberNames.map { name in
        JSONValue.object([("name", .string(name)), ("size", .integer(source.size(ofMember: name) ?? 0))])
      }
      members.append(("members", .array(list)))
    }
    return members + self.options(options)
  }

  static func options(_ options: StoreOptions) -> [(String, JSONValue)] {
    let sorted = options.sorted { ScalarString($0.key) < ScalarString($1.key) }
    return [("options", .object(sorted.map { ($0.key, .string($0.value)) }))]
  }

  /// The entities of a model, each with the properties that it adds to those of its super-entity.
  static func entities(_ model: ManagedObjectModel) -> JSONValue {
    .array(
      model.entities.map { entity in
        let inherited = entity.superentity?.slots.count ?? 0
        return .object([
          ("name", .string(entity.name)), ("super", entity.superentity.map { .string($0.name) } ?? .null),
          ("abstract", .boolean(entity.isAbstract)),
          ("properties", .array(entity.slots.dropFirst(inherited).map { property($0, model) })),
        ])
      })
  }

  private static func property(_ slot: Slot, _ model: ManagedObjectModel) -> JSONValue {
    let (kind, more): (String, [(String, JSONValue)]) =
      switch slot.kind {
      case .attribute(let type): ("attribute", [("type", .string(type.modelName))])
      case .toOne: ("toOne", [])
      case .toMany: ("toMany", [("ordered", .boolean(slot.keepsSequence))])
      }
    let destination = slot.destination.map { [("destination", JSONValue.string(model.entity(at: $0).name))] } ?? []
    return .object([("name", .string(slot.name)), ("kind", .string(kind))] + more + destination)
  }

  /// Asks whether content is of the program's type. The first bytes of a file follow the line.
  static func recognize(_ probe: StoreProbe, _ connection: ProgramConnection) throws(PersistentStoreError)
    -> Recognition
  {
    var members: [(String, JSONValue)] = [
      ("name", .string(probe.name)), ("extension", .string(probe.fileExtension)),
      ("size", .integer(probe.size)),
    ]
    if probe.isFolder { members.append(("members", .array(probe.memberNames.map { .string($0) }))) }
    members.append(("bytes", .integer(probe.prefix.count)))
    connection.send(line("recognize", members))
    connection.send(probe.prefix)
    let answer = try ProgramMessage(from: connection)
    try answer.throwError(in: nil)
    try answer.requireOnly(["recognized", "what"])
    switch try answer.optionalString("recognized") {
    case "yes": return .yes
    case "no": return .no
    case "unsure": return .unsure
    case "known": return .known(try answer.optionalString("what") ?? "a known kind of file that it does not read")
    default: throw answer.failure("answered neither yes, no, unsure nor known")
    }
  }
}
