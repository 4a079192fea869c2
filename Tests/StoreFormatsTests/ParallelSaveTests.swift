import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

@testable import BinaryPropertyListStoreFormat
@testable import XMLStoreFormat

/// Columns and objects that are encoded in pieces, on several threads, against one piece.
@Suite("Saves on several threads") struct ParallelSaveTests {
  private static func propertyList(_ snapshot: StoreSnapshot, in pieces: RowPieces) throws -> Data {
    let path = NSTemporaryDirectory() + "pieces-\(UUID().uuidString).plist"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var store = try BinaryPropertyListStore(StoreConfiguration(path: path))
    store.pieces = pieces
    let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
    try store.save(snapshot, to: staged.files)
    try staged.finish()
    try staged.commit()
    return try Data(contentsOf: URL(filePath: path))
  }

  @Test("a property list is the same bytes whatever the size of the pieces", arguments: 1...20)
  func propertyList(_ seed: UInt64) throws {
    var snapshot = try RandomGraphs.make(seed: seed)
    snapshot.metadata.storeType = BinaryPropertyListStore.storeType
    snapshot.nodes = try snapshot.nodes.canonical()
    let whole = try Self.propertyList(snapshot, in: RowPieces(size: 1 << 30, many: .max))
    for size in [8, 16, 64] {
      #expect(try Self.propertyList(snapshot, in: RowPieces(size: size, many: 1)) == whole, "pieces of \(size) rows")
    }
  }

  @Test("an XML store is the same bytes whatever the size of the pieces", arguments: 1...20)
  func xml(_ seed: UInt64) throws {
    let nodes = try RandomGraphs.make(seed: seed).nodes.canonical()
    func bytes(_ rows: Int?, _ limit: Int = .max) throws -> [UInt8] {
      let writer = ByteWriter()
      try StoreWriter(nodes, to: writer, keepsNames: true).writeObjects(pieceRows: rows, pieceBytes: limit)
      return writer.takeBytes()
    }
    let whole = try bytes(nil)
    for size in [1, 3, 1000] {
      #expect(try bytes(size) == whole, "pieces of \(size) rows")
      // Rows that do not fit in a piece are written after it.
      for limit in [0, 1, 300] { #expect(try bytes(size, limit) == whole, "\(size) rows, \(limit) bytes") }
    }
  }

  @Test("objects are in the order of their identifiers, whatever entity they are of and however many are asked for")
  func order() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: ["A", "B", "C"].map { EntityDescription(name: $0, properties: []) }))
    var random = Random(seed: 7)
    let builder = NodeTableBuilder(model: model)
    for number in (1...300).shuffled(using: &random) {
      let reference: ReferenceObject = number % 4 == 0 ? .string("n\(number)") : .integer(Int64(number))
      try builder.beginNode(entity: Int.random(in: 0..<3, using: &random), reference: reference)
    }
    let nodes = try builder.finish().canonical()
    let plans = try model.entities.map { try EntityPlan($0, nodes.reader(of: $0.index), [[65], [66], [67]]) }
    var right = (1...300).filter { $0 % 4 != 0 }.map { ReferenceObject.integer(Int64($0)) }
    right += (1...300).filter { $0 % 4 == 0 }.map { "n\($0)" }.sorted().map { ReferenceObject.string($0) }
    for limit in [1, 2, 7, 1000] {
      var order = RowOrder(plans)
      var found: [ReferenceObject] = []
      while case let runs = order.next(rows: limit), !runs.isEmpty {
        #expect(runs.reduce(0) { $0 + $1.rows.count } <= limit)
        for run in runs { found += run.rows.map { nodes.reader(of: run.entity).reference(row: $0) } }
      }
      #expect(found == right)
    }
  }
}
