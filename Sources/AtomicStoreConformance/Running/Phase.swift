import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// How a part of a check that ran in a process of its own ended.
enum PhaseEnd<Value: Codable & Sendable>: Sendable {
  case value(Value)
  /// An error was thrown, as errors should be.
  case refused(PhaseError)
  case crashed(signal: Int32)
  case exited(code: Int32)
  /// It used more processor time than its limit, or waited ten times as long for something that did not come.
  case timedOut
}

extension PhaseEnd<Data> {
  /// With the value that the bytes stand for; an end without an answer if they stand for none.
  @_semantics("optimize.sil.specialize.generic.never")
  func decoded<Answer: Codable & Sendable>(as type: Answer.Type) -> PhaseEnd<Answer> {
    switch self {
    case .value(let bytes): (try? JSONDecoder().decode(Answer.self, from: bytes)).map { .value($0) } ?? .exited(code: 0)
    case .refused(let error): .refused(error)
    case .crashed(let signal): .crashed(signal: signal)
    case .exited(let code): .exited(code: code)
    case .timedOut: .timedOut
    }
  }
}

/// An error that crossed from one process to another.
struct PhaseError: Codable, Sendable, Error {
  /// The store error's code; nil for errors of another type.
  var code: String?
  var text: String
  var hasFile = false
  var hasPlace = false
  var line: Int?

  init(code: String?, text: String) {
    self.code = code
    self.text = text
  }
  init(_ error: PersistentStoreError) {
    code = error.code.description
    text = "\(error)"
    hasFile = error.location.file != nil
    hasPlace = error.location.line != nil || error.location.offset != nil
    line = error.location.line
  }
}

/// A failed expectation: what ends a check.
struct Disappointment: Error, Codable, Sendable {
  var expected: String
  var actual: String
}
/// A check that cannot be tried here.
struct Blockage: Error, Codable, Sendable { var reason: String }
/// A check that, as its own first look at the store's files tells, is not about this kind of file.
struct Inapplicable: Error { var reason: String }

/// What a process sends back. The value is bytes, so that nothing here is compiled again for each type of value.
private struct Envelope: Codable {
  var value: Data?
  var error: PhaseError?
  var disappointment: Disappointment?
  var lostOutput = false
}

/// What a process did to its standard output, which is not a store's to use.
struct PhaseOutput {
  /// As many as the stream holds, at most.
  var bytes = 0
  /// Closed, or made something else.
  var isLost = false

  var text: String? {
    if isLost { return "it closed standard output" }
    return bytes > 0 ? "it wrote \(bytes > 60_000 ? "more than 60000" : "\(bytes)") bytes to standard output" : nil
  }
}

/// Runs a closure in a process that has not touched the store: a copy of this one, which never does.
enum Phase {
  /// That what is tested is not to blame: limits are of processor time, and other processes do not count.
  static func slowMachine(_ milliseconds: Int, used: Int64) -> String {
    "the machine is too slow, or too busy: in ten times its limit a process was given \(used) ms of processor time, of \(milliseconds)"
  }

  /// - Parameter body: Returns the value as bytes; nil if it cannot be made bytes.
  static func run(
    file: String, milliseconds: Int, faults: UnsafeMutablePointer<csf_state>?, memory: Int64 = 0, seconds: Int64 = 0,
    output: (PhaseOutput) -> Void = { _ in }, _ body: () throws -> Data?
  ) throws -> PhaseEnd<Data> {
    fflush(nil)
    var pipe: [Int32] = [-1, -1]
    guard csf_output(&pipe) == 0 else { throw Blockage(reason: "no pipe can be made: \(String(cString: strerror(errno)))") }
    var said = PhaseOutput()
    defer {
      said.bytes = Int(csf_waiting(pipe[0]))
      close(pipe[0])
      close(pipe[1])
      output(said)
    }
    let child = csf_fork()
    if child < 0 { throw Blockage(reason: "no process can be started: \(String(cString: strerror(errno)))") }
    if child == 0 {
      csf_take_output(pipe[1])
      csf_limit(memory, seconds)
      if let faults { csf_arm(faults) }
      var envelope = Envelope()
      do { envelope.value = try body() } catch let error as Disappointment {
        envelope.disappointment = error
      } catch let error as PersistentStoreError {
        envelope.error = PhaseError(error)
      } catch let error as ManagedObjectError {
        // The stack's error has the store's below it, where it is one of a store.
        envelope.error = (error.underlying as? PersistentStoreError).map { PhaseError($0) } ?? PhaseError(code: nil, text: "\(error)")
      } catch {
        envelope.error = PhaseError(code: nil, text: "\(error)")
      }
      csf_disarm()
      fflush(nil)
      envelope.lostOutput = csf_has_output(pipe[1]) == 0
      let bytes = (try? JSONEncoder().encode(envelope)).map { Array($0) } ?? []
      Files.write(bytes, to: file)
      _exit(0)
    }
    var code: Int32 = 0
    var used: Int64 = 0
    let end = csf_wait_for_work(child, Int32(clamping: milliseconds), &code, &used)
    switch end {
    case 0, 3, 4:
      kill(child, SIGKILL)
      _ = csf_wait(child, 1000, &code)
      if end == 4 { throw Blockage(reason: slowMachine(milliseconds, used: used)) }
      return .timedOut
    case 2: return .crashed(signal: code)
    default:
      let bytes = Files.read(file)
      unlink(file)
      guard code == 0, let bytes, let envelope = try? JSONDecoder().decode(Envelope.self, from: Data(bytes)) else {
        return .exited(code: code)
      }
      said.isLost = envelope.lostOutput
      if let disappointment = envelope.disappointment { throw disappointment }
      if let error = envelope.error { return .refused(error) }
      guard let value = envelope.value else { return .exited(code: code) }
      return .value(value)
    }
  }
}

/// Files as the harness itself handles them: nothing of the kit, whose files are what is being tested.
enum Files {
  static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while true {
      let got = Glibc.read(descriptor, &buffer, buffer.count)
      if got < 0 { return nil }
      if got == 0 { return bytes }
      bytes += buffer[0..<got]
    }
  }

  @discardableResult static func write(_ bytes: [UInt8], to path: String) -> Bool {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    var place = 0
    while place < bytes.count {
      let put = bytes[place...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard put > 0 else { return false }
      place += put
    }
    return true
  }

  static func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  static func status(_ path: String, followsLinks: Bool = false) -> stat? {
    var info = stat()
    return (followsLinks ? stat(path, &info) : lstat(path, &info)) == 0 ? info : nil
  }
  static func isFolder(_ path: String) -> Bool { status(path, followsLinks: true).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false }
  static func exists(_ path: String) -> Bool { status(path) != nil }

  static func makeFolder(_ path: String) { mkdir(path, 0o755) }

  static func remove(_ path: String) {
    if let info = status(path), info.st_mode & S_IFMT == S_IFDIR {
      for name in names(in: path) { remove(path + "/" + name) }
      rmdir(path)
    } else {
      unlink(path)
    }
  }

  static func copy(_ from: String, to: String) {
    if isFolder(from) {
      makeFolder(to)
      for name in names(in: from) { copy(from + "/" + name, to: to + "/" + name) }
    } else if let bytes = read(from) {
      write(bytes, to: to)
    }
  }

  /// Everything that lies at a path: names and bytes. Nil where nothing does.
  static func content(_ path: String) -> [String: [UInt8]]? {
    guard exists(path) else { return nil }
    guard isFolder(path) else { return read(path).map { ["": $0] } }
    var all: [String: [UInt8]] = [:]
    for name in names(in: path) {
      for (inner, bytes) in content(path + "/" + name) ?? [:] { all[inner.isEmpty ? name : name + "/" + inner] = bytes }
    }
    return all
  }
}
