import AtomicStoreSPI
import FoundationEssentials
import Synchronization

// What the mistakes make of a value by what is round it: its row, its slot, the length of its list.
extension Mistake {
  // MARK: Rows

  /// How many rows of so many are written.
  static func rows(of count: Int) -> Int {
    switch current {
    case .lastRowOf128Lost where count == 128: 127
    case .lastRowOf1024Lost where count == 1_024: 1_023
    case .lastRowOf10000Lost where count == 10_000: 9_999
    case .lastRowLostInSixteenthSave where count > 1 && saves.withLock { $0 } == 16: count - 1
    default: mostRows.map { min(count, $0) } ?? count
    }
  }

  private static let saves = Mutex(0)
  private static let loads = Mutex(0)
  /// Counts the saves of the process.
  static func beginSave() { saves.withLock { $0 += 1 } }
  /// Counts the loads of the process. Whether the last row is left out of this one.
  static func beginLoad() -> Bool {
    let count = loads.withLock { count in
      count += 1
      return count
    }
    return Self.is(.lastRowMissedInThirdLoad) && count == 3
  }

  /// Whether a row is left out of an entity's, because another entity has an object of that reference.
  static func skips(_ reference: ReferenceObject, of entity: Entity, in nodes: NodeTable) -> Bool {
    guard Self.is(.sharedReferencesDropped) else { return false }
    return nodes.model.entities.prefix(entity.index).contains { other in
      nodes.handle(for: ObjectReference(entityName: other.name, reference: reference))?.entity == other.index
    }
  }

  // MARK: Slots

  /// What is written of a slot.
  static func written(
    _ value: StoredValue, _ slot: Slot, of entity: Entity, _ reader: EntityReader, _ row: Int
  ) -> StoredValue {
    switch current {
    case .equalToPreviousRowOmitted where row > 0 && !slot.isRelationship:
      return reader.value(slot: slot.index, row: row - 1).isIdentical(to: value) ? .null : value
    case .equalToOtherAttributeOmitted where !slot.isRelationship:
      let others = entity.slots.prefix(slot.index).filter { $0.kind == slot.kind }
      return others.contains { reader.value(slot: $0.index, row: row).isIdentical(to: value) } ? .null : value
    case .lastSlotOf64Lost where entity.slots.count == 64 && slot.index == 63: return .null
    case .lastSlotOf128Lost where entity.slots.count == 128 && slot.index == 127: return .null
    case .lateColumnLost where row >= 1_000 && !slot.isRelationship && !value.isNull:
      return (0..<1_000).allSatisfy { reader.value(slot: slot.index, row: $0).isNull } ? .null : value
    case .runOf256Cut: return isRun(256, value, slot, reader, row) ? .null : value
    case .runOf65536Cut: return isRun(65_536, value, slot, reader, row) ? .null : value
    case .lastGapOf64Filled where row == 63 && reader.count == 64 && slot.attributeType == .boolean:
      return value.isNull ? .boolean(false) : value
    case .namesOfFormatSkipped where ["row", "store", "entity"].contains(slot.name): return .null
    case .linkToZeroLost:
      if case .toOne(let object) = value, object.reference == .integer(0) { return .null }
    default: break
    }
    return value
  }

  /// Whether a value is the last of a run of so many equal ones.
  private static func isRun(
    _ count: Int, _ value: StoredValue, _ slot: Slot, _ reader: EntityReader, _ row: Int
  ) -> Bool {
    guard row % count == count - 1, !slot.isRelationship else { return false }
    return [row - count + 1, row - count / 2, row - 1].allSatisfy {
      reader.value(slot: slot.index, row: $0).isIdentical(to: value)
    }
  }

  /// Whether a slot is left out because it is inherited from an entity that has no objects itself.
  static func skips(_ slot: Slot, of entity: Entity, in nodes: NodeTable) -> Bool {
    guard Self.is(.inheritedWithoutParentRowsLost), let parent = entity.superentity, !parent.isAbstract else {
      return false
    }
    return slot.index < parent.slots.count && nodes.count(of: parent.index) == 0
  }

  // MARK: Members

  static func written(
    members: [ReferenceObject], _ slot: Slot, in model: ManagedObjectModel
  ) -> [ReferenceObject] {
    switch current {
    case .orderOf100Lost where slot.isOrdered && members.count == 100: return members.sorted()
    case .lastMemberOf128Lost where members.count == 128: return members.dropLast()
    case .descendingOrderReversed where slot.isOrdered && members.count > 1 && members.sorted() == members.reversed():
      return members.reversed()
    case .orderOfOneToManyLost where slot.isOrdered:
      let inverse = slot.destination.flatMap { entity in
        slot.inverseSlot.map { model.entity(at: entity).slots[$0] }
      }
      return inverse.map { !$0.isToMany } ?? false ? members.sorted() : members
    default: return written(members: members, isOrdered: slot.isOrdered)
    }
  }

  // MARK: Values

  private static let interned = Mutex<[[UInt8]: String]>([:])

  /// What is written of a text, by its length and by the texts that were written before.
  static func written(text: String) -> String? {
    let count = text.utf8.count
    switch current {
    case .textOf128Cut where count == 128: return String(decoding: text.utf8.dropLast(), as: UTF8.self)
    case .textOf16384Cut where count == 16_384: return String(decoding: text.utf8.dropLast(), as: UTF8.self)
    case .longTextsInterned where count > 80:
      return first(text, Array("\(count)".utf8) + text.utf8.prefix(32) + text.utf8.suffix(32))
    case .textsOfEqualSumInterned where count > 4:
      return first(text, Array("\(count) \(text.utf8.reduce(0) { $0 + Int($1) })".utf8))
    case .textsOfOtherCaseInterned where count > 4: return first(text, Array(text.lowercased().utf8))
    case .longTextsTrimmed where count > 250: return trimmed(text)
    case .wideCharactersSplit where count > 1 << 16:
      let bytes = Array(text.utf8)
      return stride(from: 0, to: count, by: 1 << 16).map { start in
        String(decoding: bytes[start..<min(start + 1 << 16, count)], as: UTF8.self)
      }.joined()
    default: return nil
    }
  }

  /// The text that had a key first.
  private static func first(_ text: String, _ key: [UInt8]) -> String {
    interned.withLock { known in
      if let first = known[key] { return first }
      known[key] = text
      return text
    }
  }

  /// What is written of a number, which loses digits.
  static func written(number: Double) -> Double? {
    Self.is(.doublesOf16Digits) ? Double(digits(number.description, 16)) : nil
  }
  static func written(number: Float) -> Float? {
    Self.is(.floatsOf8Digits) ? Float(digits(number.description, 8)) : nil
  }

  /// A number's text with zeros for what follows so many digits.
  private static func digits(_ text: String, _ count: Int) -> String {
    var kept = 0
    var isExponent = false
    return String(
      text.map { character in
        isExponent = isExponent || character == "e"
        guard character.isNumber, !isExponent, kept > 0 || character != "0" else { return character }
        kept += 1
        return kept > count ? "0" : character
      })
  }

  // MARK: References

  static func written(number: Int64) -> Int64 {
    switch current {
    case .referencesWrapAt32Bits: Int64(Int32(truncatingIfNeeded: number))
    case .referencesBeyond53BitsRounded: Int64(exactly: Double(number)) ?? number
    case .negativeReferencesPositive: number == .min ? number : abs(number)
    default: number
    }
  }
}

// What the mistakes make of metadata that follows other metadata.
extension Mistake {
  private static func merged(_ old: PropertyListDictionary?, _ new: PropertyListDictionary) -> PropertyListDictionary {
    var merged = old ?? PropertyListDictionary()
    for entry in new { merged[entry.key] = entry.value }
    return merged
  }

  static func kept(_ old: PropertyListDictionary?, in new: PropertyListDictionary) -> PropertyListDictionary {
    Self.is(.metadataRemovalIgnored) ? merged(old, new) : new
  }
  static func kept(alone old: PropertyListDictionary, in new: PropertyListDictionary) -> PropertyListDictionary {
    Self.is(.metadataAloneKeepsOldEntries) ? merged(old, new) : new
  }

  /// What is written with metadata that is saved alone.
  static func written(alone metadata: StoreMetadata, _ old: StoreMetadata) -> StoreMetadata {
    var metadata = metadata
    switch current {
    case .metadataAloneForgetsLastReference: metadata.lastReference = 0
    case .metadataAloneTakesNewUUID: metadata.uuid = UUID()
    default: break
    }
    return metadata
  }
}
