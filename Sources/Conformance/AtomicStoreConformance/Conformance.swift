public import AtomicStoreSPI
import FoundationEssentials

/// The catalogue, and what makes an author's test file short.
///
/// ```swift
/// @Test(arguments: Conformance.checks(for: MyStore.self))
/// func conforms(_ check: ConformanceCheck) throws { try check.run() }
/// ```
///
/// Each check runs in its own processes, so that a crash or a hang is that check's and no one else's. The harness
/// finds its worker by itself: it starts the test program again, which comes by ``checks(for:others:fileID:)`` as
/// well, sees that it is to be a worker, and serves instead of testing.
public enum Conformance {
  /// The checks for a format, in the catalogue's order.
  ///
  /// - Parameters:
  ///   - type: The format under test.
  ///   - others: Other formats, for the checks that need some.
  ///   - fileID: The file that calls; its target's tests are the only ones that a worker may come by.
  public static func checks(
    for type: any AtomicStore.Type, others: [any AtomicStore.Type] = [], fileID: StaticString = #fileID
  ) -> [ConformanceCheck] { checks(for: ConformanceSubject(type, others: others, fileID: fileID)) }

  /// The checks for an incremental type, in the catalogue's order.
  ///
  /// - Parameters:
  ///   - type: The type under test.
  ///   - url: Where its stores are created and destroyed; nil for files: see `url`.
  ///   - fileID: The file that calls; its target's tests are the only ones that a worker may come by.
  public static func checks(
    for type: any IncrementalStore.Type, url: String? = nil, fileID: StaticString = #fileID
  ) -> [ConformanceCheck] {
    checks(for: ConformanceSubject(type, url: url, fileID: fileID))
  }

  /// The checks for a subject, in the catalogue's order: use it where the format needs more than its type, such as
  /// crafted stores.
  package static func checks(for subject: ConformanceSubject) -> [ConformanceCheck] {
    WorkerServer.serveIfAsked(subject)
    let all = (Checks.all.filter { subject.concerns($0.profile) } + subject.ownChecks)
      .map { ConformanceCheck(definition: $0, subject: subject) }
    return ConformanceFilter.asked(of: all)
  }

  /// About two dozen checks that take a few seconds: for while a format is being written. They are all checks where the
  /// environment variable `ATOMICSTORE_CONFORMANCE` is `all`, and those that `ATOMICSTORE_CONFORMANCE_ONLY` names, as
  /// the command of a failure does.
  public static func smoke(for type: any AtomicStore.Type, fileID: StaticString = #fileID) -> [ConformanceCheck] {
    smoke(of: checks(for: type, fileID: fileID))
  }

  /// The same for an incremental type.
  public static func smoke(
    for type: any IncrementalStore.Type, url: String? = nil, fileID: StaticString = #fileID
  ) -> [ConformanceCheck] {
    smoke(of: checks(for: type, url: url, fileID: fileID))
  }

  private static func smoke(of checks: [ConformanceCheck]) -> [ConformanceCheck] {
    ConformanceFilter.wantsMoreThanSmoke() ? checks : checks.filter(\.isSmoke)
  }

  /// All checks, without a store to run them on: to be listed.
  package static var catalogue: [ConformanceCheck] {
    let subject = ConformanceSubject(NoStore.self)
    return ConformanceFilter.asked(of: Checks.all.map { ConformanceCheck(definition: $0, subject: subject) })
  }

  /// All faults that can be planted: their names, and what a store does that has them.
  package static var faults: [(name: String, text: String)] { Faults.all.map { ($0.name, $0.text) } }
}

extension ConformanceCheck {
  /// Whether it is one of the about two dozen that take a few seconds: ``Conformance/smoke(for:)``.
  package var isSmoke: Bool { Checks.smokeIDs.contains(id) }
}

/// A placeholder where a catalogue is listed and no store is at hand.
private struct NoStore: AtomicStore {
  static let storeType = "None"
  static let traits = StoreTraits(summary: "No store", fileExtensions: [])
  static func recognize(_ probe: StoreProbe) -> Recognition { .no }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) {}
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    throw PersistentStoreError(.notSupported, "there is no store")
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    throw PersistentStoreError(.notSupported, "there is no store")
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    throw PersistentStoreError(.notSupported, "there is no store")
  }
}
