import AtomicStoreSPI
import FoundationEssentials

/// Other spellings of the same document.
enum XMLSpellings {
  typealias Change = @Sendable (inout XMLPieces) -> Void

  static let all: [(String, Change)] = [
    (
      "with its texts as sections of character data",
      { crafted in
        for place in plain(crafted) {
          crafted.pieces[place] = .init(.cdata, "<![CDATA[" + crafted.pieces[place].text + "]]>")
        }
      }
    ),
    (
      "with its texts in halves, one of them a section",
      { crafted in
        split(&crafted) { head, tail in head + "<![CDATA[" + tail + "]]>" }
      }
    ),
    (
      "with empty sections around its texts",
      { crafted in
        for place in plain(crafted) {
          crafted.pieces[place].text = "<![CDATA[]]>" + crafted.pieces[place].text + "<![CDATA[]]>"
        }
      }
    ),
    ("with comments in its texts", { crafted in split(&crafted) { head, tail in head + "<!-- between -->" + tail } }),
    ("with instructions in its texts", { crafted in split(&crafted) { head, tail in head + "<?some thing?>" + tail } }),
    (
      "with its texts as references to characters",
      { crafted in
        for place in plain(crafted) { crafted.pieces[place].text = references(crafted.pieces[place].text, radix: 10) }
      }
    ),
    (
      "with its texts as hexadecimal references to characters",
      { crafted in
        for place in plain(crafted) { crafted.pieces[place].text = references(crafted.pieces[place].text, radix: 16) }
      }
    ),
    (
      "with its attributes as references to characters",
      { crafted in
        crafted.retag { tag in
          var tag = tag
          for place in tag.attributes.indices
          where !tag.attributes[place].value.utf8.contains(0x26) && !tag.name.contains(":") {
            tag.attributes[place].value = references(tag.attributes[place].value, radix: 16)
          }
          return tag.piece()
        }
      }
    ),
    (
      "with single quotes",
      { crafted in
        crafted.retag { tag in tag.attributes.contains { $0.value.contains("'") } ? tag.piece() : tag.piece(quote: "'")
        }
      }
    ),
    (
      "with blanks in its tags",
      { crafted in crafted.retag { $0.piece(equals: " =\n\t", between: "\n  ", atEnd: " ") } }
    ),
    (
      "with its attributes in another order",
      { crafted in
        crafted.retag { tag in
          var tag = tag
          tag.attributes.reverse()
          return tag.piece()
        }
      }
    ),
    (
      "with empty elements as pairs of tags, and pairs as one",
      { crafted in
        var result: [XMLPieces.Piece] = []
        for piece in crafted.pieces {
          if piece.kind == .empty, let tag = XMLPieces.Tag(piece) {
            var open = tag
            open.isEmpty = false
            result += [open.piece(), .init(.end, "</\(tag.name)>")]
          } else if piece.kind == .end, let last = result.last, last.kind == .start, var tag = XMLPieces.Tag(last) {
            tag.isEmpty = true
            result[result.count - 1] = tag.piece()
          } else {
            result.append(piece)
          }
        }
        crafted.pieces = result
      }
    ),
    (
      "with comments and instructions between its elements",
      { crafted in
        for place in between(crafted) { crafted.pieces[place].text += "<!-- <a> &b; -->\n<?c d?>" }
        crafted.pieces.append(.init(.comment, "\n<!-- the end -->\n<?the end?>\n"))
      }
    ),
    (
      "with other blanks between its elements",
      { crafted in
        for place in between(crafted) { crafted.pieces[place].text = "\n\t \n" }
      }
    ),
    (
      "without blanks between its elements",
      { crafted in
        for place in between(crafted) where place > crafted.root { crafted.pieces[place].text = "" }
      }
    ),
    (
      "with carriage returns at its line ends",
      { crafted in
        for place in crafted.pieces.indices {
          crafted.pieces[place].text = crafted.pieces[place].text.replacing("\r\n", with: "\n").replacing(
            "\n", with: "\r\n")
        }
      }
    ),
    (
      "without a declaration", { crafted in if crafted.pieces[0].kind == .instruction { crafted.pieces.removeFirst() } }
    ),
    ("that says what it is, UTF-8", { $0.declare(encoding: "utf-8") }),
    ("with a byte order mark", { $0.pieces.insert(.init(.text, .byteOrderMark), at: 0) }),
  ]

  static func encodings(_ pieces: XMLPieces) -> [(String, [UInt8])] {
    var pieces = pieces
    if pieces.pieces[0].kind == .instruction { pieces.pieces.removeFirst() }
    let units = Array(String(decoding: pieces.bytes, as: UTF8.self).utf16)
    func wide(_ declaration: String, _ isLittle: Bool) -> [UInt8] {
      ([0xFEFF] + Array(declaration.utf16) + units).flatMap { unit -> [UInt8] in
        let high = UInt8(truncatingIfNeeded: unit >> 8)
        let low = UInt8(truncatingIfNeeded: unit)
        return isLittle ? [low, high] : [high, low]
      }
    }
    return [
      ("in UTF-16, least byte first", wide("", true)), ("in UTF-16, greatest byte first", wide("", false)),
      ("in UTF-16 that says so", wide("<?xml version=\"1.0\" encoding=\"UTF-16\"?>", true)),
    ]
  }

  /// Leaves without references in them.
  private static func plain(_ crafted: XMLPieces) -> [Int] {
    crafted.leaves.filter { !crafted.pieces[$0].bytes.contains(.ampersand) && !crafted.pieces[$0].isBlank }
  }

  /// Blanks that are layout: not all that an element holds.
  private static func between(_ crafted: XMLPieces) -> [Int] {
    let leaves = Set(crafted.leaves)
    return crafted.pieces.indices.filter {
      $0 > 0 && crafted.pieces[$0].kind == .text && crafted.pieces[$0].isBlank && !leaves.contains($0)
    }
  }

  private static func split(_ crafted: inout XMLPieces, _ join: (String, String) -> String) {
    for place in plain(crafted) {
      let scalars = Array(crafted.pieces[place].text.unicodeScalars)
      var head = String.UnicodeScalarView()
      var tail = String.UnicodeScalarView()
      for (index, scalar) in scalars.enumerated() {
        if index < scalars.count / 2 { head.append(scalar) } else { tail.append(scalar) }
      }
      crafted.pieces[place].text = join(String(head), String(tail))
    }
  }

  private static func references(_ text: String, radix: Int) -> String {
    text.unicodeScalars.map { radix == 16 ? "&#x\(String($0.value, radix: 16));" : "&#\($0.value);" }.joined()
  }
}
