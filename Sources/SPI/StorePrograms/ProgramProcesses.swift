import AtomicStoreSPI
import Glibc
import Synchronization

/// The processes of one program while stores of its type are open. Starting one takes longer than most requests, so a
/// process that answered is kept for the next request; the last store that is closed ends them. After an error the
/// process is ended, and the request is not repeated.
final class ProgramProcesses: Sendable {
  private let program: String
  private let path: String
  let limits: ProgramLimits
  private let idle = Mutex<[ProgramConnection]>([])

  /// - Parameters:
  ///   - program: Its path from the root.
  ///   - path: Its path as it was specified.
  init(of program: String, as path: String, limits: ProgramLimits) {
    self.program = program
    self.path = path
    self.limits = limits
  }

  /// Ends the processes that do nothing.
  func endIdle() {
    let all = idle.withLockIfAvailable { idle in
      defer { idle.removeAll() }
      return idle
    }
    for connection in all ?? [] { connection.end() }
  }

  /// Sends a request to a process that does nothing else meanwhile.
  ///
  /// - Parameter what: What is asked for, for errors: "to load a store".
  func request<Answer>(
    _ what: String, _ body: (ProgramConnection) throws(PersistentStoreError) -> Answer
  ) throws(PersistentStoreError) -> Answer {
    let connection = try take(what)
    let answer: Answer
    do throws(PersistentStoreError) { answer = try body(connection) } catch {
      guard connection.isAnswered else {
        connection.end()
        throw error
      }
      try keep(connection)
      throw error
    }
    try keep(connection)
    return answer
  }

  /// Keeps a process for the next request, unless enough are.
  private func keep(_ connection: ProgramConnection) throws(PersistentStoreError) {
    try connection.finish()
    let isKept = idle.withLock { idle in
      guard idle.count < limits.idle else { return false }
      idle.append(connection)
      return true
    }
    if !isKept { connection.end() }
  }

  private func take(_ what: String) throws(PersistentStoreError) -> ProgramConnection {
    // In a copy of the process that started them they are another one's.
    let known = idle.withLock { idle in
      idle.removeAll { !$0.isOwn }
      return idle.popLast()
    }
    guard let known else {
      let new = try ProgramConnection(starting: program, as: path, limits: limits)
      new.begin(what)
      return new
    }
    known.begin(what)
    try known.requireReady()
    return known
  }
}
