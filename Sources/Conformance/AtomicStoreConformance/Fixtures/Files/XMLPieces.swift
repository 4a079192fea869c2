import AtomicStoreSPI
import FoundationEssentials

/// An XML document cut into its pieces, to be put together in another way. It knows nothing of any store: it only has
/// to get along with documents that a store wrote.
struct XMLPieces: Sendable {
  enum Kind: Sendable { case text, start, empty, end, comment, instruction, doctype, cdata }
  struct Piece: Sendable {
    var kind: Kind
    var bytes: [UInt8]
    var text: String {
      get { String(decoding: bytes, as: UTF8.self) }
      set { bytes = Array(newValue.utf8) }
    }
    var isBlank: Bool { bytes.allSatisfy(\.isWhitespace) }
    init(_ kind: Kind, _ bytes: [UInt8]) {
      self.kind = kind
      self.bytes = bytes
    }
    init(_ kind: Kind, _ text: String) { self.init(kind, Array(text.utf8)) }
  }
  var pieces: [Piece] = []

  var bytes: [UInt8] { pieces.flatMap(\.bytes) }

  /// Nil for what does not look like a document.
  init?(_ bytes: [UInt8]) {
    var place = 0
    func ends(_ word: String, from start: Int) -> Int {
      let word = Array(word.utf8)
      var index = start
      while index + word.count <= bytes.count {
        if bytes[index] == word[0], bytes[index..<(index + word.count)].elementsEqual(word) {
          return index + word.count
        }
        index += 1
      }
      return bytes.count
    }
    func begins(_ word: String) -> Bool { bytes[place...].starts(with: word.utf8) }
    while place < bytes.count {
      let start = place
      var kind = Kind.text
      if begins("<!--") {
        (kind, place) = (.comment, ends("-->", from: place + 4))
      } else if begins("<![CDATA[") {
        (kind, place) = (.cdata, ends("]]>", from: place))
      } else if begins("<?") {
        (kind, place) = (.instruction, ends("?>", from: place))
      } else if begins("<!DOCTYPE") {
        kind = .doctype
        var depth = 0
        while place < bytes.count {
          let byte = bytes[place]
          place += 1
          if byte == UInt8(ascii: "[") {
            depth += 1
          } else if byte == UInt8(ascii: "]") {
            depth -= 1
          } else if byte == .greaterThan, depth <= 0 {
            break
          }
        }
      } else if begins("<") {
        var quote: UInt8 = 0
        while place < bytes.count {
          let byte = bytes[place]
          place += 1
          if quote != 0 {
            if byte == quote { quote = 0 }
          } else if byte == .quote || byte == .apostrophe {
            quote = byte
          } else if byte == .greaterThan {
            break
          }
        }
        kind = bytes[start + 1] == .slash ? .end : bytes[place - 2] == .slash ? .empty : .start
      } else {
        while place < bytes.count, bytes[place] != .lessThan { place += 1 }
      }
      pieces.append(Piece(kind, Array(bytes[start..<place])))
    }
    guard pieces.contains(where: { $0.kind == .start }), let last = pieces.last(where: { $0.kind != .text }),
      last.kind == .end
    else { return nil }
  }

  // MARK: Where things are

  /// Where the outermost element begins and ends.
  var root: Int { pieces.firstIndex { $0.kind == .start } ?? 0 }
  var rootEnd: Int { pieces.lastIndex { $0.kind == .end } ?? pieces.count - 1 }
  var rootName: String { Tag(pieces[root])?.name ?? "" }
  /// Pieces of text that are all that their element holds.
  var leaves: [Int] {
    pieces.indices.filter { place in
      place > 0 && place + 1 < pieces.count && pieces[place].kind == .text && pieces[place - 1].kind == .start
        && pieces[place + 1].kind == .end
    }
  }
  /// The first leaf that holds a word.
  func leaf(with word: String) -> Int? { leaves.first { pieces[$0].text.contains(word) } }
  var tags: [Int] { pieces.indices.filter { pieces[$0].kind == .start || pieces[$0].kind == .empty } }

  /// Puts the document type before the outermost element, or in the place of the one that is there.
  mutating func setDocumentType(_ declarations: String, external: String = "") {
    let text =
      "<!DOCTYPE \(rootName)\(external.isEmpty ? "" : " " + external)\(declarations.isEmpty ? "" : " [\(declarations)]")>"
    if let place = pieces.firstIndex(where: { $0.kind == .doctype }) {
      pieces[place].text = text
    } else {
      pieces.insert(Piece(.doctype, text + "\n"), at: root)
    }
  }

  /// What the document type names outside, as it is written there: `SYSTEM "…"`.
  var externalIdentifier: String {
    guard let type = pieces.first(where: { $0.kind == .doctype })?.text, let from = type.firstRange(of: "SYSTEM \"")
    else { return "" }
    guard let end = type[from.upperBound...].firstIndex(of: "\"") else { return "" }
    return String(type[from.lowerBound...end])
  }

  /// A tag with its attributes, the values as they are written.
  struct Tag {
    var name: String
    var attributes: [(name: String, value: String)] = []
    var isEmpty: Bool

    init?(_ piece: Piece) {
      guard piece.kind == .start || piece.kind == .empty else { return nil }
      isEmpty = piece.kind == .empty
      let blanks: Set<UInt8> = [.space, .tab, .lineFeed, .carriageReturn]
      let bytes = Array(piece.bytes.dropFirst().dropLast(isEmpty ? 2 : 1))
      var place = 0
      func word(_ stops: Set<UInt8>) -> String {
        let start = place
        while place < bytes.count, !stops.contains(bytes[place]) { place += 1 }
        return String(decoding: bytes[start..<place], as: UTF8.self)
      }
      name = word(blanks)
      while place < bytes.count {
        while place < bytes.count, blanks.contains(bytes[place]) { place += 1 }
        guard place < bytes.count else { break }
        let key = word(blanks.union([.equals]))
        while place < bytes.count, blanks.contains(bytes[place]) || bytes[place] == .equals { place += 1 }
        guard place < bytes.count, bytes[place] == .quote || bytes[place] == .apostrophe else { return nil }
        let quote = bytes[place]
        place += 1
        attributes.append((key, word([quote])))
        place += 1
      }
    }

    func piece(quote: String = "\"", equals: String = "=", between: String = " ", atEnd: String = "") -> Piece {
      let list = attributes.map { between + $0.name + equals + quote + $0.value + quote }.joined()
      return Piece(isEmpty ? .empty : .start, "<\(name)\(list)\(atEnd)\(isEmpty ? "/" : "")>")
    }
  }

  /// Rewrites each tag that has its own form.
  mutating func retag(_ change: (Tag) -> Piece) {
    for place in tags { if let tag = Tag(pieces[place]) { pieces[place] = change(tag) } }
  }
}

extension XMLPieces {
  /// Puts a declaration at the start, in the place of what was there.
  mutating func declare(_ text: String, before: String = "") {
    if pieces[0].kind == .instruction {
      pieces[0].text = before + text
    } else {
      pieces.insert(.init(.instruction, before + text + "\n"), at: 0)
    }
  }
  mutating func declare(encoding: String) { declare("<?xml version=\"1.0\" encoding=\"\(encoding)\"?>") }
}
