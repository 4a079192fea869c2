public import AtomicStoreSPI
public import FoundationEssentials

/// What an object is known by, in whatever context: its store, its entity, and its reference there.
public struct ManagedObjectID: Hashable, Sendable, CustomStringConvertible {
  public let storeIdentifier: UUID
  /// The concrete entity's name.
  public let entityName: String
  public let reference: ReferenceObject

  public init(storeIdentifier: UUID, entityName: String, reference: ReferenceObject) {
    self.storeIdentifier = storeIdentifier
    self.entityName = entityName
    self.reference = reference
  }

  /// `x-coredata://STORE-UUID/Entity/p12`; a string reference follows `ps` with everything but letters, digits, `-`,
  /// `_` and `.` percent-escaped, so that no text reads as a number.
  public var uriRepresentation: String {
    let tail =
      switch reference {
      case .integer(let number): "p\(number)"
      case .string(let text): "ps" + Self.escaped(text)
      }
    return "x-coredata://\(storeIdentifier.uuidString)/\(Self.escaped(entityName))/\(tail)"
  }

  public var description: String { uriRepresentation }

  /// The ID that a URI stands for, or nil where it is none: also for a temporary one, `x-coredata:///Entity/t…`.
  public init?(uriRepresentation text: String) {
    let prefix = "x-coredata://"
    guard text.hasPrefix(prefix) else { return nil }
    let parts = text.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, let store = UUID(uuidString: String(parts[0])), let entity = Self.unescaped(parts[1]),
      !entity.isEmpty, parts[2].first == "p"
    else { return nil }
    let tail = parts[2].dropFirst()
    if tail.first == "s" {
      guard let reference = Self.unescaped(tail.dropFirst()) else { return nil }
      self.init(storeIdentifier: store, entityName: entity, reference: .string(reference))
    } else {
      guard let number = Int64(tail), String(number) == tail else { return nil }
      self.init(storeIdentifier: store, entityName: entity, reference: .integer(number))
    }
  }

  private static func escaped(_ text: String) -> String {
    var result = ""
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F: result.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let hex = String(byte, radix: 16, uppercase: true)
        result += hex.count == 1 ? "%0\(hex)" : "%\(hex)"
      }
    }
    return result
  }

  private static func unescaped(_ text: Substring) -> String? {
    var bytes: [UInt8] = []
    var rest = text.utf8.makeIterator()
    while let byte = rest.next() {
      guard byte == 0x25 else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.next(), let low = rest.next(), let one = Character(Unicode.Scalar(high)).hexDigitValue,
        let two = Character(Unicode.Scalar(low)).hexDigitValue
      else { return nil }
      bytes.append(UInt8(one * 16 + two))
    }
    return String(validating: bytes, as: UTF8.self)
  }
}
