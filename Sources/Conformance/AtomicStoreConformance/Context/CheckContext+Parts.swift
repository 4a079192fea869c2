import AtomicStoreKit
import AtomicStoreSPI

/// What a process read of a store: the names of the properties, and their values.
private struct PartOfStore: Codable, Sendable {
  let names: [String]
  let text: GraphText
}

extension CheckContext {
  /// A store of which some properties are read has their values, and no others; a format that cannot leave any out is
  /// asked for all.
  func expectPartsRead() throws {
    let (path, graph, whole) = try golden()
    let names = graph.model.entities.flatMap { $0.properties.map(\.name) }
    for asked in names.map({ [$0] }) + [[], Array(names.prefix(3))] {
      let title = asked.isEmpty ? "no property" : asked.joined(separator: ", ")
      let part = try process("read \(title)") { session in
        let open = try session.openPart(path, asked)
        return try withExtendedLifetime(open) {
          let names = open.store.model.entities.flatMap { $0.slots.map(\.name) }
          return PartOfStore(names: names, text: try GraphText(open.store))
        }
      }
      guard traits.leavesOutProperties else {
        try expectEqual(
          Set(part.names), Set(names), "properties, of which none is left out, although \(title) is asked for")
        try expectSame(part.text, whole, "the same graph")
        continue
      }
      // A relationship may have to be derived from its inverse.
      try expect(
        Set(part.names).isSuperset(of: asked) && part.names.count < names.count, "properties: \(title)",
        part.names.joined(separator: ", "))
      let kept = Set(part.names.map { GraphText.Key($0) })
      var wanted = whole
      wanted.objects = whole.objects.mapValues { values in values.filter { kept.contains($0.key) } }
      try expectSame(part.text, wanted, "their values")
    }
  }
}

extension StoreSession {
  /// Opens a store with its own model, of which only some properties are asked for.
  fileprivate func openPart(_ path: String, _ names: [String]) throws -> Open {
    let coordinator = try coordinator(nil)
    coordinator.readNeeds = { _ in ReadNeeds(properties: Set(names.map { ScalarString($0) })) }
    let store = try coordinator.addPersistentStore(type: subject.type.storeType, at: path, isReadOnly: true)
    return Open(coordinator: coordinator, store: store, context: ManagedObjectContext(coordinator))
  }
}
