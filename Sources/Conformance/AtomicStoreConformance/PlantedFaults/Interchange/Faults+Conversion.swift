import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What goes wrong between two formats. The kit converts: most of these are what a format does that a conversion must
/// see.
extension Faults {
  static let conversion: [Fault] = [
    slots("convertDropsOrder", "writes ordered relationships in the order of the references") { _, slot, value in
      guard slot.isOrdered, case .toMany(let list) = value else { return value }
      return .toMany(list.sorted { $0.description.utf8.lexicographicallyPrecedes($1.description.utf8) })
    },
    value("underReportsLoss", "writes numbers one too great, and declares nothing of it") { value, type in
      if case .integer(let number) = value, type == .integer64, number < 1000 { return .integer(number + 1) }
      return value
    },
    Fault("overReportsLoss", "declares a loss that is none") { hooks in
      hooks.traits = { traits in traits.keepsNilApartFromEmpty = false }
    },
    Fault("losesThenWarns", "makes the file before it knows that it can be written") { hooks in
      hooks.initialize = { configuration in
        if !configuration.isReadOnly, configuration.path.contains("/converted"), !Files.exists(configuration.path) {
          Files.write(Array("begun".utf8), to: configuration.path)
        }
      }
    },
    Fault("overwritesSilently", "does not look whether something is there", mistakes: Int32(CSF_OVERWRITE.rawValue)),
    Fault("convertsInPlace", "opens what it reads for writing") { hooks in
      hooks.initialize = { configuration in
        guard configuration.isReadOnly else { return }
        let files =
          Files.isFolder(configuration.path)
          ? Files.names(in: configuration.path).map { configuration.path + "/" + $0 } : [configuration.path]
        for file in files {
          let descriptor = open(file, O_WRONLY | O_CLOEXEC)
          if descriptor >= 0 { close(descriptor) }
        }
      }
    },
    Fault("copySharesUUID", "writes the UUID that it read last") { hooks in
      let known = Notebook<UUID?>(nil)
      hooks.metadata = { metadata, _ in known.set(metadata.uuid) }
      hooks.saved = { snapshot in if let uuid = known.value { snapshot.metadata.uuid = uuid } }
    },
    Fault("inferenceRewrites", "reads numbers without their leading zeros") { hooks in
      hooks.source = { source throws(PersistentStoreError) in
        guard !source.isFolder else { return source }
        let bytes = try source.bytes().withUnsafeBytes { Array($0) }
        guard let changed = Files.replacing(Array("007".utf8), by: Array("7".utf8), in: bytes) else { return source }
        return StoreSource(bytes: changed, name: source.name)
      }
    },
    Fault("filterDangles", "writes the objects that a filter left out") { hooks in
      let known = Notebook<NodeTable?>(nil)
      hooks.loaded = { (result, builder) throws(PersistentStoreError) in
        let nodes = try result.get()
        if known.value == nil { known.set(nodes) }
        try copy(nodes, into: builder)
      }
      hooks.saved = { (snapshot) throws(PersistentStoreError) in
        if let nodes = known.value, nodes.count > snapshot.nodes.count, snapshot.nodes.count > 0 {
          snapshot.nodes = try nodes.canonical()
        }
      }
    },
    Fault("verifyComparesCountsOnly", "the kit compares numbers of objects only") { hooks in
      hooks.compared = { $0.filter { $0.kind == .inserted || $0.kind == .deleted } }
    },
  ]
}
