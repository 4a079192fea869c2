import AtomicStoreSPI
import Synchronization

/// The content of an in-process store, which all coordinators that opened its name share.
final class SharedContent: Sendable {
  /// What the last save left.
  struct Saved: Sendable {
    var version: NodeVersion
    var metadata: StoreMetadata
    /// Increases with each save, as the identity of a file changes.
    var number = 0
  }
  private let saved: Mutex<Saved>
  private let gate = SaveGate()
  private struct WeakWatcher: Sendable { weak let watcher: StoreWatcher? }
  private let watchers = Mutex<[WeakWatcher]>([])

  init(_ saved: Saved) { self.saved = Mutex(saved) }

  /// What the last save left.
  var current: Saved { saved.withLock { $0 } }

  /// Keeps other coordinators from saving until ``release()`` or ``finish(version:metadata:)``, which the same thread
  /// has to call; waits while another save keeps them from it. Reading does not wait.
  ///
  /// - Returns: False if the content is no longer the one with that number, or the thread holds it already.
  func hold(_ number: Int) -> Bool {
    guard gate.lock() else { return false }
    if current.number == number { return true }
    gate.unlock()
    return false
  }

  /// Ends ``hold(_:)`` without a change.
  func release() { gate.unlock() }

  /// Ends ``hold(_:)`` with new content.
  func finish(version: NodeVersion, metadata: StoreMetadata) {
    saved.withLock { saved in
      saved = Saved(version: version, metadata: metadata, number: saved.number + 1)
    }
    gate.unlock()
    for watcher in watchers.withLock({ $0.compactMap(\.watcher) }) { watcher.poke() }
  }

  /// Wakes a watcher at each save, as long as it exists.
  func add(_ watcher: StoreWatcher) {
    watchers.withLock { watchers in
      watchers.removeAll { $0.watcher == nil }
      if !watchers.contains(where: { $0.watcher === watcher }) { watchers.append(WeakWatcher(watcher: watcher)) }
    }
  }

  // MARK: By name

  private struct Entry: Sendable { weak let content: SharedContent? }
  private static let entries = Mutex<[ScalarString: Entry]>([:])

  /// Returns the content with that name, or makes it.
  ///
  /// - Parameters:
  ///   - name: The name within the process; nil for content that is not shared.
  ///   - make: Makes the content of a new store. It is called while the table of names is locked.
  static func named(
    _ name: ScalarString?, _ make: () throws(PersistentStoreError) -> Saved
  ) throws(PersistentStoreError) -> SharedContent {
    guard let name else { return SharedContent(try make()) }
    let result = entries.withLock { entries -> Result<SharedContent, PersistentStoreError> in
      if let known = entries[name]?.content { return .success(known) }
      do throws(PersistentStoreError) {
        let content = SharedContent(try make())
        entries = entries.filter { $0.value.content != nil }
        entries[name] = Entry(content: content)
        return .success(content)
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Returns the content with that name, if a coordinator has it open.
  static func existing(_ name: ScalarString?) -> SharedContent? {
    name.flatMap { name in entries.withLock { $0[name]?.content } }
  }

  /// Removes a name: the next store with it is a new one.
  static func forget(_ name: ScalarString) { entries.withLock { $0[name] = nil } }
}
