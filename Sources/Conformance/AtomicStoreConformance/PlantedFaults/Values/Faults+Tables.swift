import AtomicStoreSPI
import FoundationEssentials

extension Faults {
  typealias Rename = (Entity, ReferenceObject) -> ReferenceObject?
  typealias Change = (Entity, Slot, StoredValue) -> StoredValue

  /// Copies nodes into a builder.
  ///
  /// - Parameters:
  ///   - rename: The reference that a node gets; nil leaves it out. What leads to one left out is dangling.
  ///   - change: The value that a slot gets, before relationships follow the renaming.
  static func copy(
    _ nodes: NodeTable, into builder: NodeTableBuilder, rename: Rename = { $1 }, change: Change = { $2 }
  ) throws(PersistentStoreError) {
    func target(_ link: ObjectReference) -> ObjectReference? {
      guard let node = nodes.handle(for: link),
        let renamed = rename(nodes.model.entity(at: node.entity), nodes.reference(of: node))
      else { return nil }
      return ObjectReference(entityName: link.entityName, reference: renamed)
    }
    for entity in nodes.model.entities where !entity.isAbstract {
      for node in nodes.handles(of: entity.index) {
        guard let name = rename(entity, nodes.reference(of: node)) else { continue }
        try builder.beginNode(entity: entity.index, reference: name)
        for slot in entity.slots {
          switch change(entity, slot, nodes.value(slot: slot.index, of: node)) {
          case .null: break
          case .toOne(let link): if let link = target(link) { try builder.set(.toOne(link), slot: slot.index) }
          case .toMany(let links):
            let list = links.compactMap { target($0) }
            if !list.isEmpty { try builder.set(.toMany(list), slot: slot.index) }
          case let value: try builder.set(value, slot: slot.index)
          }
        }
      }
    }
  }

  /// The same nodes under other references, or with other values.
  static func rebuilt(
    _ nodes: NodeTable, rename: Rename = { $1 }, change: Change = { $2 }
  ) throws(PersistentStoreError) -> NodeTable {
    let builder = NodeTableBuilder(model: nodes.model)
    try copy(nodes, into: builder, rename: rename, change: change)
    return try builder.finish().canonical()
  }

  /// A fault that writes some relationships and values as others.
  static func slots(
    _ name: String, _ text: String, _ change: @escaping @Sendable (Entity, Slot, StoredValue) -> StoredValue
  ) -> Fault {
    Fault(name, text) {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        snapshot.nodes = try rebuilt(snapshot.nodes, change: change)
      }
    }
  }

  /// A fault that reads some values as others.
  static func reading(
    _ name: String, _ text: String, _ change: @escaping @Sendable (Entity, Slot, StoredValue) -> StoredValue
  ) -> Fault {
    Fault(name, text) {
      $0.loaded = { (result, builder) throws(PersistentStoreError) in
        try copy(try result.get(), into: builder, change: change)
      }
    }
  }

  /// A fault that reads objects under other references than the file has.
  static func readingAs(_ name: String, _ text: String, _ rename: @escaping @Sendable (NodeTable) -> Rename) -> Fault {
    Fault(name, text) {
      $0.loaded = { (result, builder) throws(PersistentStoreError) in
        let nodes = try result.get()
        try copy(nodes, into: builder, rename: rename(nodes))
      }
    }
  }

  /// A fault that gives an empty graph where it should complain.
  static func silent(_ name: String, _ text: String, about codes: [PersistentStoreError.Code]) -> Fault {
    Fault(name, text) {
      $0.loaded = { (result, builder) throws(PersistentStoreError) in
        switch result {
        case .success(let nodes): try copy(nodes, into: builder)
        case .failure(let error): guard codes.contains(error.code) else { throw error }
        }
      }
    }
  }

  /// A fault that writes objects under other references than they were given.
  static func renaming(_ name: String, _ text: String, _ rename: @escaping @Sendable (NodeTable) -> Rename) -> Fault {
    Fault(name, text) {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        snapshot.nodes = try rebuilt(snapshot.nodes, rename: rename(snapshot.nodes))
      }
    }
  }
}
