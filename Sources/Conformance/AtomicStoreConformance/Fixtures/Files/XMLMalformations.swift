import AtomicStoreSPI
import FoundationEssentials

/// Changes that make a document not well-formed (XML 1.0, fifth edition).
enum XMLMalformations {
  typealias Change = @Sendable (inout XMLPieces, Int) -> Void

  static let all: [(String, Change)] = texts + elements + documents

  /// In the text of a leaf.
  private static let texts: [(String, Change)] =
    [
      ("an ampersand alone", "& "), ("an ampersand at the end of a text", "&"),
      ("an undeclared entity", "&nosuch;"),
      ("a reference without its semicolon", "&amp "), ("a reference with a blank", "&am p;"),
      ("a reference to U+0000", "&#0;"),
      ("a reference to U+0001", "&#1;"), ("a reference to U+001F", "&#x1F;"),
      ("a reference to half a surrogate pair", "&#xD800;"),
      ("a reference past the last character", "&#x110000;"), ("a reference to U+FFFE", "&#xFFFE;"),
      ("a reference without digits", "&#;"),
      ("a hexadecimal reference without digits", "&#x;"), ("a decimal reference with letters", "&#1F;"),
      ("a reference with a capital X", "&#X41;"),
      ("an endless reference", "&#99999999999999999999999;"), ("the end of a section that never began", "]]>"),
      ("a comment with two hyphens", "<!-- a -- b -->"), ("a comment that ends in three hyphens", "<!-- a --->"),
      ("a comment without an end", "<!-- a"),
      ("half the beginning of a comment", "<!- a -->"), ("a section in lower-case letters", "<![cdata[a]]>"),
      ("a section without an end", "<![CDATA[a"),
      ("an instruction without a name", "<? a?>"), ("an instruction named xml", "<?xml version=\"1.0\"?>"),
      ("an instruction named XML", "<?XML a?>"),
      ("an instruction without an end", "<?a b"), ("an instruction with a digit for a name", "<?1 a?>"),
      ("a less-than sign alone", "a < b"),
      ("a document type inside of an element", "<!DOCTYPE a>"),
      ("a declaration inside of an element", "<!ELEMENT a ANY>"),
      ("an element whose name is a digit", "<1/>"), ("an element whose name begins with a hyphen", "<-a/>"),
      ("an element without a name", "<>"),
      ("a tag with a blank before its name", "< a/>"), ("a tag with a blank in its end", "<a/ >"),
      ("a tag with two strokes", "<a//>"),
      ("an end tag with an attribute", "<a></a b=\"c\">"), ("an end tag that nothing began", "</nosuch>"),
      ("a tag in a tag", "<a <b/>>"),
      ("an attribute without a value", "<a b/>"), ("an attribute without quotes", "<a b=c/>"),
      ("an attribute with two kinds of quotes", "<a b=\"c'/>"),
      ("attributes without a blank between", "<a b=\"1\"c=\"2\"/>"),
      ("a less-than sign in an attribute", "<a b=\"<\"/>"),
      ("an ampersand alone in an attribute", "<a b=\"&\"/>"),
      ("an unknown entity in an attribute", "<a b=\"&nosuch;\"/>"),
      ("an attribute twice in a new element", "<a b=\"1\" b=\"1\"/>"), ("an attribute without a name", "<a =\"1\"/>"),
      ("tags crossing each other", "<a><b></a></b>"), ("names that differ in case", "<a></A>"),
    ].map { what, text in (what, { @Sendable crafted, leaf in crafted.pieces[leaf].text += text }) }
    + [
      ("U+0000 as it is", [0x00]), ("U+0001 as it is", [0x01]), ("U+000B as it is", [0x0B]),
      ("U+001F as it is", [0x1F]),
      ("U+FFFE as it is", [0xEF, 0xBF, 0xBE]), ("U+FFFF as it is", [0xEF, 0xBF, 0xBF]),
      ("a byte that UTF-8 never has", [0xFF]),
      ("a letter in too many bytes", [0xC1, 0x81]), ("a NUL in two bytes", [0xC0, 0x80]),
      ("half a surrogate pair as it is", [0xED, 0xA0, 0x80]),
      ("a character past the last", [0xF4, 0x90, 0x80, 0x80]), ("a character that is cut short", [0xE2, 0x82]),
      ("a byte that continues nothing", [0x80]),
    ].map { (what: String, bytes: [UInt8]) in (what, { @Sendable crafted, leaf in crafted.pieces[leaf].bytes += bytes })
    }

  /// In the tags that are there.
  private static let elements: [(String, Change)] = [
    ("a leaf that never ends", { crafted, leaf in crafted.pieces.remove(at: leaf + 1) }),
    ("a leaf that ends twice", { crafted, leaf in crafted.pieces.insert(crafted.pieces[leaf + 1], at: leaf + 1) }),
    ("a leaf that never began", { crafted, leaf in crafted.pieces.remove(at: leaf - 1) }),
    ("a leaf that ends by another name", { crafted, leaf in crafted.pieces[leaf + 1].text = "</other>" }),
    ("a start tag without its bracket", { crafted, leaf in crafted.pieces[leaf - 1].bytes.removeLast() }),
    ("an end tag without its bracket", { crafted, leaf in crafted.pieces[leaf + 1].bytes.removeLast() }),
    ("no end of the outermost element", { crafted, _ in crafted.pieces.remove(at: crafted.rootEnd) }),
    (
      "an attribute twice",
      { crafted, _ in
        crafted.retag { tag in
          var tag = tag
          if let first = tag.attributes.first { tag.attributes.append(first) }
          return tag.piece()
        }
      }
    ),
    ("values without quotes", { crafted, _ in crafted.retag { $0.piece(quote: "") } }),
    ("values without an equals sign", { crafted, _ in crafted.retag { $0.piece(equals: "") } }),
    (
      "attributes that touch",
      { crafted, _ in
        crafted.retag { tag in
          var tag = tag
          tag.attributes += [("one", "1"), ("two", "2")]
          return .init(.start, tag.piece().text.replacing("\" two", with: "\"two"))
        }
      }
    ),
  ]

  /// Around the outermost element.
  private static let documents: [(String, Change)] = [
    ("a second outermost element", { crafted, _ in crafted.pieces.append(.init(.empty, "<more/>")) }),
    ("the whole twice", { crafted, _ in crafted.pieces += crafted.pieces }),
    ("text behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.text, "stray")) }),
    ("a reference behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.text, "&#32;")) }),
    ("a section behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.cdata, "<![CDATA[]]>")) }),
    ("U+0000 behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.text, [0x00])) }),
    (
      "an open comment behind the outermost element", { crafted, _ in crafted.pieces.append(.init(.comment, "<!-- a")) }
    ),
    (
      "a document type behind the outermost element",
      { crafted, _ in crafted.pieces.append(.init(.doctype, "<!DOCTYPE a>")) }
    ),
    (
      "text before the outermost element",
      { crafted, _ in crafted.pieces.insert(.init(.text, "stray"), at: crafted.root) }
    ),
    (
      "two document types",
      { crafted, _ in
        crafted.setDocumentType("", external: crafted.externalIdentifier)
        crafted.pieces.insert(.init(.doctype, "<!DOCTYPE \(crafted.rootName)>"), at: crafted.root)
      }
    ),
    (
      "a document type in lower-case letters",
      { crafted, _ in crafted.pieces.insert(.init(.doctype, "<!doctype \(crafted.rootName)>"), at: crafted.root) }
    ),
    (
      "a document type without a name",
      { crafted, _ in
        crafted.setDocumentType("")
        for place in crafted.pieces.indices where crafted.pieces[place].kind == .doctype {
          crafted.pieces[place].text = "<!DOCTYPE >"
        }
      }
    ),
    ("an undeclared parameter entity", { crafted, _ in crafted.setDocumentType("%nosuch;") }),
    ("a declaration of nothing known", { crafted, _ in crafted.setDocumentType("<!THING a>") }),
    ("a blank before the declaration", { crafted, _ in crafted.declare("<?xml version=\"1.0\"?>", before: " ") }),
    ("a declaration without a version", { crafted, _ in crafted.declare("<?xml standalone=\"yes\"?>") }),
    ("a declaration with an empty version", { crafted, _ in crafted.declare("<?xml version=\"\"?>") }),
    (
      "a declaration in a wrong order",
      { crafted, _ in crafted.declare("<?xml version=\"1.0\" standalone=\"yes\" encoding=\"UTF-8\"?>") }
    ),
    (
      "a declaration with another word",
      { crafted, _ in crafted.declare("<?xml version=\"1.0\" standalone=\"maybe\"?>") }
    ),
    ("a declaration with an unknown part", { crafted, _ in crafted.declare("<?xml version=\"1.0\" color=\"red\"?>") }),
    ("a declaration that does not end", { crafted, _ in crafted.declare("<?xml version=\"1.0\">") }),
    ("two declarations", { crafted, _ in crafted.declare("<?xml version=\"1.0\"?><?xml version=\"1.0\"?>") }),
  ]
}
