import Glibc
import Synchronization

/// Faults to inject, for tests: calls fail, or writes are short.
package final class FaultPlan: Sendable {
  /// `exchange`: the new store replaces the old one. `look`: what was replaced is inspected. `exchangeBack`: it is
  /// restored.
  package enum Call: Sendable { case create, write, sync, rename, exchange, look, exchangeBack }
  private struct State {
    var seen: [Call] = []
  }
  private let state = Mutex(State())
  private let isFailing: @Sendable (Int, Call) -> Bool
  private let error: Int32
  private let isShort: Bool
  private let willCall: (@Sendable (Call) -> Void)?

  /// Makes the call with that number fail, counting from 0.
  package convenience init(failing: Int? = nil, error: Int32 = ENOSPC, shortWrites: Bool = false) {
    self.init(error: error, shortWrites: shortWrites) { number, _ in number == failing }
  }

  /// - Parameter willCall: Called before each call, to simulate what another process does at that moment.
  package init(
    error: Int32, shortWrites: Bool = false, willCall: (@Sendable (Call) -> Void)? = nil,
    isFailing: @escaping @Sendable (_ number: Int, _ call: Call) -> Bool
  ) {
    self.isFailing = isFailing
    self.error = error
    self.willCall = willCall
    isShort = shortWrites
  }

  /// The calls so far, in order.
  package var calls: [Call] { state.withLock { $0.seen } }

  func next(_ call: Call) -> Int32? {
    willCall?(call)
    let number = state.withLock { state in
      state.seen.append(call)
      return state.seen.count - 1
    }
    return isFailing(number, call) ? error : nil
  }
  func shortWrite(_ count: Int) -> Int { isShort ? max(1, count / 2) : count }
}
