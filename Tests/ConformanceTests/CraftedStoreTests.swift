import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

@testable import AtomicStoreConformance

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

  @Test("a worker process serves the functions that the author supplied, not the type alone")
  func served() {
    let plain = ConformanceSubject(CraftedXMLStore.self)
    var names = [plain, Self.checks[0].subject].map(WorkerServer.name)
    for function in [\ConformanceSubject.duplicate, \.payload, \.recomputeChecksum, \.newerVersion] {
      var subject = plain
      subject[keyPath: function] = { $0 }
      names.append(WorkerServer.name(of: subject))
    }
    #expect(Set(names).count == 6)
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
