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
  /// caller: another type may recognize it; and when it fails to make files for the conformance checks.
  package static func setFailureHandler(
    _ handler: @escaping @Sendable (_ path: String, _ error: PersistentStoreError) -> Void
  ) {
    ProgramTable.failureHandler.withLock { $0 = ProgramTable.FailureHandler(handler) }
  }
}

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
