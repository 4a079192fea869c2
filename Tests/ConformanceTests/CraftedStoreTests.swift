import AtomicStoreConformance
import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

@Suite("Stores that an author has crafted", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason))
struct CraftedStoreTests {
  /// What an author may add: files that only they would think of.
  static let checks: [ConformanceCheck] = {
    var subject = ConformanceSubject(CraftedXMLStore.self)
    subject.crafted = { files in
      guard let bytes = files[""] else { return [] }
      let text = String(decoding: bytes, as: UTF8.self)
      return [
        CraftedStore("a comment behind the last element", files: ["": bytes + Array("<!-- no object -->".utf8)], .same),
        CraftedStore(
          "an object without an id", files: ["": Array(text.replacingOccurrences(of: " id=\"", with: " ide=\"").utf8)],
          .refused),
      ]
    }
    return Conformance.checks(for: subject).filter { $0.id == "AUT-01" }
  }()

  @Test("a store crafted by an author is tried, and the expected outcome decides", arguments: checks)
  func tried(_ check: ConformanceCheck) throws {
    #expect(check.outcome().outcome == .passed)
    // Without the author's function there is nothing to try.
    let without = try #require(Conformance.checks(for: XMLStore.self).first { $0.id == check.id })
    #expect(without.outcome().outcome == .notApplicable)
  }
}

/// XML stores under another name: a worker process is found by the type that it is to serve.
struct CraftedXMLStore: AtomicStore {
  static let storeType = XMLStore.storeType
  static let traits = XMLStore.traits
  private var base: XMLStore
  static func recognize(_ probe: StoreProbe) -> Recognition { XMLStore.recognize(probe) }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { base = try XMLStore(configuration) }
  mutating func metadata(in source: StoreSource) throws(PersistentStoreError) -> StoreMetadata {
    try base.metadata(in: source)
  }
  mutating func load(_ source: StoreSource, into nodes: NodeTableBuilder) throws(PersistentStoreError) {
    try base.load(source, into: nodes)
  }
  mutating func save(_ snapshot: StoreSnapshot, to staged: StagedFiles) throws(PersistentStoreError) {
    try base.save(snapshot, to: staged)
  }
}
