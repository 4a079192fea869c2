import AtomicStoreSPI
import StoreJSON

/// How the objects of a store are sent and read.
enum GraphEncoding: String, CaseIterable {
  /// Lines of JSON, one for each object.
  case json
  /// Streams of Arrow's interprocess format, one for each entity.
  case arrow

  /// What the kit speaks, as a member of the request to describe: a program names an encoding only if the kit has it.
  static var offer: (String, JSONValue) { ("encodings", .array(allCases.map { .string($0.rawValue) })) }

  /// What a request says of the encoding of its objects.
  var members: [(String, JSONValue)] { self == .json ? [] : [("encoding", .string(rawValue))] }

  /// Chooses the fastest encoding that a program describes; JSON if it names none.
  init(_ description: ProgramMessage) throws(PersistentStoreError) {
    let names = description.value["encodings"] == nil ? [Self.json.rawValue] : try description.strings("encodings")
    var all: [GraphEncoding] = []
    for name in names {
      guard let encoding = GraphEncoding(rawValue: name) else {
        throw description.failure(
          "described the encoding '\(TerminalText.escaped(name))', which is neither json nor arrow")
      }
      all.append(encoding)
    }
    guard !all.isEmpty else { throw description.failure("described a list of encodings that is empty") }
    self = all.contains(.arrow) ? .arrow : .json
  }
}
