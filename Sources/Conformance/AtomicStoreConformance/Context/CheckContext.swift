import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc
import Synchronization

/// Where a check is carried out: its own folder, its own processes, and a record of what was done.
///
/// The check's own code never touches the store. It says what is to be done in a process (``process(_:_:)``), gets back
/// what was seen there as a value, and compares.
struct CheckContext: Sendable {
  let subject: TestedStore
  let folder: String
  let seed: UInt64
  /// Whether the store declares that it cannot do this, and has to refuse.
  let isRefusal: Bool
  /// Runs a part of a check, by its ID, in a new process; returns what it noted.
  let runElsewhere: @Sendable (_ id: String) throws -> [String]
  let record = Record()

  var traits: StoreTraits { subject.type.traits }

  /// What a failure, and the report, tell.
  final class Record: Sendable {
    private struct State {
      var done: [String] = []
      var notes: [String] = []
      var strip: [String] = []
      var output: [String] = []
      var errors = ""
      var expectations = 0
      var files = 0
    }
    private let state = Mutex(State())
    var done: [String] { state.withLock { $0.done } }
    var notes: [String] { state.withLock { $0.notes } }
    var strip: [String] { state.withLock { $0.strip } }
    /// What the store did to standard output, and when.
    var output: [String] { state.withLock { $0.output } }
    func talked(_ line: String) { state.withLock { if $0.output.count < 10 { $0.output.append(line) } } }
    /// What the last process that ended by itself wrote to standard error.
    var errors: String { state.withLock { $0.errors } }
    func heard(_ errors: String) { state.withLock { $0.errors = errors } }
    var expectations: Int { state.withLock { $0.expectations } }
    func did(_ line: String) {
      state.withLock { state in
        // A sweep does the same a thousand times: the last ones tell.
        if state.done.count >= 40 { state.done.removeFirst(20) }
        if state.done.last != line { state.done.append(line) }
      }
    }
    func note(_ line: String) { state.withLock { if $0.notes.count < 200 { $0.notes.append(line) } } }
    func mark(_ word: String) { state.withLock { $0.strip.append(word) } }
    func expected() { state.withLock { $0.expectations += 1 } }
    func nextFile() -> Int {
      state.withLock { state in
        state.files += 1
        return state.files
      }
    }
  }

  /// A path in the check's folder, with the extension that the format prefers.
  func path(_ name: String = "store") -> String {
    if traits.isInProcess { return "memory:\(folder)/\(name)" }
    let suffix = subject.type.traits.fileExtensions.first.map { "." + $0 } ?? ""
    return folder + "/" + name + suffix
  }

  func note(_ line: String) { record.note(line) }

  // MARK: Processes
  //
  // Three hundred closures are run by these three functions, with dozens of types of values. Compiled for each type
  // they took two fifths of a release build, for code that waits for processes: so they are compiled once.

  /// Runs a closure in a process that has not touched the store before, and gives back what it returns.
  ///
  /// - Throws: ``PhaseFailure`` for an error, a crash or a hang.
  @_semantics("optimize.sil.specialize.generic.never")
  func process<Value: Codable & Sendable>(
    _ what: String, seconds: Int = 20, _ body: (StoreSession) throws -> Value
  ) throws -> Value {
    try settle(attempt(what, seconds: seconds, body), what, seconds: seconds)
  }

  /// As ``process(_:seconds:_:)``, with a store that is open.
  @_semantics("optimize.sil.specialize.generic.never")
  func process<Value: Codable & Sendable>(
    _ what: String, opening path: String, _ model: ModelDescription?, isReadOnly: Bool = false, seconds: Int = 20,
    _ body: (StoreSession, StoreSession.Open) throws -> Value
  ) throws -> Value {
    try process(what, seconds: seconds) { session in
      try session.opened(path, model, isReadOnly: isReadOnly) { try body(session, $0) }
    }
  }

  /// As ``process(_:seconds:_:)``; nil if it is refused with a store error, which is noted.
  @_semantics("optimize.sil.specialize.generic.never")
  func unlessRefused<Value: Codable & Sendable>(
    _ what: String, _ body: (StoreSession) throws -> Value
  ) throws -> Value? {
    let end = try attempt(what, body)
    guard case .refused(let error) = end else { return try settle(end, what) }
    try expect(error.code != nil, "\(what): it succeeds, or is refused with a store error", error.text)
    note("\(what): \(error.text)")
    return nil
  }

  /// As ``process(_:_:)``, for what must fail: gives back the error. A crash or a hang is the check's end all the same.
  @_semantics("optimize.sil.specialize.generic.never")
  func refusal<Value: Codable & Sendable>(
    of what: String, codes: Set<String> = [], seconds: Int = 20, _ body: (StoreSession) throws -> Value
  ) throws -> PhaseError {
    let error = try refusal(in: attempt(what, seconds: seconds, body), what, seconds: seconds) {
      "no error was thrown\(Self.short($0))"
    }
    record.expected()
    guard let code = error.code else {
      throw ExpectationFailure(
        expected: "\(what): refused with a store error", actual: "an error of another type: \(error.text)")
    }
    if !codes.isEmpty, !codes.contains(code) {
      throw ExpectationFailure(
        expected: "\(what): refused as \(codes.sorted().joined(separator: " or "))", actual: "\(code): \(error.text)")
    }
    return error
  }

  /// Runs a closure in a fresh process, however that ends.
  @_semantics("optimize.sil.specialize.generic.never")
  func attempt<Value: Codable & Sendable>(
    _ what: String, seconds: Int = 20, faults: FaultPlan? = nil, memory: Int64 = 0, cpuSeconds: Int64 = 0,
    _ body: (StoreSession) throws -> Value
  ) throws -> PhaseEnd<Value> {
    try run(what, seconds: seconds, faults: faults, memory: memory, cpuSeconds: cpuSeconds) { session in
      let value = try body(session)
      return try? JSONEncoder().encode(value)
    }.decoded(as: Value.self)
  }

  private func run(
    _ what: String, seconds: Int, faults: FaultPlan?, memory: Int64, cpuSeconds: Int64,
    _ body: (StoreSession) throws -> Data?
  ) throws -> PhaseEnd<Data> {
    record.did(what)
    let session = StoreSession(subject: subject, folder: folder)
    var plan = faults
    if plan == nil, subject.mistakes != 0 { plan = try FaultPlan() }
    if let plan { plan.state.pointee.mistakes |= subject.mistakes }
    if traits.isInProcess, subject.incremental == nil { return try Phase.runHere { try body(session) } }
    return try Phase.run(
      file: "\(folder).phase\(record.nextFile())", milliseconds: limit(seconds).milliseconds,
      faults: plan?.state, memory: memory, seconds: cpuSeconds,
      output: { said in
        record.heard(said.errors)
        if let text = said.text { record.talked("\(what): \(text)") }
      }
    ) { try body(session) }
  }

  /// The value of an end that is one.
  ///
  /// - Parameter seconds: The time limit of the process, for the message.
  @discardableResult @_semantics("optimize.sil.specialize.generic.never")
  func settle<Value>(_ end: PhaseEnd<Value>, _ what: String, seconds: Int? = nil) throws -> Value {
    switch end {
    case .value(let value): return value
    case .refused(let error):
      throw PhaseFailure(expected: "\(what): it succeeds", actual: error.text, code: error.code)
    default: throw failure(of: end, expected: "\(what): it ends", seconds)
    }
  }

  /// The error of an end that must be one.
  ///
  /// - Parameter shown: What a value says instead, in words.
  @_semantics("optimize.sil.specialize.generic.never")
  func refusal<Value>(
    in end: PhaseEnd<Value>, _ what: String, seconds: Int? = nil, _ shown: (Value) -> String
  ) throws -> PhaseError {
    let expected = "\(what): refused, with an error"
    switch end {
    case .refused(let error): return error
    case .value(let value): throw ExpectationFailure(expected: expected, actual: shown(value))
    default: throw failure(of: end, expected: expected, seconds)
    }
  }

  /// What is reported of a process that ended without a value and without an error.
  private func failure<Value>(of end: PhaseEnd<Value>, expected: String, _ seconds: Int?) -> PhaseFailure {
    let errors = record.errors.split(separator: "\n").prefix(12).map { GraphText.shown(String($0), most: 300) }
    let said = errors.isEmpty ? "" : "; it wrote to standard error:\n  " + errors.joined(separator: "\n  ")
    switch end {
    case .crashed(let signal): return PhaseFailure(expected: expected, actual: Self.crash(signal) + said, isCrash: true)
    case .exited(let code):
      return PhaseFailure(
        expected: expected, actual: "the process ended by itself, with \(code)" + said, isCrash: true)
    default:
      let after = seconds.map { " after \(limit($0).text) \(Self.limitWords)" } ?? ""
      return PhaseFailure(expected: expected, actual: "it was stopped" + after + said, isTimeOut: true)
    }
  }

  /// What a limit is of.
  static let limitWords = "of processor time, or ten times as long of waiting"

  private func limit(_ seconds: Int) -> Duration {
    min(.seconds(seconds), subject.timeLimit ?? .seconds(seconds))
  }

  private static func crash(_ signal: Int32) -> String {
    let name: String
    switch signal {
    case SIGSEGV: name = "SIGSEGV, an access outside of memory"
    case SIGILL, SIGTRAP: name = "a Swift trap: an index, an overflow, a nil that was unwrapped"
    case SIGABRT: name = "SIGABRT"
    case SIGKILL: name = "SIGKILL, perhaps for memory"
    case SIGXCPU: name = "SIGXCPU, the processor's time was used up"
    default: name = "signal \(signal)"
    }
    return "the process crashed: \(name)"
  }

  private static func short(_ value: some Codable) -> String {
    guard let data = try? JSONEncoder().encode(value) else { return "" }
    let text = String(decoding: data, as: UTF8.self)
    return text == "true" || text.isEmpty ? "" : ", and it gave \(text.prefix(200))"
  }

  // MARK: Expectations

  /// - Parameter expected: What should be so, in words.
  func expect(_ condition: Bool, _ expected: String, _ actual: @autoclosure () -> String) throws {
    record.expected()
    guard condition else { throw ExpectationFailure(expected: expected, actual: actual()) }
  }

  @_semantics("optimize.sil.specialize.generic.never")
  func expectEqual<Value: Equatable>(_ actual: Value, _ expected: Value, _ what: String) throws {
    record.expected()
    guard actual == expected else {
      let (one, other) = ("\(expected)", "\(actual)")
      guard max(one.utf8.count, other.utf8.count) > 2000 else {
        throw ExpectationFailure(expected: "\(what): \(one)", actual: other)
      }
      let difference = GraphText.Difference("\(what): ", one, "", other, most: 1000)
      throw ExpectationFailure(expected: difference.expected, actual: difference.actual)
    }
  }

  /// Texts are compared by their scalars, whatever holds them.
  func expectEqual(_ actual: String, _ expected: String, _ what: String) throws {
    try expectEqual(ScalarKey(actual), ScalarKey(expected), what)
  }
  func expectEqual(_ actual: String?, _ expected: String?, _ what: String) throws {
    try expectEqual(actual.map { ScalarKey($0) }, expected.map { ScalarKey($0) }, what)
  }
  func expectEqual(_ actual: [String], _ expected: [String], _ what: String) throws {
    try expectEqual(actual.map { ScalarKey($0) }, expected.map { ScalarKey($0) }, what)
  }

  /// Texts by their scalars: Swift's `==` takes some that differ for one.
  func expectSame(_ actual: GraphText, _ expected: GraphText, _ what: String) throws {
    try expectNone(expected.differences(from: actual), what)
  }

  func expectNone(_ differences: [GraphText.Difference], _ what: String) throws {
    record.expected()
    guard !differences.isEmpty else { return }
    let shown = differences.prefix(GraphText.mostShown)
    throw ExpectationFailure(
      expected: what + ":\n" + shown.map { "  " + $0.expected }.joined(separator: "\n"),
      actual: shown.map { "  " + $0.actual }.joined(separator: "\n")
        + (differences.count > shown.count ? "\n  and more differences" : ""))
  }

  func expectUntouched(_ path: String, _ before: [String: [UInt8]]?, _ what: String) throws {
    let now = Files.content(path)
    try expect(now == before, "\(what): the bytes are as they were", Self.difference(before, now))
  }

  static func difference(_ one: [String: [UInt8]]?, _ other: [String: [UInt8]]?) -> String {
    guard let one else { return other == nil ? "nothing is there" : "there was nothing, and now there is" }
    guard let other else { return "it is gone" }
    for (name, bytes) in one.sorted(by: { $0.key < $1.key }) {
      let label = name.isEmpty ? "the file" : name
      guard let now = other[name] else { return "\(label) is gone" }
      if now != bytes {
        let place =
          zip(now, bytes).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(now.count, bytes.count)
        return "\(label) differs at byte \(place), and has \(now.count) bytes instead of \(bytes.count)"
      }
    }
    return other.keys.filter { one[$0] == nil }.sorted().map { "\($0) is new" }.joined(separator: ", ")
  }
}
