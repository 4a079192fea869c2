import AtomicStoreSPI

extension NodeTable {
  /// The same objects, some of them with other references, by which the others then refer to them.
  func renaming(_ names: [ObjectReference: ReferenceObject]) throws(PersistentStoreError) -> NodeTable {
    func renamed(_ reference: ObjectReference) -> ObjectReference {
      ObjectReference(entityName: reference.entityName, reference: names[reference] ?? reference.reference)
    }
    let builder = NodeTableBuilder(model: model)
    for entity in model.entities {
      for node in handles(of: entity.index) {
        try builder.beginNode(entity: entity.index, reference: renamed(objectReference(of: node)).reference)
        for slot in entity.slots {
          switch value(slot: slot.index, of: node) {
          case .null: continue
          case .toOne(let reference): try builder.set(.toOne(renamed(reference)), slot: slot.index)
          case .toMany(let list):
            if !list.isEmpty { try builder.set(.toMany(list.map { renamed($0) }), slot: slot.index) }
          case let value: try builder.set(value, slot: slot.index)
          }
        }
      }
    }
    return try builder.finish()
  }
}
