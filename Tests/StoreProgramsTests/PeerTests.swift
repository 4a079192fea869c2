import AtomicStoreSPI
import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import StorePrograms

@Suite("Programs that do something wrong") struct PeerTests {
  private static let uuid = #"{"metadata":{"uuid":"00000000-0000-0000-0000-000000000001","last":0}}"#

  /// The name of a store, what the program does, and what the error says besides its path.
  private static let cases: [(String, String, String)] = [
    ("killed", "kill -9 $$", "was ended by signal 9 (Killed)"),
    ("exit", "exit 3", "ended with exit code 3"),
    ("leaves", "exit 0", "ended with exit code 0"),
    ("noise", "echo loading...", "wrote 'loading...', which is not a message"),
    ("control", #"printf 'a\033[31mb\n'"#, #"wrote 'a\u001b[31mb', which is not a message"#),
    ("number", "echo 5", "wrote '5', which is not an object"),
    ("half", #"printf '{"metadata":'; exit 1"#, "ended with exit code 1"),
    ("long", #"printf '{"metadata":"%05000d"}\n' 1"#, "wrote a message of more than 4000 bytes"),
    ("flood", "exec yes | tr -d '\\n'", "wrote a message of more than 4000 bytes"),
    ("noisy", "yes >&2", "wrote more than 2000 bytes to standard error"),
    ("more", "printf '%s\\n%s\\n' '\(uuid)' more", "wrote more after its answer: more"),
    ("member", #"echo '{"metadata":{"uuid":"x","lost":1}}'"#, "with the member 'lost', which has no meaning there"),
    ("wrong", #"echo '{"objects":0}'"#, "with the member 'objects', which has no meaning there"),
    ("back", #"echo '{"read":-1,"at":0}'"#, "wrote a message whose 'read' is not a number of 0 or more"),
    ("folder", #"echo '{"read":1,"at":0,"member":"a"}'"#, "asked for bytes of a 'member' of a file"),
    ("code", #"echo '{"error":{"code":"noSpace","message":"m"}}'"#, "a code that it cannot have"),
    ("deep", "printf '%0600d\\n' 0 | tr 0 '['", "which is not a message: values are nested more than 516 deep"),
    ("says", #"printf 'one\ntwo \033[1m\n' >&2; exit 1"#, #"its standard error ends with: one / two \u001b[1m"#),
  ]

  @Test("whatever a program does wrong is an error that names it, and what it was asked")
  func wrong() throws {
    let peer = try Peer(Self.cases.map { ($0.0, $0.1) })
    let type = try peer.load {
      $0.message = 4_000
      $0.noise = 2_000
    }
    for (name, _, expected) in Self.cases {
      let failure = type.failure(name)
      let error = try #require(failure, "\(name)")
      #expect(error.code == .notSupported, "\(name): \(error)")
      #expect(error.message.contains(expected), "\(name): \(error)")
      #expect(error.message.contains(peer.path) && error.message.contains("when it was asked to read metadata"))
      #expect(error.location.file == name)
    }
  }

  @Test("a program that is silent is ended after the time limit")
  func silence() throws {
    let peer = try Peer([("asleep", "echo $$ >\"${0%/*}/pid\"; sleep 600")])
    let failure = try peer.load { $0.silence = 300 }.failure("asleep")
    let error = try #require(failure)
    #expect(error.code == .timedOut && error.message.contains("did nothing for 300 ms"), "\(error)")
    let pid = try #require(pid_t(try String(contentsOfFile: peer.folder.path + "/pid", encoding: .utf8).dropLast()))
    #expect(kill(pid, 0) == -1 && errno == ESRCH, "it runs on")
  }

  @Test("the time limit is read from the environment in seconds, and is a minute otherwise")
  func limit() {
    #expect(ProgramLimits(["ATOMICSTORE_PROGRAM_SECONDS": "0.5"]).silence == 500)
    for text in ["", "0", "-1", "nan", "x"] {
      #expect(ProgramLimits(["ATOMICSTORE_PROGRAM_SECONDS": text]).silence == 60_000)
    }
  }

  @Test("an error that a program reports has its code, message and location, and the process goes on")
  func reported() throws {
    let report = #"{"error":{"code":"malformed","message":"'$$'","line":7,"column":2,"entity":"E","reference":5}}"#
    let peer = try Peer([("damaged", "printf '%s\\n' '\(report)'")])
    let type = try peer.load()
    func whileOpen() throws -> [PersistentStoreError] {
      let held = try type.init(StoreConfiguration(path: "/store"))
      return withExtendedLifetime(held) { (0..<3).compactMap { _ in type.failure("damaged") } }
    }
    let errors = try whileOpen()
    try #require(errors.count == 3 && Set(errors.map(\.message)).count == 1, "one process: \(errors)")
    #expect(errors[0].code == .malformed && errors[0].description.hasPrefix("damaged:7:2 (E/5): "), "\(errors[0])")
    #expect(type.failure("damaged")?.message != errors[0].message, "another process after all stores were closed")
  }

  @Test("a command keeps the process that described the format for all stores")
  func kept() throws {
    let peer = try Peer([("damaged", #"printf '{"error":{"code":"malformed","message":"%s"}}\n' $$"#)])
    let type: any AtomicStore.Type
    do {
      let program = try StoreProgram(loading: peer.path)
      program.keepProcesses()
      type = program.type
    }
    let messages = (0..<3).map { _ in type.failure("damaged")?.message ?? "" }
    #expect(Set(messages).count == 1 && messages[0] != "", "\(messages)")
    let process = try #require(pid_t(messages[0]))
    #expect(kill(process, 0) == 0)
    // As when this process exits.
    ProgramTable.program(try ProgramTable.number(of: peer.path, shown: peer.path, ProgramLimits([:])).number).endKept()
    #expect(kill(process, 0) == -1)
  }

  @Test("a program has its three streams open, and nothing else of this process")
  func descriptors() throws {
    // Not closed at exec.
    let open = Glibc.open("/dev/null", O_RDONLY)
    defer { close(open) }
    // The shell itself has its script open, and the list its directory.
    let list = #"printf '{"error":{"code":"malformed","message":"%s"}}\n' "$(ls -l /proc/self/fd | grep -c null)""#
    let peer = try Peer([("list", list)])
    let failure = try peer.load().failure("list")
    #expect(failure?.message == "0")
  }

  @Test("a process that ended after its answer is an error of the next request, which is not repeated")
  func endedLater() throws {
    let peer = try Peer([
      ("last", "echo '\(Self.uuid)'; echo >>\"${0%/*}/log\"; exit 4"), ("next", "echo >>\"${0%/*}/log\""),
    ])
    let type = try peer.load()
    let held = try type.init(StoreConfiguration(path: "/store"))
    try withExtendedLifetime(held) {
      #expect(type.failure("last") == nil)
      let failure = type.failure("next")
      let error = try #require(failure)
      #expect(error.message.contains("ended with exit code 4"), "\(error)")
    }
    #expect(try Data(contentsOf: URL(filePath: peer.folder.path + "/log")).count == 1)
  }

  static let descriptions: [(String, String)] = [
    (#"{"atomicstore":2,"type":"P","traits":{}}"#, "speaks version 2 of the protocol, and this is 1"),
    (#"{"atomicstore":1,"type":"","traits":{}}"#, "without a name"),
    (#"{"atomicstore":1,"type":"P"}"#, "whose 'traits' is not an object"),
    (#"{"atomicstore":1,"type":"P","traits":{"keepsOder":false}}"#, "member 'keepsOder', which has no meaning"),
    (#"{"atomicstore":1,"type":"P","traits":{"layout":"tree"}}"#, "described 'layout' as 'tree'"),
    (#"{"atomicstore":1,"type":"P","traits":{},"signatures":[{}]}"#, "a signature that all files have"),
    ("", "did nothing for"),
  ]

  @Test("a description that is not understood is refused", arguments: descriptions)
  func describes(_ description: String, _ expected: String) throws {
    let peer = try Peer(description: description)
    let error = try #require(throws: PersistentStoreError.self) {
      try peer.load { $0.silence = description.isEmpty ? 200 : 60_000 }
    }
    #expect(error.message.contains(expected) || description.isEmpty, "\(error)")
  }

  @Test("content is recognized by signatures, and by the program if it wants to be asked; its failure is reported")
  func recognition() throws {
    let description = #"""
      {"atomicstore":1,"type":"Peer","traits":{},"recognizes":true,"signatures":[{"text":"EE","at":1},\#
      {"base64":"AP8="},{"member":"index","text":"PEER"},{"member":"mark"}]}
      """#
    let answers = ["yes", "no", "unsure"].map { ($0, #"echo '{"recognized":"\#($0)"}'"#) }
    let known = ("old", #"echo '{"recognized":"known","what":"an old one"}'"#)
    let peer = try Peer(answers + [known, ("fails", "exit 1")], description: description)
    let type = try peer.load()
    let failures = Mutex<[String]>([])
    // Tests beside this one report failures of other programs; and the handler would keep the peer.
    let own = peer.path
    StoreProgram.setFailureHandler { path, error in
      if path == own { failures.withLock { $0.append(error.message) } }
    }
    func recognize(_ name: String, _ prefix: String) -> Recognition {
      type.recognize(StoreProbe(name: name, prefix: Array(prefix.utf8), size: prefix.utf8.count))
    }
    func recognize(_ members: [ScalarString: [UInt8]]) -> Recognition {
      type.recognize(
        StoreProbe(
          name: "no", prefix: [], size: 0, isFolder: true, memberNames: members.keys.map(\.string).sorted(),
          prefixes: members))
    }
    #expect(recognize("no", "PEER") == .yes && recognize("no", "EEPE\n") == .no)
    #expect(type.recognize(StoreProbe(name: "no", prefix: [0, 0xFF, 1], size: 3)) == .yes)
    #expect(recognize("yes", "x\n") == .yes && recognize("unsure", "x\n") == .unsure)
    #expect(recognize("old", "x\n") == .known("an old one"))
    #expect(recognize([ScalarString("index"): Array("PEER".utf8)]) == .yes)
    #expect(recognize([ScalarString("mark"): []]) == .yes)
    #expect(recognize([ScalarString("index"): Array("PEAR".utf8)]) == .no)
    #expect(failures.withLock { $0 }.isEmpty)
    #expect(recognize("fails", "x\n") == .no)
    #expect(failures.withLock { $0 }.first?.contains("when it was asked to recognize content") == true)
    // A function that a mutex holds is wrapped at each look at it, and would need more of the stack for each call.
    for _ in 0..<100_000 { ProgramTable.report(PersistentStoreError(.notSupported, ""), of: peer.path) }
    #expect(failures.withLock { $0 }.count == 100_001)
  }

  @Test("a program that was written an instant ago is started once no one has it open for writing")
  func busy() throws {
    let peer = try Peer()
    let file = try #require(fopen(peer.path, "ae"))
    let number = UInt(bitPattern: file)
    Thread.detachNewThread {
      usleep(100_000)
      if let file = UnsafeMutablePointer<FILE>(bitPattern: number) { fclose(file) }
    }
    #expect(try peer.load().storeType == "Peer")
  }

  @Test("a program that cannot be started says why")
  func start() throws {
    let folder = try TemporaryDirectory("peer")
    let path = folder.path + "/peer"
    try Peer.write("hello\n", to: path)
    for (script, mode, expected): (String, mode_t, String) in [
      ("#!/nonexistent/python\n", 0o755, "its first line may name an interpreter that does not exist"),
      ("hello\n", 0o644, "'chmod +x' makes it one"),
    ] {
      try Peer.write(script, to: path)
      chmod(path, mode)
      let error = #expect(throws: PersistentStoreError.self) { try StoreProgram(loading: path) }
      #expect(error?.message.contains(expected) == true, "\(String(describing: error))")
    }
  }

  @Test("what a program is: an executable, not a library")
  func kind() throws {
    let folder = try TemporaryDirectory("peer")
    try Peer.write("x", to: folder.path + "/a.so")
    try Peer.write("x", to: folder.path + "/b.py")
    #expect(!StoreProgram.isProgram(folder.path + "/a.so") && StoreProgram.isProgram(folder.path + "/b.py"))
    #expect(!StoreProgram.isProgram(folder.path))
  }

  @Test("a program that describes it makes files for the checks, and one that does not is not asked")
  func checksums() throws {
    let description = Peer.description.dropLast() + #","checksum":["recompute","newer"]}"#
    let peer = try Peer(description: String(description))
    let script = try String(contentsOfFile: peer.path, encoding: .utf8)
    try Peer.write(
      script.replacing(
        "  *'\"do\":\"save\"'*)",
        with: #"""
            *'"do":"recompute"'*) echo '{"read":4,"at":1}'; read -r size; printf '{"write":6}\n%s' "$(head -c 4)"; echo '#7{"done":true}' ;;
            *'"do":"newer"'*) echo '{"done":false}' ;;
            *'"do":"save"'*)
          """#), to: peer.path)
    let type = try #require(try peer.load() as? any ChecksummedStore.Type)
    #expect(type.recomputeChecksum(of: ["": Array("xPEERy".utf8)]) == ["": Array("PEER#7".utf8)])
    #expect(type.newerVersion(of: ["": [1]]) == nil)
    #expect(type.payload(of: ["": [1]]) == ["": [1]])
    #expect(type.duplicate(of: ["": [1]]) == nil && type.crafted(from: ["": [1]]).isEmpty)
    let other = try #require(try Peer().load() as? any ChecksummedStore.Type)
    #expect(other.recomputeChecksum(of: ["": [1]]) == nil)
    let wrong = try Peer(description: String(description.replacing("recompute", with: "recomputed")))
    let error = #expect(throws: PersistentStoreError.self) { try wrong.load() }
    #expect(error?.message.contains("described the checksum request 'recomputed', which is not one") == true)
  }

  /// What a program answers to the request crafted, and how many stores that makes.
  static let crafted: [(String, Int)] = [
    (#"{"store":"a","expected":"refused"}\n{"write":2}\nxy{"write":1}\nz{"store":"b","expected":"same"}\n"#, 2),
    ("", 0), (#"{"write":1}\nx"#, 0), (#"{"store":"a","expected":"lost"}\n"#, 0),
    (#"{"store":"a","as":"same","expected":"same"}\n"#, 0), (#"{"store":"a","expected":"same"}\n{"write":9}\nx"#, 0),
  ]

  @Test("a program names the stores that it crafts, and what comes of each", arguments: crafted)
  func crafts(_ answer: String, _ count: Int) throws {
    let peer = try Peer(description: Peer.description.dropLast() + #","checksum":["crafted"]}"#)
    let script = try String(contentsOfFile: peer.path, encoding: .utf8)
    let save = "  *'\"do\":\"save\"'*)"
    let craft = "  *'\"do\":\"crafted\"'*) printf '%b' '\(answer)' '{\"done\":true}\\n' ;;\n"
    try Peer.write(script.replacing(save, with: craft + save), to: peer.path)
    let type = try #require(try peer.load() as? any ChecksummedStore.Type)
    let stores = type.crafted(from: ["": [1]])
    #expect(stores.map(\.label) == Array(["a", "b"].prefix(count)))
    guard count > 0 else { return }
    #expect(stores.map(\.files) == [["": Array("xyz".utf8)], [:]] && stores.map(\.expectation) == [.refused, .same])
  }
}
