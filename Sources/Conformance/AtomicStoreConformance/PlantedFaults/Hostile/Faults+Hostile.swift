import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What readers do wrong that take a file at its word.
extension Faults {
  private static func bytes(_ source: StoreSource) -> [UInt8] {
    if source.isFolder {
      return source.memberNames.flatMap { (try? source.bytes(ofMember: $0).withUnsafeBytes { Array($0) }) ?? [] }
    }
    return (try? source.bytes().withUnsafeBytes { Array($0) }) ?? []
  }

  /// Holds so much memory for a moment, and touches all of it.
  private static func take(_ bytes: Int) {
    let room = [UInt8](repeating: 1, count: min(bytes, 4 << 30))
    withExtendedLifetime(room) {}
  }

  static let hostile: [Fault] = [
    Fault("indexOutOfRange", "takes a byte of the file for a place in a table") { hooks in
      hooks.load = { source, _ in
        let table = [UInt8](repeating: 0, count: 250)
        for byte in bytes(source) where table[Int(byte)] != 0 { return false }
        return false
      }
    },
    silent(
      "secondKeyTaken", "reads nothing where a key is there twice", about: [.malformed, .modelMismatch, .invalidModel]),
    Fault("trustsDeclaredSize", "makes as much room as a number in the file asks for") { hooks in
      hooks.load = { source, _ in
        guard Files.replacing(Array("999999999999".utf8), by: [], in: bytes(source)) != nil else { return false }
        let room = [UInt8](repeating: 1, count: 400_000_000)
        return withExtendedLifetime(room) { room.isEmpty }
      }
    },
    Fault("quadraticParse", "looks at the whole file for each piece of it") { hooks in
      hooks.load = { source, _ in
        let all = bytes(source)
        let steps = all.count / 16
        var sum: UInt8 = 0
        all.withUnsafeBufferPointer { all in
          for _ in 0..<steps {
            var place = 0
            while place < all.count {
              sum ^= all[place]
              place += 128
            }
          }
        }
        // Never true, which the compiler cannot know: it would leave out the loops.
        return sum == 1 && getpid() == 0
      }
    },
    Fault("roomForInherited", "makes a description of each property for each entity that inherits it") { hooks in
      hooks.load = { _, nodes in
        take(nodes.model.entities.reduce(0) { $0 + ($1.superentity?.slots.count ?? 0) } * 2000)
        return false
      }
    },
    Fault("roomForEveryValue", "makes room for each property of each object") { hooks in
      hooks.afterLoad = { _, nodes in
        take(nodes.model.entities.reduce(0) { $0 + $1.slots.count * nodes.count(of: $1.index) } * 256)
      }
    },
    Fault("bufferForEachProperty", "makes a buffer of 64 KB for each property") { hooks in
      hooks.load = { _, nodes in
        take(nodes.model.entities.reduce(0) { $0 + $1.slots.count } * 65_536)
        return false
      }
    },
    Fault("quadraticEntities", "goes through all entities for each of them") { hooks in
      hooks.load = { _, nodes in
        let count = nodes.model.entityCount
        #if DEBUG
          let steps = 600
        #else
          let steps = 500
        #endif
        var found = count
        var step = 0
        while step < count * count * steps {
          found = found &* 31 &+ step
          step += 1
        }
        return found == 0
      }
    },
    Fault("rescansComments", "looks at all of a long file before it for each piece of it") { hooks in
      hooks.load = { source, _ in
        let all = bytes(source)
        guard all.count > 1 << 20 else { return false }
        var sum: UInt8 = 0
        all.withUnsafeBufferPointer { all in
          var end = 0
          while end < all.count {
            var place = 0
            while place < end {
              sum ^= all[place]
              place += 32
            }
            end += 4096
          }
        }
        // As above: the loops must stay.
        return sum == 1 && getpid() == 0
      }
    },
    Fault("holdsLongRecord", "takes a kilobyte for each field of a record, however many there are") { hooks in
      hooks.load = { source, _ in
        take(bytes(source).count { $0 == UInt8(ascii: ",") } * 1024)
        return false
      }
    },
    Fault("followsExternalPath", "reads the file that a text names") { hooks in
      let folder = Notebook("")
      hooks.initialize = { configuration in
        folder.set("/" + configuration.path.split(separator: "/").dropLast().joined(separator: "/"))
      }
      hooks.load = { source, _ in
        if Files.replacing(Array("secret.txt".utf8), by: [], in: bytes(source)) != nil {
          _ = Files.read(folder.value + "/secret.txt")
        }
        return false
      }
    },
    Fault("poisonedStaticState", "remembers for the process's life that a file was broken") { hooks in
      let poisoned = Notebook(false)
      hooks.loadFailed = { _ in poisoned.set(true) }
      hooks.load = { _, _ in poisoned.value }
    },
  ]
}
