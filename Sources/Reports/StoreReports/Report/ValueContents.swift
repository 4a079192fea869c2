import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StoreJSON
import StorePredicates

/// What an object's page shows of values besides a line: pictures, what data contains, and texts with all their lines.
///
/// A content is a text, null, or one of these: `{"picture", "name"}`, `{"date"}`, `{"table", "more"}` with pairs of
/// keys and contents, and `{"list", "more"}`.
struct ValueContents {
  /// How many bytes a picture has at most.
  var maximumPictureSize = 100_000
  /// How many bytes all contents have together, at most.
  var maximumSize = 4_000_000
  /// How many characters a text has at most.
  var maximumTextLength = 10_000
  /// How many values are shown of a property list or an archive, and of each list in it.
  var maximumNodeCount = 1_000
  var maximumListCount = 200
  /// How many characters of a value are shown in a line: a text that is longer is a content.
  var lineLength: Int

  /// Whether contents were left out, because there are too many.
  private(set) var isFull = false
  private var size = 0
  /// Steps of decoding: hostile data takes long and gives little.
  private var stepsLeft = 4_000_000
  private var pixelsLeft = 0
  private var nodesLeft = 0

  init(lineLength: Int) { self.lineLength = lineLength }

  /// The pixels of the pictures of an object, at most.
  private static let maximumPixelCount = 32_000_000

  /// Begins an object: the pictures of a single one are shown at a time.
  mutating func beginObject() { pixelsLeft = Self.maximumPixelCount }

  /// What is shown of a value; nil if its line is everything.
  mutating func content(of value: StoredValue) -> JSONValue? {
    guard !isFull else { return nil }
    nodesLeft = maximumNodeCount
    let content: JSONValue?
    let before = size
    switch value {
    case .string(let text):
      guard mayHaveContent(value) else { return nil }
      content = shown(text, to: maximumTextLength)
    case .data(let data): content = self.content(of: data)
    default: return nil
    }
    if size > maximumSize || stepsLeft < 0 {
      isFull = true
      size = before
      return nil
    }
    return content
  }

  /// The same; if the content was left out because there are too many, a content that says so.
  mutating func contentOrNote(of value: StoredValue) -> JSONValue? {
    if let content = content(of: value) { return content }
    guard isFull, mayHaveContent(value) else { return nil }
    let note = "not shown: the contents of this object are too large or take too long to decode"
    return .object([("table", .array([.array([.string("content"), .string(note)])])), ("more", .integer(0))])
  }

  private func mayHaveContent(_ value: StoredValue) -> Bool {
    switch value {
    case .string(let text): text.unicodeScalars.count > lineLength || text.utf8.contains(UInt8(ascii: "\n"))
    case .data(let data): MediaType(of: [UInt8](data)) != .bytes
    default: false
    }
  }

  private mutating func content(of data: Data) -> JSONValue? {
    if let picture = picture(data) { return picture }
    let (members, steps) = DecodedContent.members(of: data, marksBytes: true)
    stepsLeft -= steps + data.count / 64
    guard members.count > 2 || MediaType(of: [UInt8](data)) != .bytes else { return nil }
    return table(members.filter { $0.key != "size" })
  }

  /// The bytes of a picture as an address that contains them.
  private mutating func picture(_ data: Data) -> JSONValue? {
    let bytes = [UInt8](data)
    let type = MediaType(of: bytes)
    guard bytes.count <= maximumPictureSize, let (width, height) = PictureSize.read(bytes, type),
      width <= pixelsLeft / height
    else { return nil }
    pixelsLeft -= width * height
    let address = "data:\(type.name);base64,\(data.base64EncodedString())"
    size += address.utf8.count
    return .object([("picture", .string(address)), ("name", .string("\(type.name), \(width) × \(height)"))])
  }

  private mutating func shown(_ text: String, to length: Int) -> JSONValue {
    let shown = Markup.visible(Markup.shortened(text, to: max(1, length)), keepsLines: true)
    size += shown.utf8.count + 8
    return .string(shown)
  }

  private mutating func node(_ value: InnerValue) -> JSONValue {
    switch value {
    case .null: return .null
    case .text(let text): return shown(text, to: maximumTextLength)
    case .date(let date):
      return .object([("date", shown(GraphComparison.text(StoredValue.date(date)), to: lineLength))])
    case .data(let data): return bytes(data)
    case .table(let members):
      // Bytes that are not recognized are a table of nothing else.
      if members.count == 1, case .data(let data) = members[0].value { return bytes(data) }
      return table(members)
    case .list(let list):
      var nodes: [JSONValue] = []
      for value in list.prefix(maximumListCount) where takeNode() { nodes.append(node(value)) }
      return .object([("list", .array(nodes)), ("more", .integer(list.count - nodes.count))])
    default:
      // Numbers, as JSON has them.
      if case .string(let text) = value.json { return shown(text, to: lineLength) }
      return shown(value.json.line, to: lineLength)
    }
  }

  private mutating func bytes(_ data: Data) -> JSONValue {
    picture(data) ?? shown(GraphComparison.text(StoredValue.data(data)), to: lineLength)
  }

  private mutating func table(_ members: [(key: String, value: InnerValue)]) -> JSONValue {
    var nodes: [JSONValue] = []
    for (key, value) in members.prefix(maximumListCount) where takeNode() {
      // Data in a list, which has its kind and its bytes: the decoder makes no other member of this case.
      if case .data(let data) = value {
        nodes.append(
          .array([.string("bytes"), picture(data) ?? shown(Markup.count(data.count, "byte"), to: lineLength)]))
      } else {
        nodes.append(.array([shown(key, to: lineLength), node(value)]))
      }
    }
    return .object([("table", .array(nodes)), ("more", .integer(members.count - nodes.count))])
  }

  private mutating func takeNode() -> Bool {
    guard nodesLeft > 0 else { return false }
    nodesLeft -= 1
    size += 16
    return true
  }
}
