import AtomicStoreSPI
import Testing

@Suite("References of all nodes") struct NodeReferencesTests {
  @Test("each node has the reference that its entity's reader returns, an integer or a string", arguments: 0..<4)
  func same(_ kind: Int) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: ["A", "B", "C"].map { EntityDescription(name: $0, properties: []) }))
    let builder = NodeTableBuilder(model: model)
    // The third entity has no rows.
    for row in 0..<200 {
      let isText = kind == 1 || kind == 2 && row % 3 == 0 || kind == 3 && row > 150
      try builder.beginNode(entity: row % 2, reference: isText ? .string("text \(row)") : .integer(Int64(row)))
    }
    var table = try builder.finish()
    let references = table.references
    #expect(references.hasTexts == (kind > 0) && !references.exceedCaches)
    // What is changed later is changed in a copy.
    _ = try table.addCacheNode(entity: 0, reference: .string("later"))
    for entity in 0..<2 {
      for row in 0..<100 {
        let node = NodeHandle(entity: entity, row: row)
        let number = row * 2 + entity
        let isText = kind == 1 || kind == 2 && number % 3 == 0 || kind == 3 && number > 150
        references.prefetchPlace(of: node)
        references.prefetchText(of: node)
        #expect(references.integer(of: node) == (isText ? nil : Int64(number)))
        var text: String?
        if let bytes = references.text(of: node) {
          text = bytes.withUnsafeBufferPointer { String(decoding: $0, as: UTF8.self) }
        }
        #expect(text == (isText ? "text \(number)" : nil))
      }
    }
  }
}
