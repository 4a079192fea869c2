import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let registration: [Fault] = [
    Fault("claimsEveryExtension", "takes new files for its own that have another extension") { hooks in
      hooks.traits = { traits in traits.fileExtensions.append("nobodys-extension") }
    },
    Fault("typeNameMismatch", "reports another type where there is metadata of the application") { hooks in
      hooks.metadata = { metadata, _ in if metadata.entries["Origin"] != nil { metadata.storeType += "Store" } }
    },
    Fault("metadataTypeMissing", "reports no type where there is metadata of the application") { hooks in
      hooks.metadata = { metadata, _ in if metadata.entries["Origin"] != nil { metadata.storeType = "" } }
    },
    Fault("typeNameChanges", "is called otherwise once, when it was asked often enough") { hooks in
      // Asked before the process is copied as well, and a lock that was held then is of no use to the copy.
      let asked = Tally()
      hooks.storeType = { asked.next() == 8001 ? $0 + " again" : $0 }
    },
    Fault("claimsArchives", "takes every ZIP archive for its own") { hooks in
      hooks.recognize = { probe, answer in probe.begins(with: "PK") ? .yes : answer }
    },
    Fault("comparesTwoBytes", "takes files for its own that begin with the same two bytes") { hooks in
      let own = Notebook<[UInt8]>([])
      hooks.recognize = { probe, answer in
        if answer == .yes { own.set(Array(probe.prefix.prefix(2))) }
        return own.value.count == 2 && probe.prefix.starts(with: own.value) ? .yes : answer
      }
    },
    Fault("greedyProbe", "takes any text for its own") { hooks in
      hooks.recognize = { probe, answer in
        answer != .yes && !probe.isFolder && String(validating: probe.prefix, as: UTF8.self) != nil ? .yes : answer
      }
    },
  ]
}
