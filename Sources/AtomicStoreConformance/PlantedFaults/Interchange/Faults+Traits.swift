import AtomicStoreSPI
import Glibc

/// Stores that are better than they say, and stores that talk.
extension Faults {
  static let traits: [Fault] = [
    lie("deniesOrder", "says that it keeps no order, and keeps it") { $0.keepsOrder = false },
    lie("deniesEmpty", "says that it has no empty texts, and has") { $0.keepsNilApartFromEmpty = false },
    lie("deniesDecimals", "says that it does not keep all digits of decimals, and keeps them") {
      $0.keepsDecimals = false
    },
    lie("deniesMetadata", "says that it keeps no metadata, and keeps them") { $0.keepsMetadata = false },
    lie("deniesModel", "says that it needs a model, and needs none") { $0.isSelfDescribing = false },
    lie("deniesEntities", "says that it holds one entity, and holds more") { $0.maximumEntities = 1 },
    lie("deniesReferences", "says that its references are numbers, and keeps texts too") {
      $0.references = .integersOnly
    },
    lie("tellsOtherLayout", "says file for folder and folder for file") {
      $0.layout = $0.layout == .file ? .folder : .file
    },
    lie("deniesWriting", "says that it cannot write, and writes") { $0.canWrite = false },
    Fault("talksOnStandardOutput", "says on standard output that it saves") { hooks in
      hooks.beforeSave = { _, _ in _ = write(1, "saving\n", 7) }
    },
    Fault("closesStandardOutput", "closes standard output at a save") { hooks in hooks.beforeSave = { _, _ in close(1) }
    },
  ]

  static func lie(_ name: String, _ text: String, _ change: @escaping @Sendable (inout StoreTraits) -> Void) -> Fault {
    Fault(name, text) { hooks in
      hooks.traits = { traits in
        var traits = traits
        change(&traits)
        return traits
      }
    }
  }
}
