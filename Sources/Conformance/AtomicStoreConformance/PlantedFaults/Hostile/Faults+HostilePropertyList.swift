import AtomicStoreSPI

extension Faults {
  /// A reader of binary property lists that repairs what it is given.
  private static func list(
    _ name: String, _ text: String, repairsOffsets: Bool = false, repairsCounts: Bool = false,
    _ change: @escaping @Sendable (inout PropertyListCraft) -> Bool
  ) -> Fault {
    reader(name, text, members: ".plist") { bytes, _ in
      guard var craft = PropertyListCraft(bytes, repairsOffsets: repairsOffsets, repairsCounts: repairsCounts) else {
        return nil
      }
      return change(&craft) ? craft.bytes() : nil
    }
  }
  /// One that changes objects one by one, as they stand in the file.
  private static func objects(_ name: String, _ text: String, _ change: @escaping @Sendable ([UInt8]) -> [UInt8]?)
    -> Fault
  {
    list(name, text) { craft in
      var isChanged = false
      for index in craft.items.indices {
        guard case .raw(let bytes) = craft.items[index], let changed = change(bytes) else { continue }
        craft.items[index] = .raw(changed)
        isChanged = true
      }
      return isChanged
    }
  }

  /// Takes the references away that lead back to where they came from.
  private static func cutCycles(_ craft: inout PropertyListCraft) -> Bool {
    let empty = craft.append(PropertyListCraft.nothing)
    var isOpen = Array(repeating: false, count: craft.items.count)
    var isDone = isOpen
    var isChanged = false
    func visit(_ index: Int, _ depth: Int) {
      guard depth < 400, !isDone[index] else { return }
      isOpen[index] = true
      func target(_ reference: Int) -> Int {
        if isOpen[reference] {
          isChanged = true
          return empty
        }
        visit(reference, depth + 1)
        return reference
      }
      switch craft.items[index] {
      case .array(let list): craft.items[index] = .array(list.map { target($0) })
      case .dictionary(let entries): craft.items[index] = .dictionary(entries.map { ($0.key, target($0.value)) })
      case .raw: break
      }
      isOpen[index] = false
      isDone[index] = true
    }
    visit(craft.top, 0)
    return isChanged
  }

  private static var versionIgnored: Fault {
    var fault = reader(
      "versionIgnored", "reads lists of every version as if they were of the one it knows", members: ".plist"
    ) { bytes, _ in
      guard bytes.starts(with: "bplist".utf8), bytes.count > 8, !bytes.starts(with: "bplist00".utf8) else { return nil }
      return Array("bplist00".utf8) + bytes.dropFirst(8)
    }
    // Otherwise the store is not asked to read it at all.
    fault.hooks.recognize = { probe, answer in probe.prefix.starts(with: "bplist".utf8) ? .yes : answer }
    return fault
  }

  static let hostilePropertyList: [Fault] = [
    list("followsCycles", "skips references that lead back to where they came from") { cutCycles(&$0) },
    list("expandsSharedReferences", "decodes shared objects each time, and gives up where they become too many") {
      craft in
      let shared = craft.items.indices.filter { index in
        guard case .array(let list) = craft.items[index], let first = list.first else { return false }
        return list.count > 1 && list.allSatisfy { $0 == first }
      }
      guard shared.count > 20 else { return false }
      // The last ones are the outer ones.
      craft.items[shared[shared.count - 8]] = PropertyListCraft.nothing
      craft.dropUnreached()
      return true
    },
    list("allocatesDeclaredCount", "takes as much as there is of what a count says", repairsCounts: true) {
      $0.repaired > 0
    },
    list("offsetUnchecked", "takes objects that lie nowhere for empty ones", repairsOffsets: true) { $0.repaired > 0 },
    list("recursiveDecode", "follows arrays to its own depth, and leaves out the rest") { craft in
      let nested = craft.items.indices.filter {
        if case .array(let list) = craft.items[$0], list.count == 1 { true } else { false }
      }
      guard nested.count > 1000 else { return false }
      // The last ones are the outer ones.
      craft.items[nested[nested.count - 30]] = PropertyListCraft.nothing
      craft.dropUnreached()
      return true
    },
    objects("int8Unsigned", "takes integers of one byte for signed ones") { bytes in
      let eightByteInteger: UInt8 = 0x13
      return bytes.count == 2 && bytes[0] == PropertyListCraft.oneByteInteger && Int8(bitPattern: bytes[1]) < 0
        ? [eightByteInteger] + Array(repeating: 0xFF, count: 7) + [bytes[1]] : nil
    },
    objects("surrogateReplaced", "replaces half a surrogate pair by U+FFFD") { bytes in
      guard bytes[0] & 0xF0 == 0x60, bytes[0] & 0x0F < 15 else { return nil }
      var units = stride(from: 1, to: bytes.count - 1, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
      guard String(validating: units, as: UTF16.self) == nil else { return nil }
      units = Array(String(decoding: units, as: UTF16.self).utf16)
      return [0x60 | UInt8(units.count)] + units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
    },
    list("duplicateKeyLastWins", "takes the last value of a key that comes twice") { craft in
      var isChanged = false
      for index in craft.items.indices {
        guard case .dictionary(let entries) = craft.items[index] else { continue }
        var kept: [(key: Int, value: Int)] = []
        for entry in entries {
          let text = craft.text(entry.key)
          kept.removeAll { $0.key == entry.key || (text != nil && craft.text($0.key) == text) }
          kept.append(entry)
        }
        guard kept.count < entries.count else { continue }
        craft.items[index] = .dictionary(kept)
        isChanged = true
      }
      return isChanged
    },
    versionIgnored,
    list(
      "acceptsWhatOthersReject", "repairs whatever is wrong with offsets and counts", repairsOffsets: true,
      repairsCounts: true
    ) { $0.repaired > 0 },
    objects("nanDateTrap", "reads dates that are not a number as the first one of the calendar") { bytes in
      guard bytes.count == 9, bytes[0] == 0x33 else { return nil }
      let bits = bytes.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      return Double(bitPattern: bits).isFinite ? nil : [0x33] + Array(repeating: 0, count: 8)
    },
  ]
}
