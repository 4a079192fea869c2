/// Writes binary property lists in which a container that is one value here is one object there, however many hold it:
/// what no honest writer does, and what lets a short list unfold to a long one.
struct SharingPropertyList {
  /// A value; a container is shared by its identity.
  final class Container {
    enum Content {
      case array([Value])
      case dictionary([(key: String, value: Value)])
    }
    let content: Content
    init(_ content: Content) { self.content = content }
  }
  enum Value {
    case string(String)
    case integer(Int)
    case data([UInt8])
    case container(Container)

    static func array(_ elements: [Value]) -> Value { .container(Container(.array(elements))) }
    static func dictionary(_ entries: [(key: String, value: Value)]) -> Value {
      .container(Container(.dictionary(entries)))
    }
    static func dictionary(_ entries: KeyValuePairs<String, Value>) -> Value {
      .dictionary(entries.map { ($0.key, $0.value) })
    }
  }

  private enum Object {
    case bytes([UInt8])
    case array([Int])
    case dictionary([Int], [Int])
  }
  private var objects: [Object] = []
  private var strings: [String: Int] = [:]
  private var containers: [ObjectIdentifier: Int] = [:]

  /// - Parameter first: A string that the list begins with: formats are known by theirs.
  static func bytes(_ top: Value, first: String) -> [UInt8] {
    var list = SharingPropertyList()
    _ = list.add(.string(first))
    let number = list.add(top)
    return list.file(top: number)
  }

  private mutating func add(_ value: Value) -> Int {
    switch value {
    case .string(let text):
      if let known = strings[text] { return known }
      strings[text] = objects.count
      objects.append(.bytes(Self.marker(0x50, text.utf8.count) + Array(text.utf8)))
    case .integer(let number): objects.append(.bytes([0x13] + Self.bigEndian(number, 8)))
    case .data(let bytes): objects.append(.bytes(Self.marker(0x40, bytes.count) + bytes))
    case .container(let container):
      if let known = containers[ObjectIdentifier(container)] { return known }
      let number = objects.count
      containers[ObjectIdentifier(container)] = number
      objects.append(.array([]))
      switch container.content {
      case .array(let elements): objects[number] = .array(elements.map { add($0) })
      case .dictionary(let entries):
        let keys = entries.map { add(.string($0.key)) }
        objects[number] = .dictionary(keys, entries.map { add($0.value) })
      }
      return number
    }
    return objects.count - 1
  }

  private func file(top: Int) -> [UInt8] {
    let width = objects.count < 256 ? 1 : objects.count < 65536 ? 2 : 4
    var bytes = Array("bplist00".utf8)
    var offsets: [Int] = []
    for object in objects {
      offsets.append(bytes.count)
      switch object {
      case .bytes(let content): bytes += content
      case .array(let elements):
        bytes += Self.marker(0xA0, elements.count)
        for element in elements { bytes += Self.bigEndian(element, width) }
      case .dictionary(let keys, let values):
        bytes += Self.marker(0xD0, keys.count)
        for number in keys + values { bytes += Self.bigEndian(number, width) }
      }
    }
    let table = bytes.count
    for offset in offsets { bytes += Self.bigEndian(offset, 4) }
    bytes += [0, 0, 0, 0, 0, 0, 4, UInt8(width)]
    for number in [objects.count, top, table] { bytes += Self.bigEndian(number, 8) }
    return bytes
  }

  private static func marker(_ kind: UInt8, _ count: Int) -> [UInt8] {
    switch count {
    case ..<15: [kind | UInt8(count)]
    case ..<256: [kind | 0xF, 0x10, UInt8(count)]
    default: [kind | 0xF, 0x12] + bigEndian(count, 4)
    }
  }

  private static func bigEndian(_ number: Int, _ width: Int) -> [UInt8] {
    (0..<width).map { UInt8(truncatingIfNeeded: number >> (8 * (width - 1 - $0))) }
  }
}
