import AtomicStoreKit
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import CSVStoreFormat
import ModelFiles
import StoreMutation
import TestSupport
import Testing
import XMLStoreFormat

@testable import AtomicStoreConformance

/// A format of the kit under its own type: a worker process is found by the type that it is to serve.
struct MeasuredStore<Base: AtomicStore>: AtomicStore {
  private var base: Base
  static var storeType: String { Base.storeType }
  static var traits: StoreTraits { Base.traits }
  var layout: StoreLayout { base.layout }
  static func recognize(_ probe: StoreProbe) -> Recognition { Base.recognize(probe) }
  init(_ configuration: StoreConfiguration) throws(PersistentStoreError) { base = try Base(configuration) }
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

@Suite("Memory by the size of the file", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason))
struct ProductShapeTests {
  /// One check for each shape that a reader is attacked with; model files are read where XML stores are.
  private static func checks<Base: AtomicStore>(_ type: Base.Type, _ readers: Set<HostileReader>) -> [ConformanceCheck]
  {
    var subject = ConformanceSubject(MeasuredStore<Base>.self)
    subject.ownChecks = ProductShape.all.enumerated().filter { readers.contains($0.element.reader) }.map {
      number, shape in
      CheckDefinition(
        "SHP-\(number)", shape.name, from: "the kit's promise on hostile input", by: "it is opened", timeLimit: 120
      ) { check in
        let bytes = shape.bytes
        let path = check.folder + "/" + shape.fileName
        Files.write(bytes, to: path)
        let memory = try check.process("open \(bytes.count) bytes", seconds: 100) { session in
          try Memory.growth {
            if shape.reader == .model {
              _ = try? ManagedObjectModel(ModelFile.read(at: path).description)
            } else {
              // With a context, which has the model compiled once more.
              let open = try? session.open(path, nil, isReadOnly: true)
              withExtendedLifetime(open) {}
            }
          }
        }
        let most = (64 << 20) + 64 * bytes.count
        check.note("\(bytes.count) bytes, \(memory >> 20) of \(most >> 20) MB")
        try check.expect(
          memory <= most, "at most \(most >> 20) MB for \(bytes.count) bytes", "it took \(memory >> 20) MB")
        // A process of which nothing is known would pass.
        try check.expect(memory > 0, "memory is measured", "no memory was taken")
      }
    }
    return Conformance.checks(for: subject).filter { $0.id.hasPrefix("SHP-") }
  }
  private static func share(_ checks: [ConformanceCheck]) -> [ConformanceCheck] {
    checks.share(of: "memory of products", name: \.id)
  }
  static let documents = checks(XMLStore.self, [.xmlStore, .model])
  static let lists = checks(BinaryPropertyListStore.self, [.binaryPropertyList])
  static let tables = checks(CSVStore.self, [.csvStore])

  @Test("a document or model file takes at most 64 MB and 64 times its size", arguments: share(documents))
  func document(_ check: ConformanceCheck) throws { try check.run() }

  @Test("a binary property list takes at most 64 MB and 64 times its size", arguments: share(lists))
  func list(_ check: ConformanceCheck) throws { try check.run() }

  @Test("a table takes at most 64 MB and 64 times its size", arguments: share(tables))
  func table(_ check: ConformanceCheck) throws { try check.run() }
}
