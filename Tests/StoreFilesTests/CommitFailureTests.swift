import CStoreFiles
import Foundation
import Glibc
import Synchronization
import Testing

@testable import StoreFiles

/// What a failing commit leaves: the old store, or both, with their names; and another program's version in any case.
@Suite("Failures after the exchange") struct CommitFailureTests {
  typealias Call = FaultPlan.Call
  private static func stage(
    _ path: String, _ text: String, _ layout: StoreLayout, _ policy: StagedStore.Policy = .replaceAny,
    _ faults: FaultPlan? = nil
  ) throws -> StagedStore {
    let staged = try StagedStore(target: path, layout: layout, policy: policy, faults: faults)
    try (layout == .file ? staged.files.file() : staged.files.member("a")).write(Array(text.utf8))
    try staged.finish()
    return staged
  }
  private static func read(_ path: String, _ layout: StoreLayout) throws -> String {
    String(decoding: try Data(contentsOf: URL(filePath: layout == .file ? path : path + "/a")), as: UTF8.self)
  }
  /// Saves as a program that knows nothing of the kit does.
  private static func replace(_ path: String, _ text: String, _ layout: StoreLayout) {
    let other = path + ".other"
    if layout == .folder { mkdir(other, 0o755) }
    let file = layout == .file ? other : other + "/a"
    let descriptor = open(file, O_WRONLY | O_CREAT, 0o644)
    _ = write(descriptor, text, text.utf8.count)
    close(descriptor)
    _ = asf_exchange(other, path)
    SystemCall.removeTree(other)
  }

  @Test(
    "the look at what came out, or the sync, fails: the old store is back, and nothing is left",
    arguments: [StoreLayout.file, .folder],
    [Call.look, .sync])
  func putBack(_ layout: StoreLayout, _ failing: Call) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old", layout).commit()
    let identity = try StorePath.inspect(path).identity
    let isPublished = Mutex(false)
    let plan = FaultPlan(error: EIO, willCall: { if $0 == .look { isPublished.withLock { $0 = true } } }) { _, call in
      call == failing && isPublished.withLock { $0 }
    }
    let staged = try Self.stage(path, "new", layout, .replaceOnlyIf(identity), plan)
    let thrown = commitError(staged)
    #expect(thrown?.code == .inputOutput)
    #expect(try Self.read(path, layout) == "old")
    #expect(folder.names == ["store"])
    // It is the version that was read: the next save does not conflict with itself.
    #expect(try StorePath.inspect(path).identity == identity)
    try Self.stage(path, "new", layout, .replaceOnlyIf(identity)).commit()
    #expect(try Self.read(path, layout) == "new")
  }

  @Test(
    "another program saves between the look and the exchange, and the look at what came out fails: its version is there",
    arguments: [StoreLayout.file, .folder], [true, false])
  func otherWriter(_ layout: StoreLayout, _ isLookFailing: Bool) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old", layout).commit()
    let identity = try StorePath.inspect(path).identity
    let plan = FaultPlan(error: EIO, willCall: { if $0 == .exchange { Self.replace(path, "theirs", layout) } }) {
      _, call in
      isLookFailing && call == .look
    }
    let staged = try Self.stage(path, "mine", layout, .replaceOnlyIf(identity), plan)
    let thrown = commitError(staged)
    #expect(thrown?.code == (isLookFailing ? .inputOutput : .changedOnDisk))
    #expect(try Self.read(path, layout) == "theirs")
    #expect(folder.names == ["store"])
  }

  @Test(
    "the exchange back fails: both versions stay, the error names both, and no later save removes what is kept",
    arguments: [StoreLayout.file, .folder], [true, false])
  func notRolledBack(_ layout: StoreLayout, _ hasOtherWriter: Bool) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old", layout).commit()
    let identity = try StorePath.inspect(path).identity
    let plan = FaultPlan(
      error: EIO, willCall: { if hasOtherWriter, $0 == .exchange { Self.replace(path, "theirs", layout) } }
    ) { _, call in [.look, .exchangeBack].contains(call) }
    let staged = try Self.stage(path, "mine", layout, .replaceOnlyIf(identity), plan)
    let thrown = commitError(staged)
    let failure = try #require(thrown)
    #expect(failure.code == .notRolledBack)
    #expect(try Self.read(path, layout) == "mine")
    let kept = try #require(folder.names.first { $0 != "store" })
    #expect(folder.names.count == 2 && failure.message.contains(path) && failure.message.contains(folder(kept)))
    #expect(try Self.read(folder(kept), layout) == (hasOtherWriter ? "theirs" : "old"))
    try Self.stage(path, "later", layout).commit()
    StaleItems.remove(in: folder.path, now: time(nil) + 1_000_000)
    #expect(try Self.read(folder(kept), layout) == (hasOtherWriter ? "theirs" : "old"))
  }

  @Test(
    "another program saves over a commit that is to be undone: its version stays",
    arguments: [StoreLayout.file, .folder])
  func overwritten(_ layout: StoreLayout) throws {
    let folder = try Folder()
    let path = folder("store")
    for isThere in [true, false] {
      SystemCall.removeTree(path)
      if isThere { try Self.stage(path, "old", layout).commit() }
      let identity = try StorePath.inspect(path).identity
      // The last sync is that of the directory, after the store has its name.
      let syncs = layout == .file ? 1 : 2
      let seen = Mutex(0)
      let plan = FaultPlan(
        error: EIO,
        willCall: { call in
          guard call == .sync,
            seen.withLock({
              $0 += 1
              return $0 > syncs
            })
          else { return }
          Self.replace(path, "theirs", layout)
        }
      ) { _, call in call == .sync && seen.withLock { $0 > syncs } }
      let staged = try Self.stage(path, "mine", layout, .replaceOnlyIf(identity), plan)
      let failure = commitError(staged)
      #expect(failure?.code == .changedOnDisk, "\(failure.map { "\($0)" } ?? "no error")")
      #expect(try Self.read(path, layout) == "theirs")
      #expect(folder.names == ["store"])
    }
  }

  @Test("a signal between the exchange and the look removes neither version", arguments: [StoreLayout.file, .folder])
  func signal(_ layout: StoreLayout) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old", layout).commit()
    let identity = try StorePath.inspect(path).identity
    // What the handler of a signal does would end other tests' work: what it would remove is looked at.
    let pending = Mutex<Set<String>>([])
    let plan = FaultPlan(error: 0, willCall: { call in if call == .look { pending.withLock { $0 = StagedItems.all } } })
    { _, _ in false }
    try Self.stage(path, "new", layout, .replaceOnlyIf(identity), plan).commit()
    #expect(plan.calls.contains(.look))
    #expect(pending.withLock { $0.filter { $0.hasPrefix(folder.path) } }.isEmpty)
    #expect(folder.names == ["store"])
  }

  /// What a commit and its undoing have under hidden names may be the only copy of a store.
  @Test(
    "the clean-up of another thread removes nothing of a commit, at any of its steps",
    arguments: [StoreLayout.file, .folder], [true, false])
  func cleanUp(_ layout: StoreLayout, _ canExchange: Bool) throws {
    for failing in [nil, Call.look, .sync, .exchangeBack] {
      let folder = try Folder()
      let path = folder("store")
      try Self.stage(path, "old", layout).commit()
      let identity = try StorePath.inspect(path).identity
      let cleaned = Mutex<[Call]>([])
      let isPublished = Mutex(false)
      let plan = FaultPlan(
        error: EINVAL,
        willCall: { call in
          StaleItems.remove(in: folder.path, now: time(nil) + 1_000_000)
          cleaned.withLock { $0.append(call) }
          if call == .look { isPublished.withLock { $0 = true } }
        }
      ) { _, call in
        if call == .exchange { return !canExchange }
        // A commit is undone when the look fails, too.
        return isPublished.withLock { $0 } && (call == failing || failing == .exchangeBack && call == .look)
      }
      let staged = try Self.stage(path, "new", layout, .replaceOnlyIf(identity), plan)
      let thrown = commitError(staged)
      let steps = cleaned.withLock { $0 }
      let isUndone = failing == .look || failing == .sync || failing == .exchangeBack && !canExchange
      #expect(try Self.read(path, layout) == (isUndone ? "old" : "new"), "\(String(describing: failing)), \(steps)")
      #expect((thrown == nil) == (failing == nil))
      #expect(steps.contains(.exchange) && steps.contains(.look))
      let kept = folder.names.filter { $0 != "store" }
      #expect(kept.count == (failing == .exchangeBack && canExchange ? 1 : 0), "\(kept)")
      for name in kept { #expect(try Self.read(folder(name), layout) == "old") }
      // Nothing stays listed.
      let name = StagedItems.all.first { $0.hasPrefix(folder.path) }
      #expect(name == nil)
    }
  }

  /// The handler of a signal removes what is staged while other threads go on: what has a hidden name when it lists
  /// them can be the old store when it removes them.
  @Test("what a signal removes is looked for when no store is half published", arguments: [StoreLayout.file, .folder])
  func signalWhilePublishing(_ layout: StoreLayout) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old", layout).commit()
    let content = Mutex<String?>(nil)
    let hasLooked = Mutex(false)
    let plan = FaultPlan(
      error: 0,
      willCall: { call in
        guard call == .exchange else { return }
        Thread.detachNewThread {
          StagedItems.whileNothingMoves {
            let text = try? Self.read(path, layout)
            content.withLock { $0 = text }
          }
          hasLooked.withLock { $0 = true }
        }
        usleep(50_000)
      }
    ) { _, _ in false }
    try Self.stage(path, "new", layout, .replaceAny, plan).commit()
    while !hasLooked.withLock({ $0 }) { usleep(1000) }
    #expect(content.withLock { $0 } == "new")
  }

  @Test("no store is published while a signal removes what is staged", arguments: [StoreLayout.file, .folder])
  func publishingWhileStopped(_ layout: StoreLayout) throws {
    let folder = try Folder()
    let path = folder("store")
    try Self.stage(path, "old", layout).commit()
    let hasFinished = Mutex(false)
    let whileStopped = StagedItems.whileNothingMoves {
      Thread.detachNewThread {
        _ = try? Self.stage(path, "new", layout).commit()
        hasFinished.withLock { $0 = true }
      }
      usleep(50_000)
      return (try? Self.read(path, layout), hasFinished.withLock { $0 })
    }
    #expect(whileStopped.0 == "old" && !whileStopped.1)
    while !hasFinished.withLock({ $0 }) { usleep(1000) }
    #expect(try Self.read(path, layout) == "new")
  }

  @Test("a name is listed from its reservation to the end of its use; a signal removes what was added alone")
  func listing() {
    let name = ".store.atomicstore-x.tmp"
    let use = StagedItemUse()
    use.reserve("/nowhere/" + name)
    #expect(StagedItems.isListed(name) && !StagedItems.all.contains("/nowhere/" + name))
    StagedItems.add("/nowhere/" + name)
    #expect(StagedItems.isListed(name) && StagedItems.all.contains("/nowhere/" + name))
    StagedItems.keep("/nowhere/" + name)
    #expect(StagedItems.isListed(name) && !StagedItems.all.contains("/nowhere/" + name))
    use.end()
    #expect(!StagedItems.isListed(name))
  }

  @Test("what is published together is published whole before a signal removes what is staged", arguments: [0, 1, 2])
  func jointPublication(_ publishedBefore: Int) throws {
    let folder = try Folder()
    let stores = try (0..<3).map { Held(try Self.stage(folder("store\($0)"), "new", .file)) }
    let names = Mutex<Set<String>?>(nil)
    try JointPublication.run {
      for store in stores.prefix(publishedBefore) { try store.commit() }
      Thread.detachNewThread {
        StagedItems.whileNothingMoves {
          let found = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
          names.withLock { $0 = Set(found.filter { $0.hasPrefix("store") }) }
          // A signal would end the process here.
          usleep(100_000)
        }
      }
      usleep(50_000)
      for store in stores.dropFirst(publishedBefore) { try store.commit() }
    }
    while names.withLock({ $0 == nil }) { usleep(1000) }
    let found = names.withLock { $0 }
    // Before the first one, nothing is published, unless the thread begins late on a busy machine.
    #expect(found == ["store0", "store1", "store2"] || publishedBefore == 0 && found == [])
  }

  private final class Held {
    private var store: StagedStore?
    init(_ store: consuming StagedStore) { self.store = consume store }
    func commit() throws { try store.take()?.commit() }
  }
}
