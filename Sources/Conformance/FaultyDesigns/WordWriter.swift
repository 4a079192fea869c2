import AtomicStoreSPI
import FoundationEssentials

/// Writes the words of a ``LedgerStore``.
struct WordWriter {
  private(set) var bytes: [UInt8] = []

  mutating func put(_ text: String) { bytes += text.utf8 }

  /// A text in quotes, in printable ASCII.
  mutating func quoted(_ text: String) {
    bytes.append(UInt8(ascii: "\""))
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\":
        bytes.append(UInt8(ascii: "\\"))
        bytes += String(scalar).utf8
      case " "..."~": bytes += String(scalar).utf8
      default: put("\\{\(String(scalar.value, radix: 16))}")
      }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  mutating func header(_ metadata: StoreMetadata, _ model: ModelDescription, _ entries: PropertyListDictionary) {
    put("LEDGER 1\nstore \(metadata.uuid.uuidString) \(metadata.lastReference) ")
    value(Mistake.written(model: metadata.model ?? model).propertyList)
    put(" ")
    value(.dictionary(Mistake.written(metadata: entries)))
    put("\n")
  }

  mutating func reference(_ reference: ReferenceObject) {
    switch Mistake.written(reference: reference) {
    case .integer(let number): put("#\(number)")
    case .string(let text):
      put("@")
      quoted(text)
    }
  }

  mutating func row(_ entity: Entity, _ reader: EntityReader, _ row: Int, in model: ManagedObjectModel) {
    put("row ")
    reference(reader.reference(row: row))
    var slots = entity.slots
    if Mistake.is(.ledgerSlotsBeyond512Skipped) { slots = Array(slots.prefix(512)) }
    if Mistake.is(.ledgerSlotsBeyond255Skipped) { slots = Array(slots.prefix(255)) }
    for slot in slots {
      let value = Mistake.written(reader.value(slot: slot.index, row: row), slot, of: entity, reader, row)
      if value.isNull { continue }
      if case .toMany(let list) = value, list.isEmpty { continue }
      if Mistake.is(.ledgerOwnDefaultOmitted), slot.attribute?.defaultValue?.isIdentical(to: value) ?? false {
        continue
      }
      put(" ")
      quoted(Mistake.is(.ledgerPropertyNamesTrimmed) ? Mistake.trimmed(slot.name) : slot.name)
      put(" ")
      switch value {
      case .toOne(let object): reference(object.reference)
      case .toMany(let objects):
        put("(")
        for (place, object) in Mistake.written(members: objects.map(\.reference), slot, in: model).enumerated() {
          if place > 0 { put(" ") }
          reference(object)
        }
        put(")")
      default: self.value(Mistake.written(value, slot.attributeType ?? .undefined))
      }
    }
    put("\n")
  }

  mutating func value(_ value: StoredValue) {
    switch value {
    case .null, .toOne, .toMany: put("n")
    case .boolean(let flag): put(flag ? "b1" : "b0")
    case .integer(let number): put("i\(number)")
    case .float(let number): put("f\(String(number.bitPattern, radix: 16))")
    case .double(let number): put("r\(String(number.bitPattern, radix: 16))")
    case .decimal(let number): put("m\(number)")
    case .date(let date): put("t\(String(date.timeIntervalSinceReferenceDate.bitPattern, radix: 16))")
    case .data(let data): put("x" + hexadecimal(data))
    case .uuid(let uuid): put("g\(uuid.uuidString)")
    case .string(let text):
      put("s")
      quoted(text)
    case .uri(let text):
      put("l")
      quoted(text)
    }
  }

  mutating func value(_ value: PropertyListValue) {
    switch value {
    case .string(let text): self.value(StoredValue.string(text))
    case .integer(let number): put("i\(number)")
    case .real(let number): self.value(StoredValue.double(number))
    case .boolean(let flag): self.value(StoredValue.boolean(flag))
    case .date(let date): self.value(StoredValue.date(date))
    case .data(let data): self.value(StoredValue.data(data))
    case .uid(let number): put("u\(number)")
    case .array(let list):
      put("[")
      for element in list {
        put(" ")
        self.value(element)
      }
      put(" ]")
    case .dictionary(let dictionary):
      put("{")
      for entry in dictionary {
        put(" ")
        quoted(entry.key)
        put(" ")
        self.value(entry.value)
      }
      put(" }")
    }
  }

  private func hexadecimal(_ data: Data) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var text: [UInt8] = []
    text.reserveCapacity(data.count * 2)
    for byte in data { text += [digits[Int(byte >> 4)], digits[Int(byte & 15)]] }
    return String(decoding: text, as: UTF8.self)
  }

  var digest: String { String(Digest.of(bytes[...]), radix: 16) }
}

/// Distinguishes a damaged file from an intact one (FNV-1a).
enum Digest {
  static func of(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    var digest: UInt64 = 14_695_981_039_346_656_037
    for byte in bytes { digest = (digest ^ UInt64(byte)) &* 1_099_511_628_211 }
    return digest
  }
}
