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

  static let hostile: [Fault] = [
    Fault("indexOutOfRange", "takes a byte of the file for a place in a table") { hooks in
      hooks.load = { source, _ in
        let table = [UInt8](repeating: 0, count: 250)
        for byte in bytes(source) where table[Int(byte)] != 0 { return false }
        return false
      }
    },
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
        return sum == 1 && all.isEmpty
      }
    },
    Fault("followsExternalPath", "reads the file that a text names") { hooks in
      let folder = Notebook("")
      hooks.initialize = { configuration in
        folder.set("/" + configuration.path.split(separator: "/").dropLast().joined(separator: "/"))
      }
      hooks.load = { source, _ in
        if Files.replacing(Array("secret.txt".utf8), by: [], in: bytes(source)) != nil { _ = Files.read(folder.value + "/secret.txt") }
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
