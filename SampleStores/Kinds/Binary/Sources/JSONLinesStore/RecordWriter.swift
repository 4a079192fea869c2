import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes records. Equal graphs make equal bytes: rows come in the order of their references, properties in the
/// model's.
struct RecordWriter {
  private(set) var bytes = JSONLinesStore.signature + [JSONLinesStore.version]

  mutating func description(_ metadata: StoreMetadata, count: Int) throws(PersistentStoreError) {
    var fields = PropertyListDictionary()
    fields["uuid"] = .string(metadata.uuid.uuidString)
    fields["last"] = .integer(Int128(metadata.lastReference))
    fields["objects"] = .integer(Int128(count))
    fields["metadata"] = .dictionary(metadata.entries)
    if let model = metadata.model { fields["model"] = model.propertyList }
    let list = try PropertyList.encodeBinary(.dictionary(fields))
    self.count(list.count)
    bytes += list
  }

  private mutating func word(_ word: UInt64) { withUnsafeBytes(of: word.littleEndian) { bytes.append(contentsOf: $0) } }
  mutating func count(_ count: Int) { word(UInt64(count)) }
  mutating func text(_ text: String) {
    count(text.utf8.count)
    bytes.append(contentsOf: text.utf8)
  }

  private mutating func tag(_ tag: Tag) { bytes.append(tag.rawValue) }

  mutating func reference(_ reference: ReferenceObject) {
    switch reference {
    case .integer(let number):
      tag(.integer)
      word(UInt64(bitPattern: number))
    case .string(let text):
      tag(.text)
      self.text(text)
    }
  }

  mutating func value(_ slot: Slot, _ reader: EntityReader, _ row: Int, _ nodes: NodeTable) {
    switch slot.kind {
    case .attribute: value(reader.isNull(slot: slot.index, row: row) ? .null : reader.value(slot: slot.index, row: row))
    case .toOne:
      guard let node = reader.toOne(slot: slot.index, row: row) else { return tag(.null) }
      tag(.reference)
      reference(nodes.reference(of: node))
    case .toMany:
      let list = reader.toMany(slot: slot.index, row: row)
      guard !list.isEmpty else { return tag(.null) }
      tag(.references)
      count(list.count)
      for place in list.indices { reference(nodes.reference(of: list[place])) }
    }
  }

  private mutating func value(_ value: StoredValue) {
    switch value {
    case .null: tag(.null)
    case .string(let text):
      tag(.text)
      self.text(text)
    case .integer(let number):
      tag(.integer)
      word(UInt64(bitPattern: number))
    case .boolean(let flag): tag(flag ? .yes : .no)
    case .double(let number):
      tag(.double)
      word(number.bitPattern)
    default:
      tag(.typed)
      text(value.typedText)
    }
  }

  mutating func digest() {
    let digest = bytes.withUnsafeBytes { RecordDigest.of($0[...]) }
    word(digest)
  }
}

/// Distinguishes a damaged file from an intact one: eight bytes at a time, so that it costs less than reading.
enum RecordDigest {
  static func of(_ bytes: Slice<UnsafeRawBufferPointer>) -> UInt64 {
    let words = UnsafeRawBufferPointer(rebasing: bytes)
    var digest: UInt64 = 0xCBF2_9CE4_8422_2325
    var place = 0
    while place + 8 <= words.count {
      digest =
        (digest ^ UInt64(littleEndian: words.loadUnaligned(fromByteOffset: place, as: UInt64.self)))
        &* 0x0000_0100_0000_01B3
      digest ^= digest >> 29
      place += 8
    }
    while place < words.count {
      digest = (digest ^ UInt64(words[place])) &* 0x0000_0100_0000_01B3
      place += 1
    }
    return digest
  }
}
