import AtomicStoreSPI
import FoundationEssentials

/// What a program may take of the kit: time, memory, and what it writes beside the protocol.
package struct ProgramLimits: Sendable {
  /// How long a program may neither write nor read anything while an answer is awaited, in milliseconds.
  package var silence = 60_000
  /// The size of one message, in bytes, without the line feed.
  package var message = 256 << 20
  /// The size of an object that is sent: what a program makes of it must fit in a message, too.
  package var sentMessage: Int { message / 2 }
  /// The size of the Arrow stream with the objects of an entity, in bytes.
  package var table = 2 << 30
  /// The size of such a stream that is sent: what a program makes of it must be readable, too.
  package var sentTable: Int { table / 2 }
  /// How much a program may write to standard error for one request, in bytes.
  package var noise = 1 << 20
  /// How much of standard error an error shows, in bytes.
  package var shownNoise = 600
  /// The most bytes that are sent for one `read`.
  package var read = 4 << 20
  /// The most bytes of an Arrow stream that are sent after one message.
  package var frame = 1 << 20
  /// How many processes of a program wait for the next request while a store is open.
  package var idle = 2

  /// The environment variable that sets ``silence``, in seconds.
  package static let silenceVariable = "ATOMICSTORE_PROGRAM_SECONDS"

  /// - Parameter environment: May set the time limit.
  package init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
    guard let text = environment[Self.silenceVariable], let seconds = Double(text), seconds > 0, seconds <= 86_400
    else { return }
    silence = max(1, Int(seconds * 1000))
  }

  /// The error of what is too long to be sent: a program must be able to answer with it.
  static func tooLong(_ what: String, _ form: String, _ limit: Int, _ place: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded, "\(what) would be \(form) of more than \(limit) bytes to the program of the store type",
      at: place)
  }
}
