import AtomicStoreSPI
import FoundationEssentials

/// What only shows with a number of objects, members or properties that is not round.
extension Faults {
  static let counts: [Fault] = [
    most("objectsBeyond4096Lost", 4_096), most("objectsBeyond100000Lost", 100_000),
    slots("membersBeyond1000Lost", "writes the first thousand members of a relationship") { _, _, value in
      guard case .toMany(let list) = value, list.count > 1_000 else { return value }
      return .toMany(Array(list.prefix(1_000)))
    },
    slots("orderBeyond255Lost", "sorts the members of an ordered relationship from the 256th on") { _, slot, value in
      guard slot.isOrdered, case .toMany(let list) = value, list.count > 255 else { return value }
      return .toMany(list.prefix(255) + list.dropFirst(255).sorted { $0.reference < $1.reference })
    },
    slots("slotsBeyond512Lost", "writes the first 512 properties of an object") { _, slot, value in
      slot.index < 512 ? value : .null
    },
    Fault("entityOfOwnPropertiesLost", "writes objects as ones of the entity that has their properties") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        let nodes = snapshot.nodes
        guard nodes.model.entities.contains(where: { $0.name == "Level1" }) else { return }
        // Those of the last level are left out: their rows went to another table.
        snapshot.nodes = try rebuilt(nodes) { entity, reference in
          entity.superentity.map { $0.slots.count == entity.slots.count && $0.name == "Level1" } ?? false
            ? nil : reference
        }
      }
    },
    slots("textsOfManyCut", "cuts texts where there are thousands of objects") { _, slot, value in
      guard case .string(let text) = value, text.hasSuffix("777") else { return value }
      return .string(String(text.dropLast()))
    },
    slots("linksOfManyLost", "writes no relationship to an object whose number ends in 777") { _, slot, value in
      guard slot.name == "parent", case .toOne(let link) = value, case .integer(let number) = link.reference else {
        return value
      }
      return number % 1_000 == 777 || number > 900 ? .null : value
    },
    Fault("holdsALittle", "holds on to a part of what it read each time") { hooks in
      let held = Notebook<[[UInt8]]>([])
      hooks.load = { source, _ in
        guard let size = try? source.totalSize() else { return false }
        held.change { $0.append([UInt8](repeating: 1, count: size / 2)) }
        return false
      }
    },
    Fault("losesValueAfterManySaves", "forgets a text at the hundredth save of a process") { hooks in
      let tally = Tally()
      hooks.saved = { snapshot throws(PersistentStoreError) in
        guard tally.next() > 100 else { return }
        try eachNode(of: &snapshot.nodes) { nodes, node, entity throws(PersistentStoreError) in
          guard node.row == 3, let slot = entity.slot(named: "name") else { return }
          try nodes.set(.null, slot: slot, of: node)
        }
      }
    },
  ]

  private static func most(_ name: String, _ count: Int) -> Fault {
    Fault(name, "writes the first \(count) objects of an entity") { hooks in
      hooks.saved = { snapshot throws(PersistentStoreError) in
        var removed = false
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          for node in snapshot.nodes.handles(of: entity.index).dropFirst(count) {
            snapshot.nodes.remove(node)
            removed = true
          }
        }
        if removed { snapshot.nodes = try snapshot.nodes.canonical() }
      }
    }
  }
}
