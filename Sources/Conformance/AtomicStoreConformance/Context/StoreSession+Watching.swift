import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension StoreSession {
  /// The same session with a format that can be looked into: for the rest of this process. What a planted fault does at
  /// a step stays, where the hook calls the one before it.
  func watched(_ set: (inout FaultHooks) -> Void) -> StoreSession {
    set(&FaultHooks.current)
    guard subject.fault == nil else { return self }
    return StoreSession(
      subject: TestedStore(type: FaultHooks.wrapped(subject.type), others: subject.others), folder: folder)
  }

  /// The same session with a store whose calls are noted, for the rest of this process.
  var spied: StoreSession {
    Spy.isListening = true
    return watched { _ in }
  }

  /// The file descriptors of this process.
  static func descriptors() -> [String] {
    Files.names(in: "/proc/self/fd").filter { Files.exists("/proc/self/fd/" + $0) }
  }

  func all(_ open: Open, _ entity: String) throws -> [ManagedObject] {
    try open.context.fetch(FetchRequest<ManagedObject>(entityName: entity))
  }
}
