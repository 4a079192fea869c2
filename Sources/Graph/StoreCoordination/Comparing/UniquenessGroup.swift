package import AtomicStoreSPI
import StorePrimitives

/// Nodes that have the same values of a uniqueness constraint.
package struct UniquenessGroup {
  /// The entity that declares the constraint, which holds for its sub-entities too.
  package let entity: Entity
  /// The names of the properties.
  package let constraint: [String]
  /// The properties by the slots of the entity, and its sub-entities.
  package let slots: [Int]
  /// The values that the nodes share.
  package let key: [StoredValue]
  /// The nodes, at least two, in the order of the table.
  package let nodes: [NodeHandle]

  /// The values as a text, cut after 200 characters.
  package var keyText: String {
    let texts = key.map { value in
      switch value {
      case .string(let text), .uri(let text): text
      default: value.displayText
      }
    }
    return String(texts.joined(separator: ", ").prefix(200))
  }

  /// Refuses objects that break a uniqueness constraint which databases enforce: not those with decimals, which are
  /// equal by value, nor those of what is not in a column.
  package static func refuse(in nodes: NodeTable) throws(PersistentStoreError) {
    let groups = all(in: nodes) { entity, slots in
      slots.allSatisfy { entity.slots[$0].valueKind != .decimal && !entity.slots[$0].isToMany }
    }
    guard let first = groups.first else { return }
    let more = groups.count > 1 ? "; so have the objects of \(groups.count - 1) more groups" : ""
    throw PersistentStoreError(
      .invalidValue,
      "\(nodes.objectReference(of: first.nodes[1])) and \(nodes.objectReference(of: first.nodes[0])) have the same "
        + "\(first.constraint.joined(separator: ", ")), '\(first.keyText)', which must be unique\(more)")
  }

  /// The groups of a table. Null is equal to nothing.
  ///
  /// - Parameter isIncluded: Called with the declaring entity and the slots of a constraint; false to pass over it.
  package static func all(
    in nodes: NodeTable, where isIncluded: (Entity, [Int]) -> Bool = { _, _ in true }
  ) -> [UniquenessGroup] {
    var groups: [UniquenessGroup] = []
    for entity in nodes.model.entities {
      // A sub-entity has its parent's constraints, which hold for both together: each is looked at where it is
      // declared.
      for constraint in entity.declaration.uniquenessConstraints {
        let slots = constraint.compactMap { entity.slot(named: $0) }
        guard slots.count == constraint.count, !slots.isEmpty, isIncluded(entity, slots) else { continue }
        var known = TextNumbers(expecting: entity.hierarchy.reduce(0) { $0 + nodes.count(of: $1.index) })
        var keys = TextBatch()
        var batch: [NodeHandle] = []
        // By the number of the key: the first node, and where there are several, all of them.
        var first: [NodeHandle] = []
        var shared: [Int: [NodeHandle]] = [:]
        var order: [Int] = []
        func compare() {
          for (node, number) in zip(batch, keys.takeNumbers(from: &known)) {
            guard number < first.count else {
              first.append(node)
              continue
            }
            if shared[number] == nil { order.append(number) }
            shared[number, default: [first[number]]].append(node)
          }
          batch.removeAll(keepingCapacity: true)
        }
        for member in entity.hierarchy {
          rows: for node in nodes.handles(of: member.index) {
            for slot in slots {
              let value = nodes.value(slot: slot, of: node)
              if value.isNull {
                keys.cancelText()
                continue rows
              }
              value.appendKey(to: &keys.bytes)
            }
            keys.endText()
            batch.append(node)
            if keys.isFull { compare() }
          }
        }
        compare()
        for number in order {
          groups.append(
            UniquenessGroup(
              entity: entity, constraint: constraint, slots: slots,
              key: slots.map { nodes.value(slot: $0, of: first[number]) }, nodes: shared[number] ?? []))
        }
      }
    }
    return groups
  }
}
