import AtomicStoreKit
import AtomicStoreSPI
import Foundation
import StoreCodecs
import StoreFiles
import Testing

@testable import CoreDataBinaryStoreFormat

@Suite("Limits of Core Data's binary stores") struct CoreDataBinaryLimitTests {
  @Test("a store with more archived objects than are read is refused before anything is written")
  func objects() throws {
    let folder = try CoreDataSQLiteWritingTests.Scratch()
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "Node",
        properties: [
          .attribute("name", .string), .attribute("day", .date), .attribute("link", .uri), .toOne("one", "Node"),
          .toMany("many", "Node"),
        ])
    ])
    var nodes = NodeTable(model: try ManagedObjectModel(model))
    for number in 1...50 {
      let node = try nodes.addCacheNode(entity: 0, reference: .integer(Int64(number)))
      if number % 2 == 0 { try nodes.setValue(.string("name \(number)"), forKey: "name", of: node) }
      if number % 3 == 0 {
        try nodes.setValue(.date(Date(timeIntervalSinceReferenceDate: Double(number))), forKey: "day", of: node)
      }
      guard number > 3 else { continue }
      let other = ObjectReference(entityName: "Node", reference: .integer(Int64(number - 2)))
      if number % 5 == 0 { try nodes.setValue(.toOne(other), forKey: "one", of: node) }
      if number % 7 == 0 { try nodes.setValue(.toMany([other]), forKey: "many", of: node) }
    }
    let snapshot = StoreSnapshot(
      nodes: nodes, metadata: StoreMetadata(storeType: "CoreDataBinary", uuid: UUID(), lastReference: 50, model: model))
    func write(_ name: String, _ limit: Int) throws -> [UInt8] {
      let path = folder.path + "/" + name
      let writer = try BinaryWriter(snapshot, path: path, maximumObjectCount: limit)
      let staged = try StagedStore(target: path, layout: .file, policy: .createNew)
      do {
        try writer.write(to: try staged.files.file())
      } catch {
        #expect(try staged.sourceForVerification(name: path).totalSize() == 0)
        throw error
      }
      try staged.finish()
      return try staged.sourceForVerification(name: path).bytes().withUnsafeBytes { Array($0) }
    }
    let bytes = try write("a", .max)
    let map = try bytes.withUnsafeBytes { try BinaryHeader($0).map }
    let archive = try PropertyList.decodeBinary(Array(bytes[map]))
    guard case .array(let objects)? = archive.dictionaryValue?["$objects"] else {
      Issue.record("no objects")
      return
    }
    // The quick count leaves out what does not grow with the store.
    let counted = try BinaryWriter(snapshot, path: "a").objectCount
    #expect(counted <= objects.count && counted > objects.count - 40, "\(counted) of \(objects.count)")
    #expect(try write("b", objects.count).count == bytes.count)
    for limit in [objects.count - 1, counted - 1, 1] {
      let error = #expect(throws: PersistentStoreError.self) { _ = try write("c", limit) }
      #expect(error?.code == .limitExceeded && error?.message.contains("the limit of \(limit)") == true)
    }
  }
}
