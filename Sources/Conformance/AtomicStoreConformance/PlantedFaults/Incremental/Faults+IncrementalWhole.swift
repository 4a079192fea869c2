import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let incrementalWhole: [Fault] = [
    .incremental("loadDropsObject", "leaves out an object where everything is read at once") { hooks in
      hooks.loaded = { (nodes) throws(PersistentStoreError) in
        for entity in nodes.model.entities.reversed() where nodes.count(of: entity.index) > 1 {
          guard let last = nodes.handles(of: entity.index).last else { continue }
          nodes.remove(last)
          nodes = try nodes.canonical()
          return
        }
      }
    },
    .incremental("loadIsTorn", "reads one entity after the other, each as it is then, where everything is read at once")
    {
      hooks in
      hooks.load = { (target, nodes) throws(PersistentStoreError) in
        for entity in nodes.model.entities where !entity.isAbstract {
          // Other processes go on meanwhile, as they do while a large store is read.
          usleep(20_000)
          let part = NodeTableBuilder(model: nodes.model, file: nodes.file)
          try target.store.load(into: part)
          let table = try part.finish()
          for node in table.handles(of: entity.index) {
            try nodes.beginNode(entity: entity.index, reference: table.reference(of: node))
            for slot in entity.slots {
              let value = table.value(slot: slot.index, of: node)
              if !value.isNull { try nodes.set(value, slot: slot.index) }
            }
          }
        }
      }
    },
    .incremental("loadDropsLists", "leaves out the first member of each longer list where everything is read at once") {
      hooks in
      hooks.loaded = { (nodes) throws(PersistentStoreError) in
        for entity in nodes.model.entities where !entity.isAbstract {
          for slot in entity.slots where slot.isToMany {
            for node in nodes.handles(of: entity.index) {
              guard case .toMany(let list) = nodes.value(slot: slot.index, of: node), list.count > 1 else { continue }
              try nodes.set(.toMany(Array(list.dropFirst())), slot: slot.index, of: node)
            }
          }
        }
      }
    },
    .incremental("columnsDropObject", "leaves out an object where the columns of a request are read") { hooks in
      hooks.columnsLoaded = { (nodes) throws(PersistentStoreError) in
        for entity in nodes.model.entities where nodes.count(of: entity.index) > 1 {
          guard let last = nodes.handles(of: entity.index).last else { continue }
          nodes.remove(last)
        }
        nodes = try nodes.canonical()
      }
    },
    .incremental("replacesUnasked", "replaces a store though it was not asked to") { hooks in
      hooks.mayReplace = { _ in true }
    },
    .incremental("replacedIsKept", "does not replace a store that is there") { hooks in hooks.keepsReplaced = true },
    .incremental("verificationIgnored", "replaces a store though what reads it back refuses") { hooks in
      hooks.ignoresVerification = true
    },
    .incremental("comparisonIgnored", "replaces a store that it compares itself though the metadata are refused") {
      hooks in
      hooks.ignoresComparison = true
    },
    .incremental("worldReadable", "lets everybody read new files") { hooks in
      hooks.created = { configuration in chmod(configuration.path, 0o644) }
    },
    .incremental("keptInMemory", "saves when the next save comes") { hooks in
      hooks.save = { (target, changes) throws(PersistentStoreError) in
        guard let pending = target.memory.pending else {
          target.memory.pending = changes
          return .saved(versions: [])
        }
        target.memory.pending = changes
        return try target.store.save(pending)
      }
    },
  ]
}
