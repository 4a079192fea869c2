import AtomicStoreSPI
import FoundationEssentials
import Glibc
import Synchronization

/// A program that was loaded.
final class LoadedProgram: Sendable {
  /// The path as specified.
  let path: String
  let description: ProgramDescription
  private let make: @Sendable () -> ProgramProcesses
  private struct Shared {
    weak var processes: ProgramProcesses?
    /// The same, to be kept.
    var kept: ProgramProcesses?
  }
  private let shared: Mutex<Shared>

  /// - Parameters:
  ///   - processes: Those that described the format.
  ///   - make: Makes others, none of which is started.
  init(
    _ path: String, _ description: ProgramDescription, _ processes: ProgramProcesses,
    _ make: @escaping @Sendable () -> ProgramProcesses
  ) {
    self.path = path
    self.description = description
    self.make = make
    shared = Mutex(Shared(processes: processes))
  }

  func keepProcesses() {
    let processes = processes
    shared.withLock { $0.kept = processes }
    _ = ProgramTable.endsAtExit
  }

  /// Ends the processes that are kept.
  func endKept() { shared.withLockIfAvailable { $0.kept?.endIdle() } }

  /// The processes that the open stores share.
  var processes: ProgramProcesses {
    shared.withLock { shared in
      if let known = shared.processes { return known }
      let new = make()
      shared.processes = new
      return new
    }
  }
}

/// The programs that were loaded, by the number in their types. Types cannot be unloaded, and neither are these.
enum ProgramTable {
  /// How many there can be: as many as there are types.
  static let capacity = 64
  private static let programs = Mutex<[LoadedProgram]>([])
  private static let loading = Mutex<[String: Int]>([:])
  /// What is called with failures. An object, since a function that a mutex holds is wrapped once more at each look at
  /// it.
  final class FailureHandler: Sendable {
    let body: @Sendable (_ path: String, _ error: PersistentStoreError) -> Void

    init(_ body: @escaping @Sendable (_ path: String, _ error: PersistentStoreError) -> Void) { self.body = body }
  }
  static let failureHandler = Mutex<FailureHandler?>(nil)

  static func report(_ error: PersistentStoreError, of path: String) {
    failureHandler.withLock { $0 }?.body(path, error)
  }

  static func program(_ number: Int) -> LoadedProgram { programs.withLock { $0[number] } }

  /// Ends the processes that are kept when this process exits.
  static let endsAtExit: Bool =
    atexit {
      for program in ProgramTable.programs.withLockIfAvailable({ $0 }) ?? [] { program.endKept() }
    } == 0

  static func number(
    of resolved: String, shown path: String, _ limits: ProgramLimits
  ) throws(PersistentStoreError) -> (number: Int, processes: ProgramProcesses?) {
    // A program is asked once, also where two threads need it.
    try loading.withLock { numbers throws(PersistentStoreError) in
      if let known = numbers[resolved] { return (known, nil) }
      let number = numbers.count
      guard number < capacity else {
        throw PersistentStoreError(
          .limitExceeded, "no more than \(capacity) programs can be loaded", at: StoreLocation(file: path)
        )
      }
      let folder = FileManager.default.currentDirectoryPath
      let program = path.hasPrefix("/") ? path : folder + "/" + path
      let make: @Sendable () -> ProgramProcesses = { ProgramProcesses(of: program, as: path, limits: limits) }
      let processes = make()
      let description = try processes.request("to describe its format") { connection throws(PersistentStoreError) in
        connection.send(Request.line("describe", [GraphEncoding.offer]))
        return try ProgramDescription(try ProgramMessage(from: connection))
      }
      programs.withLock { $0.append(LoadedProgram(path, description, processes, make)) }
      numbers[resolved] = number
      return (number, processes)
    }
  }
}

/// A digit of a program's number, as a type.
protocol ProgramDigit: Sendable { static var value: Int { get } }
enum Digit0: ProgramDigit { static let value = 0 }
enum Digit1: ProgramDigit { static let value = 1 }
enum Digit2: ProgramDigit { static let value = 2 }
enum Digit3: ProgramDigit { static let value = 3 }
enum Digit4: ProgramDigit { static let value = 4 }
enum Digit5: ProgramDigit { static let value = 5 }
enum Digit6: ProgramDigit { static let value = 6 }
enum Digit7: ProgramDigit { static let value = 7 }
