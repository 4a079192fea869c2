package import AtomicStoreSPI
import Synchronization

/// What programs did instead of answering where that is not an error of the caller: when they were asked to recognize
/// content, or to make files for a check. It is what a crash is in a format in Swift, and fails the check.
package enum ProgramFailures {
  private static let noted = Mutex<String?>(nil)

  /// Notes an error of a program, if it is the program's failure.
  package static func note(_ error: PersistentStoreError) {
    if error.isProgramFailure { noted.withLock { $0 = $0 ?? error.description } }
  }

  /// The first in this process.
  static var first: String? { noted.withLock { $0 } }

  static func failure(_ text: String) -> PhaseFailure {
    PhaseFailure(expected: "the program answers as its protocol says", actual: text, isCrash: true)
  }
}
