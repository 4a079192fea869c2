import AtomicStoreSPI

/// Stores that are careless about the other end of a relationship, about sequences, and about options.
extension Faults {
  static let ends: [Fault] = [
    Fault("oneEndDerived", "reads to-one relationships alone, and says that the file leaves the others out") {
      $0.loaded = { (result, builder) throws(PersistentStoreError) in
        let nodes = try result.get()
        try copy(nodes, into: builder, change: { _, slot, value in slot.isToMany ? .null : value })
        for entity in nodes.model.entities {
          for slot in entity.slots where slot.isToMany { builder.markAbsent(slot: slot.index, entity: entity.index) }
        }
      }
    },
    slots("unknownOrderSorted", "sorts members by reference where nothing says that they are ordered") {
      _, slot, value in
      guard !slot.isOrdered, case .toMany(let list) = value else { return value }
      return .toMany(list.sorted { $0.reference < $1.reference })
    },
    Fault("ignoresOptions", "takes its options, and does not look at them") { $0.configuration = { $0.options = [:] } },
    Fault("optionChangesValues", "writes the first value as nil if an option is set") {
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        guard !configuration.options.isEmpty else { return }
        for entity in snapshot.nodes.model.entities where snapshot.nodes.count(of: entity.index) > 0 {
          for slot in entity.slots where slot.attribute != nil {
            return try snapshot.nodes.set(.null, slot: slot.index, of: NodeHandle(entity: entity.index, row: 0))
          }
        }
      }
    },
    Fault("longTextsLostWithOption", "leaves out texts of more than 65,535 bytes if an option is set") {
      $0.savedAt = { (snapshot, configuration) throws(PersistentStoreError) in
        guard !configuration.options.isEmpty else { return }
        for entity in snapshot.nodes.model.entities {
          for slot in entity.slots where slot.attributeType == .string {
            for node in snapshot.nodes.handles(of: entity.index) {
              if case .string(let text) = snapshot.nodes.value(slot: slot.index, of: node), text.utf8.count > 65_535 {
                try snapshot.nodes.set(.null, slot: slot.index, of: node)
              }
            }
          }
        }
      }
    },
  ]
}
