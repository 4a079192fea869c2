import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What only shows with many objects, or after many saves.
extension Faults {
  #if DEBUG
  private static let step = 1
  #else
  private static let step = 16
  #endif

  /// Work that grows with the square of a number.
  private static func toil(_ count: Int) {
    var sum = 0
    for one in 0..<count {
      var other = 0
      while other < count {
        sum &+= one ^ other
        other += step
      }
    }
    withExtendedLifetime(sum) {}
  }

  static let scale: [Fault] = [
    Fault("quadraticSave", "looks at all objects for each that it writes") { hooks in
      hooks.beforeSave = { snapshot, _ in if snapshot.nodes.count >= 1000 { toil(snapshot.nodes.count) } }
    },
    Fault("quadraticRelationships", "looks at all lists for each object that is in one") { hooks in
      hooks.beforeSave = { snapshot, _ in
        var links = 0
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          for slot in entity.slots where slot.isToMany {
            for node in snapshot.nodes.handles(of: entity.index) {
              if case .toMany(let list) = snapshot.nodes.value(slot: slot.index, of: node) { links += list.count }
            }
          }
        }
        if links >= 900 { toil(links) }
      }
    },
    Fault("holdsWhatItRead", "holds on to what it read") { hooks in
      let held = Notebook<[[UInt8]]>([])
      hooks.load = { _, _ in
        held.change { $0.append([UInt8](repeating: 1, count: 1 << 20)) }
        return false
      }
    },
    Fault("copiesFileManyTimes", "holds the file a hundred times over") { hooks in
      hooks.load = { source, _ in
        guard let size = try? source.totalSize(), size > 100_000 else { return false }
        let copies = (0..<100).map { [UInt8](repeating: UInt8($0 + 1), count: size) }
        return withExtendedLifetime(copies) { copies.isEmpty }
      }
    },
    Fault("leaksDescriptorOnSave", "leaves a file open at each save") { hooks in
      hooks.beforeSave = { _, _ in _ = open("/", O_RDONLY | O_CLOEXEC) }
    },
  ]
}
