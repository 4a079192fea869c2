import Synchronization

/// Keeps what a session opened until its process ends, as a program does with its stores: objects do not outlive their
/// context, and stores in memory end with the last coordinator that has them.
enum OpenStores {
  /// `@unchecked Sendable`: it is kept, and never used.
  private struct Kept: @unchecked Sendable {
    let open: StoreSession.Open
  }
  private static let kept = Mutex<[Kept]>([])

  static func keep(_ open: StoreSession.Open) {
    let open = Kept(open: open)
    kept.withLock { $0.append(open) }
  }
}
