import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What only shows with many objects, or after many saves.
extension Faults {
  #if DEBUG
    private static let unit = 1e-8
  #else
    private static let unit = 1e-10
  #endif

  /// Keeps the processor busy for a time that grows with the square of a number.
  private static func burnProcessorTime(_ count: Int) {
    let wanted = Double(count) * Double(count) * unit
    var spent = 0.0
    while spent < wanted {
      spent += max(1e-7, Stopwatch.seconds { for byte in 0..<1000 { withExtendedLifetime(byte) {} } })
    }
  }

  static let scale: [Fault] = [
    Fault("quadraticSave", "looks at all objects for each that it writes") { hooks in
      hooks.beforeSave = { snapshot, _ in if snapshot.nodes.count >= 1000 { burnProcessorTime(snapshot.nodes.count) } }
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
        if links >= 900 { burnProcessorTime(links) }
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
