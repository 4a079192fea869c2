import AtomicStoreSPI
import CConformance
import Foundation
import Glibc
import Testing
import XMLStoreFormat

@testable import AtomicStoreConformance

/// A store with nothing wrong, of a separate type: what the harness is tested on. It keeps everything as XML stores
/// do.
struct CalmStore: AtomicStore {
  private var base: XMLStore
  static let storeType = XMLStore.storeType
  static let traits = XMLStore.traits
  static func recognize(_ probe: StoreProbe) -> Recognition { XMLStore.recognize(probe) }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { base = try XMLStore(configuration) }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try base.metadata(in: source)
  }
  mutating func inferModel(from source: StoreSource) throws(PersistentStoreError) -> ModelDescription {
    try base.inferModel(from: source)
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try base.load(source, into: nodes)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    try base.save(snapshot, to: staged)
  }
}

/// The harness with more to plant than it ships: stores that break it, and checks that look at the harness itself.
enum Harness {
  static let subject: ConformanceSubject = {
    var subject = ConformanceSubject(CalmStore.self)
    subject.ownFaults = breakers + liars + selfTestFaults
    subject.ownChecks = selfTestChecks + sweepChecks + losingChecks
    return subject
  }()

  /// Checks run in copies of a process, some with little memory, which no sanitizer allows; it also defines the system
  /// calls itself.
  static let canRunChecks = csf_is_sanitized() == 0
  static let sanitizerReason: Comment = "checks cannot be run under a sanitizer"

  /// A worker process comes by here, as a suite's trait, before any test is run; and stays. One of another subject
  /// runs none of these tests.
  static let isReady: Bool = {
    // Faults are planted here, and no one looks at what the checks leave for inspection.
    atexit { WorkerPool.removeAllFiles() }
    return canRunChecks && !Conformance.checks(for: subject).isEmpty && !WorkerServer.wasAsked
  }()

  /// A check of the catalogue or of these tests.
  ///
  /// - Parameters:
  ///   - fault: What is planted in the store.
  ///   - limit: The most that anything in it may take; nil for what the check allows.
  static func check(_ id: String, fault: String? = nil, limit: Duration? = nil, isBlind: Bool = false) throws
    -> ConformanceCheck
  {
    var subject = subject
    subject.fault = fault
    subject.timeLimit = limit
    subject.isBlind = isBlind
    let definition = try #require((Checks.all + subject.ownChecks).first { $0.id == id }, "there is no check \(id)")
    return ConformanceCheck(definition: definition, subject: subject)
  }

  /// Works without end.
  static func hang() { while true { _ = getppid() } }

  /// An index that is never there, and that no compiler can know of.
  static func trap() { precondition(CommandLine.arguments.count < 0, "planted") }

  /// Stores that do more harm than to fail.
  static let breakers: [Fault] = [
    Fault("trapsAtSave", "traps at a save") { $0.beforeSave = { _, _ in trap() } },
    Fault("trapsAtLoad", "traps at a load") { hooks in
      hooks.load = { _, _ in
        trap()
        return false
      }
    },
    Fault("trapsInTraits", "traps when it is asked for its traits") { hooks in
      hooks.traits = { traits in trap() }
    },
    Fault("hangsAtSave", "hangs at a save") { $0.beforeSave = { _, _ in hang() } },
    Fault("waitsAtSave", "waits for something at a save that never comes") {
      $0.beforeSave = { _, _ in while true { usleep(100_000) } }
    },
    // As on a machine that gives it little: a sixtieth of the time.
    Fault("slowAtSave", "is at work at a save, and never has enough of the processor") { hooks in
      hooks.beforeSave = { _, _ in
        while true {
          let end = clock() + CLOCKS_PER_SEC / 1000
          while clock() < end {}
          usleep(60_000)
        }
      }
    },
    Fault("hangsInTraits", "hangs when it is asked for its traits") { hooks in
      hooks.traits = { traits in hang() }
    },
    Fault("exitsAtSave", "ends the process at a save, as if all were well") { $0.beforeSave = { _, _ in exit(0) } },
    Fault("exitsInTraits", "ends the process when it is asked for its traits, as if all were well") { hooks in
      hooks.traits = { _ in exit(0) }
    },
    Fault("killsParent", "kills the process that started it") { $0.beforeSave = { _, _ in kill(getppid(), SIGKILL) } },
    Fault("killsGroup", "kills its process group") { $0.beforeSave = { _, _ in kill(0, SIGKILL) } },
    Fault("floodsOutput", "writes 32 MB to standard output at a save") { hooks in
      hooks.beforeSave = { _, _ in
        let bytes = [UInt8](repeating: 0x78, count: 65536)
        for _ in 0..<512 { _ = bytes.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) } }
      }
    },
  ]
}
