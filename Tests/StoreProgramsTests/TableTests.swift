import ArrowTables
import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StoreFiles
import TestSupport
import Testing

@testable import StorePrograms

/// Programs that send and receive objects as Arrow streams.
@Suite("Tables of programs") struct TableTests {
  private static let description =
    #"{"atomicstore":1,"type":"Peer","traits":{"extensions":["peer"]},"encodings":["json","arrow"]}"#

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Note", properties: [.attribute("text", .string)]),
        EntityDescription(name: "Other", properties: [.attribute("number", .integer64)]),
      ]))
  }

  private static func notes(_ texts: [String]) throws -> NodeTable {
    let builder = NodeTableBuilder(model: try model())
    for (number, text) in texts.enumerated() {
      try builder.beginNode(entity: 0, reference: Int64(number + 1))
      try builder.set(.string(text), slot: 0)
    }
    return try builder.finish()
  }

  /// Notes as Arrow.
  private static func arrow(_ form: ArrowWriter.Form = .stream, _ texts: [String] = ["one", "two"]) throws -> [UInt8] {
    let nodes = try notes(texts)
    var bytes: [UInt8] = []
    try ArrowWriter.write(form, nodes.model.entities[0], nodes, ArrowReferences(nodes)) { raw in
      bytes.append(contentsOf: raw)
    }
    return bytes
  }

  private static let frame = #"{"table":"Note","objects":2,"bytes":"#

  /// A peer that may send the files `stream` and `file`, of which `$size` and `$frame` describe the first.
  private func peer(_ cases: [(String, String)] = [], save: String = "") throws -> Peer {
    let stream = try Self.arrow()
    let peer = try Peer(
      cases.map { ($0.0, "size=\(stream.count); dir=${0%/*}; frame='\(Self.frame)'; \($0.1)") },
      save: "dir=${0%/*}; \(save)", description: Self.description)
    try Data(stream).write(to: URL(filePath: peer.folder.path + "/stream"))
    try Data(try Self.arrow(.file)).write(to: URL(filePath: peer.folder.path + "/file"))
    return peer
  }

  private func load(
    _ type: any AtomicStore.Type, _ name: String, _ options: StoreOptions = [:]
  ) throws(PersistentStoreError) -> NodeTable {
    var configuration = StoreConfiguration(path: "/store")
    configuration.limits.memory = options["maximumMemory"].flatMap { Int($0) }
    var store = try type.init(configuration)
    let model: ManagedObjectModel
    do { model = try Self.model() } catch { throw PersistentStoreError(wrapping: error, at: StoreLocation()) }
    let builder = NodeTableBuilder(model: model, file: name)
    try store.load(StoreSource(bytes: Array("PEER".utf8), name: name), into: builder)
    return try builder.finish()
  }

  private static let all = #"printf '%s%d}\n' "$frame" $size; cat $dir/stream"#
  private static let other = #"printf '{"table":"Other","objects":2,"bytes":%d}\n' $size; cat $dir/stream"#

  @Test("a table may come in parts of any size, and an entity without objects needs none")
  func loads() throws {
    let parts = """
      printf '%s100}\\n' "$frame"; head -c 100 $dir/stream; printf '%s%d}\\n' "$frame" $((size - 100)); \
      tail -c +101 $dir/stream; echo '{"objects":2}'
      """
    let peer = try peer([
      ("whole", Self.all + "; echo '{\"objects\":2}'"), ("parts", parts), ("none", "echo '{\"objects\":0}'"),
    ])
    let type = try peer.load()
    for (name, texts) in [("whole", ["one", "two"]), ("parts", ["one", "two"]), ("none", [])] {
      let reader = try load(type, name).reader(of: 0)
      #expect((0..<reader.count).map { reader.string(slot: 0, row: $0) } == texts, "\(name)")
    }
  }

  /// The name of a store, what the program does, and what the error says.
  private static let cases: [(String, String, String)] = [
    ("half", #"printf '%s%d}\n' "$frame" $size; head -c 99 $dir/stream; exit"#, "ended with exit code 0, after 99 of"),
    ("longer", #"printf '%s%d}\n' "$frame" $((size + 99)); cat $dir/stream; exit 2"#, "exit code 2, after"),
    ("shorter", #"printf '%s99}\n' "$frame"; cat $dir/stream"#, "which is not a message"),
    ("zero", #"printf '%s0}\n' "$frame""#, "wrote a part of a table without bytes"),
    ("negative", #"printf '%s-1}\n' "$frame""#, "whose 'bytes' is not a number of 0 or more"),
    ("huge", #"printf '%s9223372036854775807}\n' "$frame""#, "wrote a table of more than 9000 bytes"),
    ("flood", #"while :; do printf '%s1000}\n%01000d' "$frame" 0; done"#, "wrote a table of more than 9000 bytes"),
    (
      "numbers", #"printf '%s4}\nabcd' "$frame"; echo '{"table":"Note","objects":3,"bytes":1}'"#,
      "two numbers of objects"
    ),
    ("unknown", "\(all); \(other.replacing("Other", with: "Unknown")); echo '{\"objects\":4}'", "no entity 'Unknown'"),
    ("more", #"echo '{"table":"Note","objects":2,"bytes":1,"of":2}'"#, "member 'of', which has no meaning there"),
    ("name", #"echo '{"table":5,"objects":2,"bytes":1}'"#, "whose 'table' is not a text"),
    ("missing", #"echo '{"table":"Note","bytes":1}'"#, "whose 'objects' is not a number"),
    ("noise", #"printf '%s9}\nnot arrow' "$frame"; echo '{"objects":2}'"#, "that is not an Arrow stream at byte 0"),
    (
      "file", #"printf '%s%d}\n' "$frame" $(wc -c <$dir/file); cat $dir/file; echo '{"objects":2}'"#,
      "not an Arrow stream"
    ),
    (
      "cut", #"printf '%s%d}\n' "$frame" $((size - 8)); head -c $((size - 8)) $dir/stream; echo '{"objects":2}'"#,
      "the stream does not have its end mark"
    ),
    (
      "trailing", #"printf '%s%d}\nxxxx' "$frame" 4; printf '%s%d}\n' "$frame" $size; cat $dir/stream; echo '{}'"#,
      "not an Arrow stream"
    ),
    (
      "count", "frame='\(frame.replacing("2", with: "9"))'; \(all); echo '{\"objects\":9}'",
      "wrote a table of 2 objects, and says that they are 9"
    ),
    ("total", all + "; echo '{\"objects\":5}'", "wrote 2 objects, and says that they are 5"),
    ("lines", #"echo '{"entity":"Note","reference":1,"values":{}}'"#, "member 'entity', which has no meaning there"),
  ]

  @Test("whatever is wrong with a table is an error that names the program")
  func wrong() throws {
    let peer = try peer(Self.cases.map { ($0.0, $0.1) })
    let type = try peer.load { $0.table = 9_000 }
    for (name, _, expected) in Self.cases {
      let error = #expect(throws: PersistentStoreError.self, "\(name)") { try load(type, name) }
      let text = String(describing: error)
      #expect(error?.message.contains(expected) == true, "\(name): \(text)")
      #expect(error?.location.file == name && error?.location.offset == nil, "\(name): \(text)")
      // What a store contains may be passed on as it is; how many objects there are, the program says itself.
      let isPassedOn = expected.contains("Arrow stream") || expected.contains("end mark") || name == "unknown"
      #expect(error?.isProgramFailure == !isPassedOn, "\(name): \(text)")
      guard error?.code != .modelMismatch else { continue }
      #expect(error?.code == .notSupported && error?.message.contains(peer.path) == true, "\(name): \(text)")
    }
  }

  @Test("a process that sends a damaged stream in messages that are as they should be is used again")
  func reused() throws {
    let damaged = #"printf '%s9}\nnot arrow' "$frame"; echo '{"objects":2}'"#
    let peer = try peer([("damaged", "echo $$ >>\"$dir/processes\"; " + damaged)])
    let type = try peer.load()
    let held = try type.init(StoreConfiguration(path: "/store"))
    withExtendedLifetime(held) {
      for _ in 0..<3 { #expect(throws: PersistentStoreError.self) { try load(type, "damaged") } }
    }
    let processes = try String(contentsOfFile: peer.folder.path + "/processes", encoding: .utf8).split(separator: "\n")
    #expect(processes.count == 3 && Set(processes).count == 1, "\(processes)")
  }

  @Test("the objects of an entity come once, and a program that stops within a table is ended after the time limit")
  func order() throws {
    let number = #"printf '{"table":"Other","objects":0,"bytes":%d}\n' $(wc -c <$dir/other); cat $dir/other"#
    let peer = try peer([
      ("twice", Self.all + "; " + number + "; " + Self.all), ("asleep", #"printf '%s99}\nx' "$frame"; exec sleep 600"#),
    ])
    let nodes = try Self.notes([])
    var bytes: [UInt8] = []
    try ArrowWriter.write(.stream, nodes.model.entities[1], nodes, ArrowReferences(nodes)) { raw in
      bytes.append(contentsOf: raw)
    }
    try Data(bytes).write(to: URL(filePath: peer.folder.path + "/other"))
    let type = try peer.load { $0.silence = 300 }
    let twice = #expect(throws: PersistentStoreError.self) { try load(type, "twice") }
    #expect(twice?.message.contains("wrote the objects of Note twice") == true, "\(String(describing: twice))")
    let asleep = #expect(throws: PersistentStoreError.self) { try load(type, "asleep") }
    #expect(asleep?.code == .timedOut, "\(String(describing: asleep))")
  }

  @Test(
    "a stream in which a length or a number is wrong is an error, or has its objects",
    arguments: [0, 1, -1, 0x7FFF_FFFF])
  func wrongNumbers(_ number: Int32) throws {
    let stream = try Self.arrow()
    let send = #"printf '%s%d}\n' "$frame" $size; cat "$dir/changed"; echo '{"objects":2}'"#
    let peer = try peer([("changed", send)])
    let type = try peer.load()
    for position in stride(from: 0, to: stream.count - 3, by: 4) {
      var bytes = stream
      withUnsafeBytes(of: number.littleEndian) { bytes.replaceSubrange(position..<position + 4, with: $0) }
      try Data(bytes).write(to: URL(filePath: peer.folder.path + "/changed"))
      do throws(PersistentStoreError) {
        let nodes = try load(type, "changed")
        #expect(nodes.count == 2, "\(number) at \(position)")
      } catch { #expect(error.location.file == "changed", "\(number) at \(position): \(error)") }
    }
  }

  @Test("an error that the program reports within a table is the error, and a wrong column names entity and property")
  func reported() throws {
    let error = #"{"error":{"code":"malformed","message":"damaged","line":7}}"#
    let peer = try peer([
      ("damaged", #"printf '%s4}\nabcd%s\n' "$frame" '\#(error)'"#),
      ("other", Self.other + "; echo '{\"objects\":2}'"),
      ("process", #"printf '{"error":{"code":"malformed","message":"%s"}}\n' $$"#),
    ])
    let type = try peer.load()
    let held = try type.init(StoreConfiguration(path: "/store"))
    func process() -> String? {
      do throws(PersistentStoreError) { _ = try load(type, "process") } catch { return error.message }
      return nil
    }
    withExtendedLifetime(held) {
      let first = process()
      let damaged = #expect(throws: PersistentStoreError.self) { try load(type, "damaged") }
      #expect(damaged?.description.hasPrefix("damaged:7: damaged") == true, "\(String(describing: damaged))")
      let other = #expect(throws: PersistentStoreError.self) { try load(type, "other") }
      #expect(other?.message.contains("the table contains objects of Note, not of Other") == true)
      #expect(other?.location.entity == "Other" && other?.location.offset == nil)
      #expect(first != nil && process() == first, "the process goes on")
      let small = #expect(throws: PersistentStoreError.self) {
        try load(type, "damaged", ["maximumMemory": "3"])
      }
      #expect(small?.code == .limitExceeded, "\(String(describing: small))")
    }
  }

  // MARK: Saving

  private func save(
    _ peer: Peer, _ texts: [String], _ change: (inout ProgramLimits) -> Void = { _ in }
  ) throws(PersistentStoreError) {
    let type: any AtomicStore.Type
    let nodes: NodeTable
    do { (type, nodes) = (try peer.load(change), try Self.notes(texts)) } catch {
      throw PersistentStoreError(wrapping: error, at: StoreLocation())
    }
    let staged = try StagedStore(target: peer.folder.path + "/store", layout: .file, policy: .createNew)
    var store = try type.init(StoreConfiguration(path: peer.folder.path + "/store"))
    try store.save(StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "Peer")), to: staged.files)
  }

  private static let receive = #"""
    while read -r line; do case "$line" in '{"end"'*) break ;; esac; \#
    n=${line##*:}; head -c "${n%\}}" >>"$dir/sent"; echo "${line%,*}" >>"$dir/lines"; done; echo '{"saved":true}'
    """#

  @Test("a table is sent in parts, which are one stream", arguments: [1, 100, 1 << 20])
  func sends(_ frame: Int) throws {
    let peer = try peer(save: Self.receive)
    try save(peer, ["one", "two"]) { $0.frame = frame }
    let sent = Array(try Data(contentsOf: URL(filePath: peer.folder.path + "/sent")))
    #expect(sent == (try Self.arrow()))
    let lines = try String(contentsOfFile: peer.folder.path + "/lines", encoding: .utf8).split(separator: "\n")
    #expect(lines.count == (sent.count + frame - 1) / frame)
    #expect(Set(lines) == [#"{"table":"Note","objects":2"#])
  }

  @Test("a table that could not be read back is not saved, and a program must read all of it")
  func unread() throws {
    let long = [String(repeating: "x", count: 3_000_000)]
    let cases: [(String, (inout ProgramLimits) -> Void, String)] = [
      (Self.receive, { $0.table = 4_000_000 }, "would be an Arrow stream of more than 2000000 bytes"),
      ("sleep 600", { $0.silence = 300 }, "does not read what it is sent"),
      ("echo '{\"saved\":true}'; sleep 600", { $0.silence = 300 }, "is done before it was sent all objects"),
    ]
    for (body, change, expected) in cases {
      let peer = try peer(save: body)
      let error = #expect(throws: PersistentStoreError.self) { try save(peer, long, change) }
      #expect(error?.message.contains(expected) == true, "\(String(describing: error))")
    }
  }

  // MARK: Describing

  @Test("a program is asked for its encodings, and JSON is what it speaks if it names none")
  func encodings() throws {
    let folder = try TemporaryDirectory("peer")
    let path = folder.path + "/peer"
    let script = #"""
      #!/bin/sh
      read -r request; echo "$request" >"${0%/*}/request"; echo '{"atomicstore":1,"type":"P","traits":{}}'; read -r end
      """#
    try Peer.write(script, to: path)
    _ = try StoreProgram(loading: path)
    let request = try String(contentsOfFile: folder.path + "/request", encoding: .utf8)
    #expect(request == #"{"atomicstore":1,"do":"describe","encodings":["json","arrow"]}"# + "\n")
  }

  @Test(
    "encodings that the kit does not have are refused by name",
    arguments: [
      (#"["json","cbor"]"#, "described the encoding 'cbor'"), ("[]", "a list of encodings that is empty"),
      (#""arrow""#, "whose 'encodings' is not a list of texts"),
    ])
  func unknown(_ list: String, _ expected: String) throws {
    let peer = try Peer(description: #"{"atomicstore":1,"type":"Peer","traits":{},"encodings":\#(list)}"#)
    let error = #expect(throws: PersistentStoreError.self) { try peer.load() }
    #expect(error?.message.contains(expected) == true, "\(String(describing: error))")
  }
}
