import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What formats do to metadata, to the model that they carry, and to the process.
extension Faults {
  static let metadataTables: [Fault] = [
    entries("metadataKindsGuessed", "writes whole numbers in lists without saying whether they are integers") {
      ($0, guessed($1))
    },
    Fault("metadataNamesMixed", "finds metadata by names as Swift compares strings") { hooks in
      hooks.saved = { snapshot in
        var known: [String: PropertyListValue] = [:]
        for entry in snapshot.metadata.entries { known[entry.key] = entry.value }
        var entries = PropertyListDictionary()
        for (key, value) in known { entries[key] = value }
        snapshot.metadata.entries = entries
      }
    },
    Fault("metadataBeyond255EntriesLost", "writes the first 255 entries of metadata") { hooks in
      hooks.saved = { snapshot in
        var entries = PropertyListDictionary()
        for entry in snapshot.metadata.entries.prefix(255) { entries[entry.key] = entry.value }
        snapshot.metadata.entries = entries
      }
    },
    entries("metadataListsBeyond65535Cut", "writes the first 65,535 elements of a list in metadata") { key, value in
      guard case .array(let list) = value, list.count > 65_535 else { return (key, value) }
      return (key, .array(Array(list.prefix(65_535))))
    },
    entries("longMetadataKeysLowercased", "writes keys of metadata of more than 40 bytes in lower case") { key, value in
      (key.utf8.count > 40 ? key.lowercased() : key, value)
    },
    Fault("metadataOfEmptyStoresLost", "does not write the metadata of an empty store") { hooks in
      hooks.saved = { snapshot in
        if snapshot.nodes.count == 0 { snapshot.metadata.entries = PropertyListDictionary() }
      }
    },
    Fault("removedMetadataKept", "keeps entries of metadata that were removed") { hooks in
      let known = Notebook(PropertyListDictionary())
      hooks.metadata = { metadata, _ in known.set(metadata.entries) }
      hooks.saved = { snapshot in
        for entry in known.value where snapshot.metadata.entries[entry.key] == nil {
          snapshot.metadata.entries[entry.key] = entry.value
        }
      }
    },
    carried("configurationsLost", "writes the model without its configurations") { $0.configurations = [] },
    carried("compositesLost", "writes the model without its composite types") { $0.composites = [] },
    carried("minimumCountsLost", "writes relationships without the least number of objects") { model in
      for (place, entity) in model.entities.enumerated() {
        model.entities[place].properties = entity.properties.map { property in
          guard case .relationship(var relationship) = property else { return property }
          relationship.minimumCount = 0
          return .relationship(relationship)
        }
      }
    },
    carried("userInfoLost", "writes the model without the user info of entities") { model in
      model.entities = model.entities.map { entity in
        var entity = entity
        entity.userInfo = []
        return entity
      }
    },
    carried("defaultsOfModelLost", "writes the model without defaults that are not-a-number or a URI") { model in
      model.entities = model.entities.map { entity in
        var entity = entity
        entity.properties = entity.properties.map { property in
          guard case .attribute(var attribute) = property else { return property }
          switch attribute.defaultValue {
          case .double(let number)? where number.isNaN: attribute.defaultValue = nil
          case .uri?: attribute.defaultValue = nil
          default: break
          }
          return .attribute(attribute)
        }
        return entity
      }
    },
    Fault("changesDirectory", "changes the current directory") { hooks in hooks.beforeSave = { _, _ in _ = chdir("/") }
    },
    Fault("changesUmask", "changes the mask of permissions") { hooks in hooks.initialize = { _ in _ = umask(0o077) } },
    Fault("blocksSignals", "blocks a signal while it reads, and goes on") { hooks in
      hooks.load = { _, _ in
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        return false
      }
    },
    Fault("changesLocale", "sets a locale for its numbers") { hooks in
      hooks.beforeSave = { _, _ in _ = setlocale(LC_ALL, "C.UTF-8") }
    },
    Fault("changesEnvironment", "sets the time zone of the process") { hooks in
      hooks.metadata = { metadata, _ in
        setenv("TZ", "Etc/GMT+1", 1)
        tzset()
      }
    },
    Fault("takesStandardInput", "opens another file as standard input") { hooks in
      hooks.loadFailed = { _ in
        let file = open("/dev/zero", O_RDONLY | O_CLOEXEC)
        dup2(file, 0)
        close(file)
      }
    },
    Fault("ignoresDepth", "reads whatever depth there is") { hooks in
      hooks.configuration = { $0.limits.depth = StoreLimits.greatestDepth }
    },
  ]

  /// A fault that writes entries of metadata as others.
  private static func entries(
    _ name: String, _ text: String,
    _ change: @escaping @Sendable (String, PropertyListValue) -> (String, PropertyListValue)
  ) -> Fault {
    Fault(name, text) { hooks in
      hooks.saved = { snapshot in
        var entries = PropertyListDictionary()
        for entry in snapshot.metadata.entries {
          let (key, value) = change(entry.key, entry.value)
          entries[key] = value
        }
        snapshot.metadata.entries = entries
      }
    }
  }

  private static func carried(
    _ name: String, _ text: String, _ change: @escaping @Sendable (inout ModelDescription) -> Void
  ) -> Fault {
    Fault(name, text) { hooks in
      hooks.saved = { snapshot in
        var model = snapshot.metadata.model ?? snapshot.nodes.model.description
        change(&model)
        snapshot.metadata.model = model
      }
    }
  }

  private static func guessed(_ value: PropertyListValue) -> PropertyListValue {
    switch value {
    case .array(let list):
      .array(
        list.map { element in
          if case .real(let number) = element, let whole = Int64(exactly: number) { return .integer(Int128(whole)) }
          return guessed(element)
        })
    case .dictionary(let dictionary):
      .dictionary(
        dictionary.reduce(into: PropertyListDictionary()) { result, entry in
          result[entry.key] = guessed(entry.value)
        })
    default: value
    }
  }
}
