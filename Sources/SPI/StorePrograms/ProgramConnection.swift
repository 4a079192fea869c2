package import AtomicStoreSPI
import CProcesses
import FoundationEssentials
import Glibc
import StoreJSON

/// A running process of a program, and the streams that lead to it.
///
/// `@unchecked Sendable`: one request at a time uses it, see ``ProgramProcesses``.
package final class ProgramConnection: @unchecked Sendable {
  let path: String
  /// What the path is, for errors.
  private let kind: String
  private let limits: ProgramLimits
  /// The process that started it: a copy of that process must not use its streams.
  private let owner = getpid()
  private var process: pid_t
  /// Standard input, output and error of the process; -1 if closed. The first is a socket, since writing to a pipe
  /// whose reader ended would end this process.
  private var input: Int32
  private var output: Int32
  private var errors: Int32

  /// What is to be written, of which the first bytes were.
  private var pending: [UInt8] = []
  private var written = 0
  /// What was read, of which the first bytes were used, and up to where no line feed was found.
  private var received: [UInt8] = []
  private var used = 0
  private var searched = 0
  private var isAtEnd = false
  /// How much came on standard error since the request began, and the last of it.
  private var noise = 0
  private var lastNoise: [UInt8] = []
  /// What is asked for, for errors.
  private var request = ""
  /// Whether the program's answer is complete: an error that it reports is an answer, too, and the process goes on.
  var isAnswered = false

  private static let piece = 1 << 18
  private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: ProgramConnection.piece, alignment: 16)

  /// Starts the program, with its three streams and nothing else of this process.
  ///
  /// - Parameters:
  ///   - program: Its path from the root: the directory of this process may change.
  ///   - words: Its arguments.
  ///   - path: Its path as it was specified, for errors; or that of what it tries.
  ///   - kind: What the path is, for errors.
  package init(
    starting program: String, _ words: [String] = [], as path: String, kind: String = "program",
    environment: [String: String] = ProcessInfo.processInfo.environment, limits: ProgramLimits
  ) throws(PersistentStoreError) {
    self.path = path
    self.kind = kind
    self.limits = limits
    (process, input, output, errors) = (-1, -1, -1, -1)
    var (toInput, fromOutput, fromErrors): ([Int32], [Int32], [Int32]) = ([-1, -1], [-1, -1], [-1, -1])
    defer { for end in [toInput[1], fromOutput[1], fromErrors[1]] where end >= 0 { close(end) } }
    let isMade = cpr_socketpair(&toInput) == 0 && cpr_pipe(&fromOutput) == 0 && cpr_pipe(&fromErrors) == 0
    (input, output, errors) = (toInput[0], fromOutput[0], fromErrors[0])
    guard isMade, [input, output, errors].allSatisfy({ cpr_never_wait($0) == 0 }) else {
      throw PersistentStoreError(
        .inputOutput, "no stream to the program can be made: \(String(cString: strerror(errno)))",
        at: StoreLocation(file: path))
    }
    var arguments = ([program] + words).map { strdup($0) } + [nil]
    var variables = environment.sorted { $0.key < $1.key }.map {
      strdup("\($0.key)=\($0.value)")
    }
    variables.append(nil)
    defer { for text in arguments + variables { free(text) } }
    process = cpr_spawn(program, &arguments, &variables, nil, [toInput[1], fromOutput[1], fromErrors[1]], 3)
    guard process > 0 else {
      // A script without the line that names its interpreter gives this error.
      let advice = errno == ENOEXEC ? "; a script begins with a line such as #!/usr/bin/env python3" : ""
      let missing = errno == ENOENT ? "; its first line may name an interpreter that does not exist" : ""
      throw PersistentStoreError(
        .notSupported, "the program cannot be started: \(String(cString: strerror(errno)))\(advice)\(missing)",
        at: StoreLocation(file: path))
    }
  }

  deinit {
    end()
    buffer.deallocate()
  }

  /// Ends the process and closes the streams.
  package func end() {
    for stream in [input, output, errors] where stream >= 0 { close(stream) }
    (input, output, errors) = (-1, -1, -1)
    guard process > 0, owner == getpid() else { return }
    // What it started is in its group.
    kill(-process, SIGKILL)
    kill(process, SIGKILL)
    while waitpid(process, nil, 0) < 0, errno == EINTR {}
    process = -1
  }

  /// Whether the program was not ended yet.
  var isRunning: Bool { process > 0 }

  /// Whether this process may use it.
  var isOwn: Bool { owner == getpid() }

  // MARK: Requests

  /// - Parameter what: What is asked for, for errors: "to load a store".
  package func begin(_ what: String) {
    request = what
    isAnswered = false
    noise = 0
    lastNoise.removeAll()
  }

  /// Ends a request: nothing may follow its answer.
  func finish() throws(PersistentStoreError) {
    guard backlog == 0 else { throw failure("answered before it read all that it was sent") }
    try refuseMore()
  }

  /// Refuses what the program wrote unasked.
  private func refuseMore() throws(PersistentStoreError) {
    if !isAtEnd { _ = try exchange(wait: false) }
    guard used == received.count else { throw failure("wrote more after its answer: \(Self.shown(received[used...]))") }
  }

  /// Refuses a process that ended or wrote something since its last answer: a program serves requests until its
  /// standard input ends.
  func requireReady() throws(PersistentStoreError) {
    try refuseMore()
    if isAtEnd { throw failure("\(endedReason) after its last answer") }
  }

  // MARK: Sending

  /// Adds bytes to what the program is to read; they are written while answers are awaited.
  func send(_ bytes: [UInt8]) {
    if written == pending.count {
      pending.removeAll(keepingCapacity: true)
      written = 0
    } else if written >= Self.piece {
      pending.removeFirst(written)
      written = 0
    }
    pending.append(contentsOf: bytes)
  }

  /// How many bytes wait to be written.
  var backlog: Int { pending.count - written }

  // MARK: Receiving

  /// The next message, for which this waits.
  package func message() throws(PersistentStoreError) -> [UInt8] {
    while true {
      if let line = try line() { return line }
      if isAtEnd { throw failure(endedReason) }
      _ = try exchange(wait: true)
    }
  }

  /// The next message if there is one; else writes and reads a piece.
  func messageIfAny() throws(PersistentStoreError) -> [UInt8]? {
    if let line = try line() { return line }
    if isAtEnd { throw failure(endedReason) }
    _ = try exchange(wait: true)
    return try line()
  }

  /// Passes on the next bytes, as many as a message announced.
  func bytes(
    _ count: Int, _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    var rest = count
    while rest > 0 {
      let part = min(rest, received.count - used)
      if part > 0 {
        try received.withUnsafeBufferPointer { all throws(PersistentStoreError) in
          try body(UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: all[used..<used + part])))
        }
        use(part)
        rest -= part
      } else if isAtEnd {
        throw failure("\(endedReason), after \(count - rest) of \(count) bytes")
      } else {
        _ = try exchange(wait: true)
      }
    }
  }

  private func use(_ count: Int) {
    used += count
    searched = used
    guard used == received.count else { return }
    received.removeAll(keepingCapacity: true)
    (used, searched) = (0, 0)
  }

  private func line() throws(PersistentStoreError) -> [UInt8]? {
    let end = received.withUnsafeBytes { all -> Int? in
      guard let base = all.baseAddress, searched < all.count,
        let found = memchr(base + searched, Int32(UInt8(ascii: "\n")), all.count - searched)
      else { return nil }
      return UnsafeRawPointer(found) - base
    }
    guard let end else {
      searched = received.count
      guard searched - used <= limits.message else {
        throw failure("wrote a message of more than \(limits.message) bytes")
      }
      return nil
    }
    guard end - used <= limits.message else { throw failure("wrote a message of more than \(limits.message) bytes") }
    let line = Array(received[used..<end])
    use(end + 1 - used)
    return line
  }

  // MARK: Streams

  /// Writes and reads what can be, once.
  ///
  /// - Parameter wait: Whether to wait until something can be.
  /// - Throws: If nothing can be for as long as the program may be silent.
  private func exchange(wait: Bool) throws(PersistentStoreError) -> Bool {
    var streams: [pollfd] = [pollfd(fd: isAtEnd ? -1 : output, events: Int16(POLLIN), revents: 0)]
    streams.append(pollfd(fd: errors, events: Int16(POLLIN), revents: 0))
    streams.append(pollfd(fd: backlog > 0 ? input : -1, events: Int16(POLLOUT), revents: 0))
    let count = poll(&streams, nfds_t(streams.count), wait ? Int32(limits.silence) : 0)
    if count < 0 {
      guard errno == EINTR || errno == EAGAIN else { throw failure("cannot be waited for: errno \(errno)") }
      return true
    }
    if count == 0 {
      guard wait else { return false }
      let rest = backlog > 0 ? ", and does not read what it is sent" : ""
      throw failure("did nothing for \(Self.seconds(limits.silence))\(rest)", .timedOut)
    }
    if streams[0].revents != 0 { try readOutput() }
    if streams[1].revents != 0 { try readErrors() }
    if streams[2].revents != 0 { writePending() }
    return true
  }

  private func readOutput() throws(PersistentStoreError) {
    // The bytes that were used are dropped, when there are many.
    if used > 0, used >= received.count / 2 {
      received.removeFirst(used)
      (searched, used) = (searched - used, 0)
    }
    let got = Glibc.read(output, buffer.baseAddress, buffer.count)
    let reason = errno
    if got > 0 { received.append(contentsOf: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<got])) }
    if got == 0 { isAtEnd = true }
    guard got >= 0 || reason == EAGAIN || reason == EINTR else { throw failure("cannot be read: errno \(reason)") }
  }

  private func readErrors() throws(PersistentStoreError) {
    var piece = [UInt8](repeating: 0, count: 4096)
    let got = piece.withUnsafeMutableBytes { Glibc.read(errors, $0.baseAddress, $0.count) }
    if got < 0, errno == EAGAIN || errno == EINTR { return }
    guard got > 0 else {
      close(errors)
      errors = -1
      return
    }
    noise += got
    lastNoise += piece[..<got]
    if lastNoise.count > limits.shownNoise { lastNoise.removeFirst(lastNoise.count - limits.shownNoise) }
    guard noise <= limits.noise else { throw failure("wrote more than \(limits.noise) bytes to standard error") }
  }

  private func writePending() {
    let count = pending.withUnsafeBytes { all in
      Glibc.send(input, all.baseAddress.map { $0 + written }, min(all.count - written, Self.piece), Int32(MSG_NOSIGNAL))
    }
    if count > 0 {
      written += count
    } else if errno != EAGAIN, errno != EINTR {
      // It does not read any more: the end of its output says why.
      pending.removeAll()
      written = 0
    }
  }

  // MARK: Errors

  private enum Ending {
    case exited(Int32)
    case signalled(Int32)
  }
  private var ended: Ending?

  /// How the process ended, if it does within a time in milliseconds.
  private func ending(within time: Int32) -> Ending? {
    if ended == nil, process > 0 {
      var code: Int32 = 0
      switch cpr_wait(process, time, &code) {
      case 1: ended = .exited(code)
      case 2: ended = .signalled(code)
      default: return nil
      }
      // What it started may go on, in its group.
      kill(-process, SIGKILL)
      process = -1
    }
    return ended
  }

  private var endedReason: String {
    switch ending(within: 2_000) {
    case .exited(let code): "ended with exit code \(code)"
    case .signalled(let signal): "was ended by signal \(signal) (\(String(cString: strsignal(signal))))"
    case nil: "closed its standard output"
    }
  }

  /// Ends the process because of what it did.
  ///
  /// - Parameter reason: The end of a sentence that begins with the program.
  package func failure(_ reason: String, _ code: PersistentStoreError.Code = .notSupported) -> PersistentStoreError {
    defer { end() }
    return mistake(reason, code)
  }

  /// As ``failure(_:_:)``, of a process that goes on: it has said where its answer ends.
  func mistake(_ reason: String, _ code: PersistentStoreError.Code = .notSupported) -> PersistentStoreError {
    var failure = error(reason, code)
    failure.isProgramFailure = true
    return failure
  }

  /// An error that names the program, which may have passed on what a damaged store contains: its process goes on.
  func error(_ reason: String, _ code: PersistentStoreError.Code = .notSupported) -> PersistentStoreError {
    // What it said last may be on its way.
    while errors >= 0, noise <= limits.noise {
      var stream = pollfd(fd: errors, events: Int16(POLLIN), revents: 0)
      guard poll(&stream, 1, 0) > 0 else { break }
      do { try readErrors() } catch { break }
    }
    var text = "the \(kind) \(path) \(reason), when it was asked \(request)"
    let said = Self.shown(lastNoise[...])
    let part = lastNoise.count > Self.shownBytes ? "begins" : "ends"
    if !said.isEmpty { text += "; its standard error \(part) with: \(said)" }
    return PersistentStoreError(code, text)
  }

  private static let shownBytes = 600

  /// Bytes for a message: control characters are escaped, lines separated by slashes.
  private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
    let text = String(decoding: bytes.prefix(shownBytes), as: UTF8.self)
    let lines = text.split(whereSeparator: \.isNewline).map { TerminalText.escaped(String($0)) }
    return lines.joined(separator: " / ")
  }

  private static func seconds(_ milliseconds: Int) -> String {
    milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000) s" : "\(milliseconds) ms"
  }
}
