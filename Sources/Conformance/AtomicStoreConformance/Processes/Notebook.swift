import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// Something that is noted on one thread or several, and looked at later.
final class Notebook<Value: Sendable>: Sendable {
  private let state: Mutex<Value>
  init(_ value: Value) { state = Mutex(value) }
  var value: Value { state.withLock { $0 } }
  func set(_ value: Value) { state.withLock { $0 = value } }
  func change(_ body: (inout Value) -> Void) { state.withLock { body(&$0) } }
}

/// Counts without a lock, so that it counts on in a copy of the process.
final class Tally: Sendable {
  private let count = Atomic(0)
  func next() -> Int { count.wrappingAdd(1, ordering: .relaxed).newValue }
}
