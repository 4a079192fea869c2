import AtomicStoreSPI
import Synchronization

/// The functions that a program registered for `FUNCTION(target, 'name', …)`, by name.
package final class CustomFunctions: Sendable {
  package typealias Body = @Sendable (_ target: Any?, _ arguments: [Any?]) throws -> Any?
  private let bodies = Mutex<[ScalarString: Body]>([:])

  package init() {}

  package subscript(name: String) -> Body? { bodies.withLock { $0[ScalarString(name)] } }

  package var names: [String] { bodies.withLock { $0.keys.sorted().map(\.string) } }

  /// Registers a function; nil removes the one of that name.
  package func set(_ body: Body?, named name: String) { bodies.withLock { $0[ScalarString(name)] = body } }
}
