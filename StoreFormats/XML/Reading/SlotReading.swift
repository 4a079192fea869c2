import AtomicStoreSPI

/// How the value of a slot is read; a byte instead of an enumeration with payloads, for speed.
enum SlotReading: UInt8 {
  case text, boolean, integer, float, double, date, decimal, uuid, bytes, undefined, toOne, toMany

  init(_ kind: Slot.Kind) {
    switch kind {
    case .toOne: self = .toOne
    case .toMany: self = .toMany
    case .attribute(let type):
      switch type {
      case .string, .uri: self = .text
      case .boolean: self = .boolean
      case .integer16, .integer32, .integer64: self = .integer
      case .float: self = .float
      case .double: self = .double
      case .date: self = .date
      case .decimal: self = .decimal
      case .uuid: self = .uuid
      case .binaryData, .transformable: self = .bytes
      case .undefined, .composite: self = .undefined
      }
    }
  }
}
