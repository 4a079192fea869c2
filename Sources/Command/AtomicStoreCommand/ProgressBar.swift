import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import Synchronization

/// A progress bar on standard error: only on a terminal, and only if the operation takes longer than a second.
final class ProgressBar: Sendable {
  private struct State {
    var stage: StoreConverter.Stage?
    var isShown = false
    var isDone = false
  }
  private let state = Mutex(State())
  private let isTerminal = isatty(STDERR_FILENO) == 1
  private let started = Date()

  func show(_ stage: StoreConverter.Stage) {
    let isFirst = state.withLock { state in
      defer { state.stage = stage }
      return state.stage == nil
    }
    guard isTerminal, isFirst else { return }
    _ = SystemThread.detach { [self] in
      while !state.withLock({ $0.isDone }) {
        if Date().timeIntervalSince(started) > 1 { draw() }
        usleep(100_000)
      }
    }
  }

  private func draw() {
    state.withLock { state in
      guard let stage = state.stage, !state.isDone else { return }
      state.isShown = true
      let (place, name) =
        switch stage {
        case .loading: (1, "reading")
        case .forecasting: (2, "checking")
        case .writing: (3, "writing")
        case .verifying: (4, "reading back")
        case .publishing: (5, "finishing")
        }
      let bar = String(repeating: "#", count: place * 4) + String(repeating: ".", count: 20 - place * 4)
      let seconds = Int(Date().timeIntervalSince(started))
      StandardError.write("\r[\(bar)] \(name), \(seconds) s \u{1B}[K")
    }
  }

  /// Removes the bar.
  func clear() {
    state.withLock { state in
      if state.isShown { StandardError.write("\r\u{1B}[K") }
      state.isShown = false
      state.isDone = true
    }
  }
}
