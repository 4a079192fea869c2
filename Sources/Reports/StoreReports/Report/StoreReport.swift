public import AtomicStoreSPI
public import StoreCoordination
public import StoreMaintenance

/// A page about a store: what it is, its entities with counts and distributions, its model as a diagram, its objects
/// with relationships as links, metadata, and what a check found.
///
/// The page is one file that loads nothing and works without a network. What a store contains is shown as text only,
/// and cannot run. Equal stores give equal pages.
///
/// ```swift
/// let check = StoreCheck(registry: .builtIn)
/// let (coordinator, store, findings) = try check.opened("Company.xml")
/// let report = try StoreReport(store, findings: findings, name: "Company.xml")
/// try withExtendedLifetime(coordinator) { try report.write(to: writer) }
/// ```
public struct StoreReport: Sendable {
  /// The name of the store, as the page shows it.
  var name: String
  /// The maximum number of objects of each entity on the page.
  package var maximumRowCount = 100_000
  /// How many objects there are on the page in total, at most.
  package var maximumObjectCount = 400_000
  /// How many characters of a value are on the page, at most.
  package var maximumValueLength = 400
  /// How many objects of a to-many are on the page, at most.
  var maximumMemberCount = 50

  let type: String
  let metadata: StoreMetadata
  let nodes: NodeTable
  let findings: StoreCheck.Report
  let notes: [String]
  let byteCount: Int?

  /// Collects what the page is about.
  ///
  /// - Parameters:
  ///   - store: The open store.
  ///   - findings: What a check of it found.
  ///   - name: The name of the store, as the page shows it.
  ///   - byteCount: The size of the store on disk; nil if it is not known.
  /// - Throws: The error of a format that cannot supply a value that it reads late.
  public init(
    _ store: PersistentStore, findings: StoreCheck.Report, name: String, byteCount: Int? = nil
  ) throws(PersistentStoreError) {
    self.name = name
    self.findings = findings
    self.byteCount = byteCount
    type = store.type
    metadata = store.metadata
    nodes = try store.nodesWithDeferredValues().canonical()
    notes = store.readNotes.map { "\($0)" } + store.loadNotes.map { "\($0)" }
  }
}
