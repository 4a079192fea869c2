/// Changes of elements, attributes and declarations.
enum XMLMutation {
  /// A tag from its `<` to its `>`, or what is between two.
  private typealias Piece = ArraySlice<UInt8>

  static func apply(to bytes: inout [UInt8], _ other: [UInt8], _ reader: HostileReader, _ random: inout MutationRandom)
  {
    var pieces = cut(bytes)
    guard !pieces.isEmpty else {
      bytes = other
      return
    }
    let place = random.below(pieces.count)
    let element = self.element(at: place, in: pieces)
    switch random.below(17) {
    case 0: pieces.remove(at: place)
    case 1: pieces.insert(pieces[place], at: random.below(pieces.count + 1))
    case 2: pieces.swapAt(place, random.below(pieces.count))
    case 3: pieces.removeSubrange(element)
    case 4: pieces.insert(contentsOf: Array(pieces[element]), at: element.upperBound)
    case 5:
      let moved = Array(pieces[element])
      pieces.removeSubrange(element)
      pieces.insert(contentsOf: moved, at: random.below(pieces.count + 1))
    case 6:
      let foreign = cut(other)
      guard !foreign.isEmpty else { return }
      pieces.insert(contentsOf: Array(foreign[self.element(at: random.below(foreign.count), in: foreign)]), at: place)
    case 7, 8, 9, 10: pieces[place] = attributes(of: pieces[place], &random)
    case 11, 12: content(at: place, in: &pieces, reader, &random)
    case 13: flood(element, &pieces, &random)
    case 14:
      // Levels.
      let depth = random.pick([3, 70, 130, 520, 3000]) ?? 3
      let name = tagName(pieces[place]).isEmpty ? Array("a".utf8)[...] : tagName(pieces[place])
      let open = Array(repeating: Array("<".utf8) + name + Array(">".utf8), count: depth).joined()
      let close = Array(repeating: Array("</".utf8) + name + Array(">".utf8), count: random.once(in: 3) ? 0 : depth)
        .joined()
      pieces.replaceSubrange(element, with: [Array(open)[...]] + pieces[element] + [Array(close)[...]])
    case 15: pieces.insert(Array((random.pick(declarations) ?? "").utf8)[...], at: random.once(in: 2) ? 0 : place)
    default: pieces[place] = renamed(pieces[place], reader, &random)
    }
    bytes = Array(pieces.joined())
  }

  private static let declarations = [
    "<?xml version=\"1.0\"?>", "<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
    "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>",
    "<?xml version=\"1.1\" encoding=\"klingon\"?>", "<!DOCTYPE a>", "<!DOCTYPE a SYSTEM \"file:///etc/passwd\">",
    "<!DOCTYPE a [<!ENTITY b SYSTEM \"file:///etc/passwd\">]>",
    "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;&b;&b;\">]>",
    "<!DOCTYPE a [<!ENTITY % p SYSTEM \"http://127.0.0.1:9/p\">%p;]>",
    "<!DOCTYPE a [<!ATTLIST object id CDATA \"z1\">]>", "<!-- -- -->", "<!---->",
    "<?pi?>", "<![CDATA[]]>", "<![CDATA[", "<!", "</", "<a", "<a:b xmlns:a=\"u\"/>", "<a xmlns=\"u\">", "\u{FEFF}",
    "&b;", "&#x1;",
  ]

  /// Names that mean something to a reader.
  private static func names(_ reader: HostileReader) -> [String] {
    switch reader {
    case .xmlStore:
      [
        "database", "databaseInfo", "version", "UUID", "nextObjectID", "metadata", "plist", "dict", "key", "string",
        "object", "attribute", "relationship",
        "type", "id", "name", "destination", "idrefs", "0/1", "1/1", "0/0", "int16", "int32", "int64", "decimal",
        "double", "float", "string", "bool", "date",
        "binary", "uuid", "uri", "z1", "z2 z3", "AtomicStoreModel", "array", "integer", "null",
      ]
    case .model:
      [
        "model", "entity", "attribute", "relationship", "fetchedProperty", "fetchRequest", "fetchIndex",
        "fetchIndexElement", "compositeType", "configuration",
        "memberEntity", "userInfo", "entry", "uniquenessConstraints", "uniquenessConstraint", "constraint", "elements",
        "element", "name", "parentEntity",
        "isAbstract", "attributeType", "optional", "defaultValueString", "defaultDateTimeInterval", "minValueString",
        "maxValueString", "regularExpressionString",
        "toMany", "ordered", "maxCount", "minCount", "deletionRule", "Cascade", "destinationEntity", "inverseName",
        "inverseEntity", "versionHashModifier",
        "elementID", "renamingIdentifier", "Composite", "Integer 16", "Decimal", "Date", "Transformable",
        "valueTransformerName", "key", "value", "YES", "NO",
      ]
    default:
      [
        "plist", "dict", "array", "key", "string", "integer", "real", "true", "false", "date", "data", "version",
        "CF$UID",
      ]
    }
  }

  private static func cut(_ bytes: [UInt8]) -> [Piece] {
    var pieces: [Piece] = []
    var start = 0
    var isTag = false
    for (index, byte) in bytes.enumerated() {
      if byte == UInt8(ascii: "<"), index > start {
        pieces.append(bytes[start..<index])
        start = index
      }
      if byte == UInt8(ascii: "<") { isTag = true }
      if byte == UInt8(ascii: ">"), isTag {
        pieces.append(bytes[start...index])
        start = index + 1
        isTag = false
      }
    }
    if start < bytes.count { pieces.append(bytes[start...]) }
    return pieces
  }

  private static func isOpening(_ piece: Piece) -> Bool {
    piece.count > 1 && piece.first == UInt8(ascii: "<") && !"/!?".utf8.contains(piece[piece.startIndex + 1])
      && piece.dropLast().last != UInt8(ascii: "/")
  }
  private static func isClosing(_ piece: Piece) -> Bool { piece.starts(with: "</".utf8) }
  private static func tagName(_ piece: Piece) -> Piece {
    guard piece.first == UInt8(ascii: "<") else { return [] }
    return piece.dropFirst(isClosing(piece) ? 2 : 1).prefix {
      !($0 <= UInt8(ascii: " ") || $0 == UInt8(ascii: ">") || $0 == UInt8(ascii: "/"))
    }
  }

  /// The pieces of the element that begins at one, as far as tags match.
  private static func element(at place: Int, in pieces: [Piece]) -> Range<Int> {
    guard isOpening(pieces[place]) else { return place..<place + 1 }
    var depth = 0
    for index in place..<pieces.count {
      if isOpening(pieces[index]) { depth += 1 }
      if isClosing(pieces[index]) { depth -= 1 }
      if depth == 0 { return place..<index + 1 }
    }
    return place..<place + 1
  }

  /// A tag with its attributes exchanged, doubled, left out, or of other values.
  private static func attributes(of piece: Piece, _ random: inout MutationRandom) -> Piece {
    var parts: [Piece] = []
    var start = piece.startIndex
    var quote: UInt8?
    for index in piece.indices {
      if let open = quote {
        if piece[index] == open { quote = nil }
      } else if piece[index] == UInt8(ascii: "\"") || piece[index] == UInt8(ascii: "'") {
        quote = piece[index]
      } else if piece[index] == UInt8(ascii: " ") {
        parts.append(piece[start..<index])
        start = index
      }
    }
    let end = piece.count > 1 && piece.dropLast().last == UInt8(ascii: "/") ? piece.endIndex - 2 : piece.endIndex - 1
    parts.append(piece[start..<max(start, end)])
    let tail = piece[max(start, end)...]
    guard parts.count > 1 else { return piece }
    let place = 1 + random.below(parts.count - 1)
    switch random.below(7) {
    case 0: parts.remove(at: place)
    case 1: parts.insert(parts[place], at: place)
    case 2: parts.swapAt(place, 1 + random.below(parts.count - 1))
    case 3:
      for number in 0..<(random.pick([2, 60, 70, 130, 1000]) ?? 2) {
        parts.append(Array(" a\(number)=\"\(number)\"".utf8)[...])
      }
    default:
      guard let open = parts[place].firstIndex(of: UInt8(ascii: "\"")),
        let close = parts[place].lastIndex(of: UInt8(ascii: "\"")), close > open
      else { break }
      var changed = Array(parts[place])
      let offset = parts[place].startIndex
      let donor = parts[1 + random.below(parts.count - 1)]
      let value: [UInt8]
      if random.once(in: 3), let first = donor.firstIndex(of: UInt8(ascii: "\"")),
        let last = donor.lastIndex(of: UInt8(ascii: "\"")), last > first
      {
        value = Array(donor[(first + 1)..<last])
      } else {
        value = Edges.text(&random)
      }
      changed.replaceSubrange(open - offset + 1..<close - offset, with: value)
      parts[place] = changed[...]
    }
    return Array(parts.joined() + tail)[...]
  }

  private static func content(
    at place: Int, in pieces: inout [Piece], _ reader: HostileReader, _ random: inout MutationRandom
  ) {
    // The next text behind a tag.
    let index = pieces[place...].firstIndex { $0.first != UInt8(ascii: "<") } ?? place
    var text = Edges.text(&random)
    switch random.below(5) {
    case 0: text = Array((random.pick(names(reader)) ?? "").utf8)
    case 1: text = Array("<![CDATA[".utf8) + text + Array("]]>".utf8)
    case 2: text = Array(pieces[index]) + text
    case 3:
      if let other = pieces.filter({ $0.first != UInt8(ascii: "<") }).randomElement(using: &random) {
        text = Array(other)
      }
    default: break
    }
    pieces[index] = text[...]
  }

  private static func renamed(_ piece: Piece, _ reader: HostileReader, _ random: inout MutationRandom) -> Piece {
    let name = tagName(piece)
    guard !name.isEmpty, let new = random.pick(names(reader)) else { return piece }
    return Array(piece[piece.startIndex..<name.startIndex] + Array(new.utf8) + piece[name.endIndex...])[...]
  }

  /// An element very often, each time with other numbers: as many objects, entities, properties or references.
  private static func flood(_ element: Range<Int>, _ pieces: inout [Piece], _ random: inout MutationRandom) {
    let model = Array(pieces[element].joined().prefix(2000))
    var all: [Piece] = []
    for number in 0..<(random.pick([2, 20, 200]) ?? 2) {
      var copy: [UInt8] = []
      for byte in model {
        copy.append(byte)
        // Behind each quote that opens a value, a number: other names, other identifiers.
        if byte == UInt8(ascii: "="), random.once(in: 2) { continue }
        if byte == UInt8(ascii: "\""), copy.count > 1, copy[copy.count - 2] == UInt8(ascii: "="), random.once(in: 3) {
          copy += Array("\(number)".utf8)
        }
      }
      all.append(copy[...])
    }
    pieces.insert(contentsOf: all, at: element.upperBound)
  }
}
