package import AtomicStoreSPI
import FoundationEssentials
import Glibc
import Synchronization

/// A store type that is a program: an executable in any language, which is asked over its standard streams. The article
/// *Formats as programs* describes the protocol.
///
/// It runs apart from the kit: what it does wrong is an error that names it. It sees no path and opens no file; the kit
/// reads and writes for it, so that limits, locks and publication are the same as for any format.
package struct StoreProgram: Sendable {
  /// The version of the protocol.
  package static let protocolVersion = 1

  /// The path as specified.
  package let path: String
  /// The store type.
  package let type: any AtomicStore.Type
  private let program: LoadedProgram
  /// The process that described the format serves the first store, if that is opened while this value lives.
  private let processes: ProgramProcesses

  /// Starts a program and asks it to describe its format. A program that was loaded before is not asked again.
  ///
  /// - Throws: `.notFound`, `.notSupported` with what it did instead, `.timedOut`.
  package init(loading path: String, limits: ProgramLimits = ProgramLimits()) throws(PersistentStoreError) {
    guard let info = try SystemCall.status(path, followLinks: true) else {
      throw PersistentStoreError(.notFound, "the plug-in does not exist", at: StoreLocation(file: path))
    }
    guard info.st_mode & S_IFMT == S_IFREG, access(path, X_OK) == 0 else {
      throw PersistentStoreError(
        .notSupported,
        "it is neither a shared library nor a program that may be executed; if it is a program, 'chmod +x' makes it one",
        at: StoreLocation(file: path))
    }
    self.path = path
    let resolved = realpath(path, nil).map { text in
      defer { free(text) }
      return String(cString: text)
    }
    let (number, described) = try ProgramTable.number(of: resolved ?? path, shown: path, limits)
    type = ProgramTypes.all[number]
    program = ProgramTable.program(number)
    processes = described ?? program.processes
  }

  /// Keeps processes of the program until this process exits, not only while a store is open: for commands, which open
  /// one store after the other.
  package func keepProcesses() { program.keepProcesses() }

  /// Whether a plug-in is a program, not a shared library, by its name and first bytes.
  package static func isProgram(_ path: String) -> Bool {
    let name = path.split(separator: "/").last ?? ""
    guard !name.hasSuffix(".so"), !name.contains(".so.") else { return false }
    guard let info = try? SystemCall.status(path, followLinks: true), info.st_mode & S_IFMT == S_IFREG,
      let source = try? StoreSource(opening: StorePath.inspect(path)), let first = try? source.bytes(limit: 4)
    else { return false }
    let isLibrary = first.withUnsafeBytes { $0.elementsEqual([0x7F] + Array("ELF".utf8)) } && access(path, X_OK) != 0
    return !isLibrary
  }

  /// Called with the path of a program and an error when it fails to recognize content, which is not an error of the
  /// caller: another type may recognize it.
  package static func setFailureHandler(
    _ handler: @escaping @Sendable (_ path: String, _ error: PersistentStoreError) -> Void
  ) {
    ProgramTable.failureHandler.withLock { $0 = handler }
  }
}

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
  private static let programs = Mutex<[LoadedProgram]>([])
  private static let loading = Mutex<[String: Int]>([:])
  static let failureHandler = Mutex<(@Sendable (String, PersistentStoreError) -> Void)?>(nil)

  static func report(_ error: PersistentStoreError, of path: String) {
    if let handler = failureHandler.withLock({ $0 }) { handler(path, error) }
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
      guard number < ProgramTypes.all.count else {
        throw PersistentStoreError(
          .limitExceeded, "no more than \(ProgramTypes.all.count) programs can be loaded", at: StoreLocation(file: path)
        )
      }
      let folder = FileManager.default.currentDirectoryPath
      let program = path.hasPrefix("/") ? path : folder + "/" + path
      let make: @Sendable () -> ProgramProcesses = { ProgramProcesses(of: program, as: path, limits: limits) }
      let processes = make()
      let description = try processes.request("to describe its format") { connection throws(PersistentStoreError) in
        connection.send(Request.line("describe", []))
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

/// The kit knows a format by its type, and programs are found at run time. So there are types in advance, which differ
/// in a number of two digits, and look up what they are.
enum ProgramTypes {
  private static let digits: [any ProgramDigit.Type] = [
    Digit0.self, Digit1.self, Digit2.self, Digit3.self, Digit4.self, Digit5.self, Digit6.self, Digit7.self,
  ]
  static let all: [any AtomicStore.Type] = digits.flatMap { high in digits.map { type(high, $0) } }

  private static func type(_ high: any ProgramDigit.Type, _ low: any ProgramDigit.Type) -> any AtomicStore.Type {
    func outer<High: ProgramDigit>(_: High.Type) -> any AtomicStore.Type {
      func inner<Low: ProgramDigit>(_: Low.Type) -> any AtomicStore.Type { ProgramStore<High, Low>.self }
      return inner(low)
    }
    return outer(high)
  }
}
