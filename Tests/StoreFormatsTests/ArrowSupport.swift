import ArrowStoreFormat
import ArrowTables
import AtomicStoreKit
import BuiltInStoreFormats
import Foundation

/// What the tests of the Arrow format share.
enum ArrowSupport {
  static let person = ModelDescription(entities: [
    EntityDescription(
      name: "Person",
      properties: [
        .attribute("age", .integer16), .attribute("name", .string), .attribute("born", .date),
        .attribute("worth", .decimal), .attribute("isMember", .boolean), .attribute("token", .uuid),
        .attribute("anything", .undefined), .attribute("picture", .binaryData), .attribute("height", .float),
        .toOne("boss", "Person"), .toMany("friends", "Person"),
      ])
  ])

  /// The files of a store with these objects.
  static func files(
    _ model: ModelDescription = person, _ fill: (NodeTableBuilder) throws -> Void
  ) throws -> [(name: String, bytes: [UInt8])] {
    let model = try ManagedObjectModel(model)
    let builder = NodeTableBuilder(model: model)
    try fill(builder)
    let nodes = try builder.finish().canonical()
    let path = NSTemporaryDirectory() + "arrow-\(UUID().uuidString)"
    var store = try ArrowStore(StoreConfiguration(path: path))
    let staged = try StagedStore(target: path, layout: .folder, policy: .createNew)
    var metadata = StoreMetadata(storeType: "Arrow", lastReference: nodes.greatestIntegerReference)
    metadata.model = model.description
    try store.save(StoreSnapshot(nodes: nodes, metadata: metadata), to: staged.files)
    try staged.finish()
    let source = try staged.sourceForVerification(name: "Store.arrowstore")
    return try source.memberNames.map { ($0, try source.bytes(ofMember: $0).withUnsafeBytes { Array($0) }) }
  }

  /// Opens as the kit does: metadata and model, then the nodes.
  @discardableResult
  static func open(_ files: [(name: String, bytes: [UInt8])]) throws(PersistentStoreError) -> NodeTable {
    let source = StoreSource(members: files, name: "Store.arrowstore")
    var store = try ArrowStore(StoreConfiguration(path: "Store.arrowstore"))
    let metadata = try store.metadata(in: source)
    guard let description = metadata.model, let model = try? ManagedObjectModel(description) else {
      throw PersistentStoreError(.modelNeeded, "no model")
    }
    let builder = NodeTableBuilder(model: model, file: source.name)
    try store.load(source, into: builder)
    return try builder.finish()
  }

  /// A store of persons whose table is another one.
  static func open(person table: [UInt8]) throws -> NodeTable {
    var files = try files { _ in }
    let index = files.firstIndex { $0.name == "Person.arrow" } ?? 0
    files[index].bytes = table
    return try open(files)
  }

  /// The schema of a table.
  static func schema(_ files: [(name: String, bytes: [UInt8])], _ name: String = "Person.arrow") throws -> ArrowSchema {
    let bytes = files.first { $0.name == name }?.bytes ?? []
    return try bytes.withUnsafeBytes { try ArrowFile($0).schema }
  }

  /// A file with one record batch.
  static func table(_ columns: [(field: ArrowField, data: ArrowColumnData)]) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try write(ArrowSchema(columns.map(\.field)), columns.map(\.data)) { bytes.append(contentsOf: $0) }
    return bytes
  }

  private static func write(
    _ schema: ArrowSchema, _ data: [ArrowColumnData], to sink: (UnsafeRawBufferPointer) -> Void
  ) throws {
    try withoutActuallyEscaping(sink) { sink in
      var writer = try ArrowWriter(.file, schema) { bytes throws(PersistentStoreError) in sink(bytes) }
      try writer.write(count: data.first?.count ?? 0, data)
      try writer.finish()
    }
  }

  /// A column of integers of 64 bits without nulls.
  static func integers(_ name: String, _ values: [Int64]) -> (field: ArrowField, data: ArrowColumnData) {
    (
      ArrowField(name, .integer(bits: 64, isSigned: true)),
      ArrowColumnData(count: values.count, nullCount: 0, buffers: [.empty, .int64(values)])
    )
  }

  static func fixture(_ name: String) throws -> [UInt8] {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/Arrow")
    return Array(try Data(contentsOf: folder.appending(path: name)))
  }
}
