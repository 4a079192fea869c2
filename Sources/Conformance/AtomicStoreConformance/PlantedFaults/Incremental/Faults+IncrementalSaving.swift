import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  /// The parts of a save that a store must not carry out one by one.
  private static func parts(_ changes: StoreSave) -> [StoreSave] {
    changes.inserted.map { StoreSave(inserted: [$0]) } + changes.updated.map { StoreSave(updated: [$0]) }
      + changes.deleted.map { StoreSave(deleted: [$0]) } + [StoreSave(members: changes.members)]
  }

  static let incrementalSaving: [Fault] = [
    .incremental("halfTransactionStays", "keeps what it could save of a save that failed") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        func saveParts() { for part in parts(changes) { _ = try? target.store.save(part) } }
        do throws(PersistentStoreError) {
          let answer = try target.store.save(changes)
          if case .overtaken = answer { saveParts() }
          return answer
        } catch {
          saveParts()
          throw error
        }
      }
    },
    .incremental("errorEndsConnection", "cannot save any more after a save that failed") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        guard !target.memory.isBroken else { throw PersistentStoreError(.unavailable, "an earlier save has failed") }
        do throws(PersistentStoreError) {
          let answer = try target.store.save(changes)
          if case .overtaken = answer { target.memory.isBroken = true }
          return answer
        } catch {
          target.memory.isBroken = true
          throw error
        }
      }
    },
    .incremental("staleAccepted", "saves whatever version a change is based on") { hooks in
      hooks.saved = { _, changes in changes.expected = [] }
    },
    .incremental("staleDeleted", "deletes an object whatever version the deletion is based on") { hooks in
      hooks.saved = { _, changes in
        let deleted = Set(changes.deleted)
        changes.expected.removeAll { deleted.contains($0.object) }
      }
    },
    .incremental("deletesFirst", "deletes outside of the transaction that has the rest of a save") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        var rest = changes
        if !rest.deleted.isEmpty, !rest.inserted.isEmpty {
          _ = try? target.store.save(StoreSave(deleted: rest.deleted))
          rest.deleted = []
        }
        return try target.store.save(rest)
      }
    },
    .incremental("metadataFirst", "saves metadata outside of the transaction that has the rest of a save") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        if let entries = changes.metadataEntries {
          var metadata = StoreSave()
          metadata.metadataEntries = entries
          _ = try? target.store.save(metadata)
        }
        return try target.store.save(changes)
      }
    },
    .incremental("overtakenIsSaved", "says that it has saved what another save was before") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        if case .saved(let versions) = try target.store.save(changes) {
          .saved(versions: versions)
        } else {
          .saved(versions: [])
        }
      }
    },
    .incremental("missingOverlooked", "leaves out of a save what concerns objects that are gone") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        guard let model = target.model else { return .overtaken }
        var changes = changes
        var gone: Set<ObjectReference> = []
        for (object, _) in changes.expected {
          guard let entity = model.entity(named: object.entityName) else { continue }
          if try target.store.rows([object.reference], root: entity.root.index).isEmpty { gone.insert(object) }
        }
        guard !gone.isEmpty else { return try target.store.save(changes) }
        changes.expected.removeAll { gone.contains($0.object) }
        changes.deleted.removeAll { gone.contains($0) }
        changes.updated.removeAll { object in
          gone.contains { $0.reference == object.reference && $0.entityName == model.entity(at: object.entity).name }
        }
        for index in changes.inserted.indices {
          for slot in changes.inserted[index].values.slots {
            if case .toOne(let other)? = changes.inserted[index].values[slot], gone.contains(other) {
              changes.inserted[index].values[slot] = .null
            }
          }
        }
        return try target.store.save(changes)
      }
    },
    .incremental("connectionCaches", "answers a request again as it answered it before") { hooks in
      hooks.fetched = { target, request, result in
        let key = "\(request)"
        if let known = target.memory.rows[key] { result = known } else { target.memory.rows[key] = result }
      }
    },
    .incremental("savesOneByOne", "checks unique values object by object") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        guard changes.updated.count > 1 else { return try target.store.save(changes) }
        for object in changes.updated {
          if case .overtaken = try target.store.save(StoreSave(updated: [object])) { return .overtaken }
        }
        return .saved(versions: [])
      }
    },
    .incremental("savesBlindly", "saves a while later, whatever has happened meanwhile") { hooks in
      hooks.saved = { _, changes in
        changes.expected = []
        usleep(2000)
      }
    },
    .incremental("savesThousand", "saves the first 1,000 of the new objects") { hooks in
      hooks.saved = { _, changes in changes.inserted = Array(changes.inserted.prefix(1000)) }
    },
    .incremental("goesOnAfterReplacement", "saves to a store that took the place of the one that was opened") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        do throws(PersistentStoreError) { return try target.store.save(changes) } catch {
          guard error.code == .unavailable, let model = target.model else { throw error }
          var fresh = try target.another()
          _ = try fresh.metadata()
          try fresh.prepare(for: model)
          var changes = changes
          changes.expected = []
          return try fresh.save(changes)
        }
      }
    },
    .incremental("insertsOneByOne", "leaves out what new objects lead to that come later in the save") { hooks in
      hooks.saved = { target, changes in
        guard let model = target.model else { return }
        var later = Set(
          changes.inserted.compactMap { object in
            object.reference.map { ObjectReference(entityName: model.entity(at: object.entity).name, reference: $0) }
          })
        for index in changes.inserted.indices {
          let object = changes.inserted[index]
          if let reference = object.reference {
            later.remove(ObjectReference(entityName: model.entity(at: object.entity).name, reference: reference))
          }
          for slot in object.values.slots {
            switch object.values[slot] {
            case .toOne(let other)? where later.contains(other): changes.inserted[index].values[slot] = .null
            case .toMany(let list)?:
              changes.inserted[index].values[slot] = .toMany(list.filter { !later.contains($0) })
            default: break
            }
          }
        }
      }
    },
    .incremental("emptyChangeIgnored", "leaves out objects that are saved without any value") { hooks in
      hooks.saved = { _, changes in changes.updated.removeAll { Array($0.values.slots).isEmpty } }
    },
  ]
}
