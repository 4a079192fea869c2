import AtomicStoreSPI
import FoundationEssentials
import Synchronization

/// What formats do to values of the adversarial table.
extension Faults {
  static let adversarial: [Fault] = [
    value("payloadsLost", "writes every not-a-number as the same one") { value, _ in
      if case .double(let number) = value, number.isNaN { return .double(.nan) }
      return value
    },
    value("zeroSignLostInFloats", "writes -0.0 of 32 bits, and of dates, as 0.0") { value, _ in
      switch value {
      case .float(let number) where number == 0: return .float(0)
      case .date(let date) where date.timeIntervalSinceReferenceDate == 0:
        return .date(Date(timeIntervalSinceReferenceDate: 0))
      default: return value
      }
    },
    value("trailingZeroByteLost", "writes bytes up to the last that is not 0") { value, _ in
      guard case .data(let data) = value, data.count > 1, data.last == 0 else { return value }
      return .data(data.prefix(upTo: (data.lastIndex { $0 != 0 } ?? data.startIndex) + 1))
    },
    value("untypedKindGuessed", "writes values of no type as text, and guesses their kind") { value, type in
      guard type == .undefined else { return value }
      switch value {
      case .uri(let text): return .string(text)
      case .float(let number): return .double(Double(number))
      default: return value
      }
    },
    reading("nilBecomesDefault", "reads the default where the file has nothing") { _, slot, value in
      value.isNull ? slot.attribute?.defaultValue ?? value : value
    },
    slots("defaultNotWritten", "leaves out values that are the default") { _, slot, value in
      slot.attribute?.defaultValue?.isIdentical(to: value) ?? false ? .null : value
    },
    value("integersOf6BytesCut", "writes integers of 41 to 48 bits without their upper byte") { value, _ in
      guard case .integer(let number) = value, (1 << 40..<1 << 48).contains(number) else { return value }
      return .integer(number & 0xFF_FFFF_FFFF)
    },
    value("longValuesCut", "writes texts of 65,536 bytes without the last one, and data up to 16 MiB") { value, _ in
      switch value {
      case .string(let text) where text.utf8.count == 1 << 16: .string(String(text.dropLast()))
      case .data(let data) where data.count > 1 << 24: .data(data.prefix(1 << 24))
      default: value
      }
    },
    Fault("relationshipNamesMixed", "finds relationships by names as Swift compares strings") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        try mixNames(&snapshot.nodes) { $0.isRelationship && !$0.isToMany }
      }
    },
    Fault("attributeNamesMixed", "finds attributes by names as Swift compares strings") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        try mixNames(&snapshot.nodes) { $0.attributeType == .string }
      }
    },
    again("payloadsLostWhenSavedAgain", "writes not-a-number without its payload in stores that it read") { _, value in
      if case .double(let number) = value, number.isNaN { return .double(.nan) }
      return value
    },
    again("nilBecomesDefaultWhenSavedAgain", "writes the default for nil in stores that it read") { slot, value in
      value.isNull ? slot.attribute?.defaultValue ?? value : value
    },
    again("slotsBeyond512LostWhenSavedAgain", "writes 512 properties in stores that it read") { slot, value in
      slot.index < 512 ? value : .null
    },
    Fault("changedTextsTrimmed", "trims texts that are set on objects that are there already") {
      $0.updatedObject = { object, model in
        for (slot, value) in object.values {
          guard case .string(let text) = value, text.hasSuffix(" ") else { continue }
          object.values[slot] = .string(String(text.dropLast()))
        }
      }
    },
    Fault("equalValueWrittenOnce", "leaves out a value that the object before has too") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        let nodes = snapshot.nodes
        try eachNode(of: &snapshot.nodes) { changed, node, entity throws(PersistentStoreError) in
          guard node.row > 0 else { return }
          let before = NodeHandle(entity: node.entity, row: node.row - 1)
          for slot in entity.slots where slot.attributeType == .date {
            let value = nodes.value(slot: slot.index, of: node)
            if !value.isNull, value.isIdentical(to: nodes.value(slot: slot.index, of: before)) {
              try changed.set(.null, slot: slot.index, of: node)
            }
          }
        }
      }
    },
    Fault("longTextsTakenForEqual", "writes the first of long texts of one length, beginning and end") { hooks in
      let known = Notebook<[String: String]>([:])
      hooks.savedValue = { value, _ in
        guard case .string(let text) = value, text.utf8.count > 1_000 else { return value }
        let key = "\(text.utf8.count) \(text.prefix(64)) \(text.suffix(64))"
        let first = known.value[key] ?? text
        known.change { $0[key] = first }
        return .string(first)
      }
    },
    value("textsOf128Cut", "writes texts of 128 bytes without the last one") { value, _ in
      guard case .string(let text) = value, text.utf8.count == 128 else { return value }
      return .string(String(decoding: text.utf8.dropLast(), as: UTF8.self))
    },
    renaming("referencesIn32Bits", "writes references as integers of 32 bits") { _ in
      { _, reference in
        guard case .integer(let number) = reference else { return reference }
        return .integer(Int64(Int32(truncatingIfNeeded: number)))
      }
    },
    slots("linksToZeroLost", "takes a relationship to the reference 0 for none") { _, _, value in
      if case .toOne(let link) = value, link.reference == .integer(0) { .null } else { value }
    },
    Fault("linksByReferenceAlone", "writes no object whose reference an object of an earlier entity has") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        let nodes = snapshot.nodes
        snapshot.nodes = try rebuilt(nodes) { entity, reference in
          let isTaken = nodes.model.entities.prefix(entity.index).contains { other in
            nodes.handle(for: ObjectReference(entityName: other.name, reference: reference))?.entity == other.index
          }
          return isTaken ? nil : reference
        }
      }
    },
    renaming("referencesTrimmed", "writes references without a byte order mark before them") { _ in
      { _, reference in
        guard case .string(let text) = reference, text.unicodeScalars.first == "\u{FEFF}" else { return reference }
        return .string(String(text.unicodeScalars.dropFirst()) + "\u{1F}")
      }
    },
    slots("orderBeyondTenLost", "sorts ordered relationships of more than ten objects") { _, slot, value in
      guard slot.isOrdered, case .toMany(let list) = value, list.count > 10 else { return value }
      return .toMany(list.sorted { $0.reference < $1.reference })
    },
    slots("writesNoValuesInConfigurations", "writes no texts of entities that only a configuration has") {
      entity, slot, value in
      entity.name == "Left" && slot.attributeType == .string ? .null : value
    },
    Fault("lazyReadsStaleOffsets", "reads long texts from the file of its path when they are asked for") {
      readLate(&$0)
    },
    Fault("dropsWhatWasNotRead", "says that it writes values that were not read yet, and leaves them out") {
      readLate(&$0)
      $0.writesDeferredValues = true
    },
    Fault("lazyMixesHierarchies", "keeps long texts until they are asked for, by reference and property only") {
      keepLate(&$0) { nodes, node, slot, path in "\(path) \(nodes.reference(of: node)) \(slot)" }
    },
    Fault("lazyMixesStores", "keeps long texts of all stores in one list until they are asked for") {
      keepLate(&$0) { nodes, node, slot, _ in "\(nodes.objectReference(of: node)) \(slot)" }
    },
  ]

  /// Long texts are kept in memory, each under a key, until they are asked for.
  private static func keepLate(
    _ hooks: inout FaultHooks, _ key: @escaping @Sendable (NodeTable, NodeHandle, Int, String) -> String
  ) {
    let kept = Notebook<[ScalarKey: StoredValue]>([:])
    let path = Notebook("")
    hooks.initialize = { configuration throws(PersistentStoreError) in path.set(configuration.path) }
    hooks.loaded = { result, builder throws(PersistentStoreError) in
      try copy(try result.get(), into: builder) { nodes, node, slot, value in
        guard case .string(let text) = value, text.utf8.count > 4_000 else { return false }
        kept.change { $0[ScalarKey(key(nodes, node, slot, path.value))] = value }
        return true
      }
    }
    hooks.supplied = { slot, node, nodes, path throws(PersistentStoreError) in
      kept.value[ScalarKey(key(nodes, node, slot, path))] ?? .null
    }
  }

  /// Copies a table into a builder; values for which the closure returns true are deferred.
  private static func copy(
    _ nodes: NodeTable, into builder: NodeTableBuilder,
    _ defers: (NodeTable, NodeHandle, Int, StoredValue) -> Bool
  ) throws(PersistentStoreError) {
    for entity in nodes.model.entities where !entity.isAbstract {
      for node in nodes.handles(of: entity.index) {
        try builder.beginNode(entity: entity.index, reference: nodes.reference(of: node))
        for slot in entity.slots {
          let value = nodes.value(slot: slot.index, of: node)
          if defers(nodes, node, slot.index, value) {
            builder.defer(slot: slot.index)
          } else if !value.isNull {
            try builder.set(value, slot: slot.index)
          }
        }
      }
    }
  }

  /// Long texts are found in the file when they are asked for, where they were when it was loaded.
  private static func readLate(_ hooks: inout FaultHooks) {
    let read = Notebook<[UInt8]>([])
    let offsets = Notebook<[ScalarKey: Range<Int>]>([:])
    @Sendable func key(_ nodes: NodeTable, _ node: NodeHandle, _ slot: Int) -> ScalarKey {
      "\(nodes.objectReference(of: node)) \(slot)"
    }
    hooks.load = { source, _ throws(PersistentStoreError) in
      guard !source.isFolder else { return false }
      read.set(try source.bytes().withUnsafeBytes { Array($0) })
      return false
    }
    hooks.loaded = { result, builder throws(PersistentStoreError) in
      try copy(try result.get(), into: builder) { nodes, node, slot, value in
        guard case .string(let text) = value, text.utf8.count > 4_000,
          let range = range(of: Array(text.utf8), in: read.value)
        else { return false }
        offsets.change { $0[key(nodes, node, slot)] = range }
        return true
      }
    }
    hooks.supplied = { slot, node, nodes, path throws(PersistentStoreError) in
      guard let range = offsets.value[key(nodes, node, slot)], let bytes = Files.read(path),
        bytes.count >= range.upperBound
      else { return .null }
      return .string(String(decoding: bytes[range], as: UTF8.self))
    }
  }

  private static func range(of text: [UInt8], in bytes: [UInt8]) -> Range<Int>? {
    guard bytes.count >= text.count else { return nil }
    for start in 0...bytes.count - text.count where bytes[start] == text[0] {
      if bytes[start..<start + text.count].elementsEqual(text) { return start..<start + text.count }
    }
    return nil
  }

  /// Gives slots whose names Swift takes for one the value of the first.
  private static func mixNames(
    _ nodes: inout NodeTable, where isMeant: (Slot) -> Bool
  ) throws(PersistentStoreError) {
    for entity in nodes.model.entities where !entity.isAbstract {
      var first: [String: Int] = [:]
      for slot in entity.slots where isMeant(slot) {
        guard let other = first[slot.name] else {
          first[slot.name] = slot.index
          continue
        }
        for node in nodes.handles(of: entity.index) {
          try nodes.set(nodes.value(slot: other, of: node), slot: slot.index, of: node)
        }
      }
    }
  }
}

extension Faults {
  /// A fault of stores that were read before they are written.
  private static func again(
    _ name: String, _ text: String, _ change: @escaping @Sendable (Slot, StoredValue) -> StoredValue
  ) -> Fault {
    Fault(name, text) { hooks in
      let wasRead = Notebook(false)
      hooks.load = { _, _ in
        wasRead.set(true)
        return false
      }
      hooks.saved = { (snapshot) throws(PersistentStoreError) in
        if wasRead.value { snapshot.nodes = try rebuilt(snapshot.nodes, change: { change($1, $2) }) }
      }
    }
  }
}
