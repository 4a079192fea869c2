import AtomicStoreSPI
import FoundationEssentials

extension Faults {
  static let incrementalRelationships: [Fault] = [
    .incremental("listsSwapped", "returns the lists of owners in another order than it was asked for") { hooks in
      hooks.related = { _, _, _, lists in lists.reverse() }
    },
    .incremental("emptyListsOmitted", "returns no list for an owner without members") { hooks in
      hooks.related = { _, _, _, lists in lists.removeAll(where: \.isEmpty) }
    },
    .incremental("listOrderLost", "returns ordered lists by reference") { hooks in
      hooks.related = { _, slot, _, lists in
        guard slot.keepsSequence else { return }
        for index in lists.indices { lists[index].sort { $0.reference < $1.reference } }
      }
    },
    .incremental("relatedUnsorted", "returns unordered lists in any order") { hooks in
      hooks.related = { _, slot, _, lists in
        guard !slot.keepsSequence else { return }
        for index in lists.indices { lists[index].reverse() }
      }
    },
    .incremental("removedMembersStay", "does not remove members of lists") { hooks in
      hooks.saved = { _, changes in
        for index in changes.members.indices { changes.members[index].removed = [] }
      }
    },
    .incremental("addedMembersLost", "adds the first of several members alone") { hooks in
      hooks.saved = { _, changes in
        for index in changes.members.indices {
          changes.members[index].added = Array(changes.members[index].added.prefix(1))
        }
      }
    },
    .incremental("destinationIsRoot", "calls the object at the end of a to-one by the entity at the top") { hooks in
      hooks.row = { row, model in
        for slot in row.values.slots {
          guard case .toOne(var object)? = row.values[slot], let entity = model.entity(named: object.entityName) else {
            continue
          }
          object.entityName = entity.root.name
          row.values[slot] = .toOne(object)
        }
      }
    },
    .incremental("deletedStayAtTheEnd", "hides deleted objects, and leaves them in the lists that lead to them") {
      hooks in
      hooks.saved = { target, changes in
        guard let model = target.model else { return }
        for object in changes.deleted {
          guard let entity = model.entity(named: object.entityName), let slot = entity.slot(named: "name") else {
            continue
          }
          changes.updated.append(
            ManagedObjectSnapshot(
              entity: entity.index, reference: object.reference, values: [slot: .string("deleted")]))
        }
        changes.deleted = []
      }
      hooks.fetched = { target, request, result in
        guard let slot = target.slot("name", of: request.entity) else { return }
        result.rows.removeAll { $0.values[slot] == .string("deleted") }
      }
    },
    .incremental("emptyListsInRows", "returns rows with empty lists where it did not read them") { hooks in
      hooks.row = { row, model in
        for slot in model.entity(at: row.entity).slots where slot.isToMany { row.values[slot.index] = .toMany([]) }
      }
    },
    .incremental("listsCut", "returns the first 1,000 members of a list") { hooks in
      hooks.related = { _, _, _, lists in for index in lists.indices { lists[index] = Array(lists[index].prefix(1000)) }
      }
    },
    .incremental(
      "listsOfThousand", "returns the lists of the first 999 owners, and empty ones for the others"
    ) { hooks in
      hooks.related = { _, _, _, lists in for index in lists.indices.dropFirst(999) { lists[index] = [] } }
    },
    .incremental("toOneUpdateLost", "does not save a to-one of an object that is there") { hooks in
      hooks.saved = { target, changes in
        guard let model = target.model else { return }
        for index in changes.updated.indices {
          for slot in model.entity(at: changes.updated[index].entity).slots where !slot.isToMany && slot.isRelationship
          {
            changes.updated[index].values[slot.index] = nil
          }
        }
      }
    },
    .incremental("referencesStartAgain", "gives references from 1 on with each connection") { hooks in
      hooks.newReferences = { target, count, _ in
        let first = target.memory.count + 1
        target.memory.count += count
        return (first..<first + count).map { .integer(Int64($0)) }
      }
    },
    .incremental("referencesOfDeletedObjects", "gives the references of deleted objects again") { hooks in
      hooks.newReferences = { (target, count, entity) throws(PersistentStoreError) in
        guard let root = target.model?.entity(at: entity).root else { return [] }
        let last = try target.allRows(below: root).reduce(Int64(0)) { last, row in
          if case .integer(let number) = row.reference { max(last, number) } else { last }
        }
        return (1...Int64(count)).map { .integer(last + $0) }
      }
    },
    .incremental("textReferencesNumbered", "returns numbers where references are texts") { hooks in
      hooks.row = { row, _ in
        if case .string(let text) = row.reference { row.reference = .integer(Int64(text.utf8.count)) }
      }
    },
  ]
}
