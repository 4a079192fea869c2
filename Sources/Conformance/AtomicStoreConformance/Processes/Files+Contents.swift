import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import Glibc

/// What checks of a store's life need: files of every kind, looks into the steps between two calls, and files that were
/// damaged.
extension Files {
  /// Puts what ``content(_:)`` gave at a path, in the place of all that is there.
  static func put(_ content: [String: [UInt8]], at path: String) {
    remove(path)
    if let bytes = content[""] {
      write(bytes, to: path)
    } else {
      makeFolder(path)
      for (name, bytes) in content {
        let parts = name.split(separator: "/").map(String.init)
        for depth in parts.indices.dropFirst() { makeFolder(path + "/" + parts[..<depth].joined(separator: "/")) }
        write(bytes, to: path + "/" + name)
      }
    }
  }

  /// Which files are at a path, and in which state: any write shows, even of the same bytes.
  static func stamps(_ path: String) -> [String: String] {
    guard let info = status(path) else { return [:] }
    var all = ["": "inode \(info.st_ino), \(info.st_size) bytes, \(info.st_mtim.tv_sec).\(info.st_mtim.tv_nsec)"]
    guard info.st_mode & S_IFMT == S_IFDIR else { return all }
    for name in names(in: path) {
      for (inner, stamp) in stamps(path + "/" + name) { all[inner.isEmpty ? name : name + "/" + inner] = stamp }
    }
    return all
  }

  static func target(ofLink path: String) -> String? {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let length = buffer.withUnsafeMutableBytes { raw in
      raw.baseAddress.map { readlink(path, $0.assumingMemoryBound(to: CChar.self), raw.count) } ?? -1
    }
    return length < 0 ? nil : String(decoding: buffer[..<length], as: UTF8.self)
  }

  /// The places of some bytes in the files of a store.
  static func places(of wanted: [UInt8], in content: [String: [UInt8]]) -> [(file: String, offset: Int)] {
    var found: [(file: String, offset: Int)] = []
    for (file, bytes) in content.sorted(by: { $0.key < $1.key }) where bytes.count >= wanted.count {
      var offset = 0
      while offset + wanted.count <= bytes.count {
        if bytes[offset] == wanted[0], bytes[offset..<offset + wanted.count].elementsEqual(wanted) {
          found.append((file, offset))
          offset += wanted.count
        } else {
          offset += 1
        }
      }
    }
    return found
  }

  /// The files of a store with some bytes replaced by others, at one of their places.
  static func replacing(
    _ old: [UInt8], by new: [UInt8], at place: (file: String, offset: Int), in content: [String: [UInt8]]
  ) -> [String: [UInt8]] {
    var content = content
    content[place.file]?.replaceSubrange(place.offset..<place.offset + old.count, with: new)
    return content
  }

  /// Bytes with all places of some replaced by others; nil where they are not there.
  static func replacing(_ old: [UInt8], by new: [UInt8], in bytes: [UInt8]) -> [UInt8]? {
    guard !old.isEmpty, bytes.count >= old.count else { return nil }
    var result: [UInt8] = []
    var place = 0
    var found = false
    while place < bytes.count {
      if bytes[place] == old[0], place + old.count <= bytes.count, bytes[place..<place + old.count].elementsEqual(old) {
        result += new
        place += old.count
        found = true
      } else {
        result.append(bytes[place])
        place += 1
      }
    }
    return found ? result : nil
  }

  static func utf16(_ units: some Sequence<UInt16>, _ isBigEndian: Bool) -> [UInt8] {
    units.flatMap { unit in
      let bytes = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
      return isBigEndian ? bytes : bytes.reversed()
    }
  }
}

extension Files {
  /// What is at a path, as a short text (64 bits of FNV-1a).
  static func digest(_ path: String) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    var size = 0
    for (name, bytes) in (content(path) ?? [:]).sorted(by: { $0.key < $1.key }) {
      for byte in name.utf8 { add(byte) }
      for byte in bytes { add(byte) }
      size += bytes.count
    }
    return "\(String(hash, radix: 16)), \(size) bytes"
  }
}
