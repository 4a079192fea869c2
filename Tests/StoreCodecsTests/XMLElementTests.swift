import Foundation
import StoreCodecs
import Testing

@Suite("XML element") struct XMLElementTests {
  private func parse(_ text: String, file: String? = nil) throws(PersistentStoreError) -> XMLElement {
    try XMLElement.parse(Array(text.utf8).span, file: file)
  }

  @Test("a small document becomes a tree with locations")
  func tree() throws {
    let root = try parse(
      """
      <?xml version="1.0"?>
      <model name="M" type='x&amp;y &lt;&quot;&#233;'>
        <entity name="A"/>text &lt;1&gt;
        <entity name="B"><attribute/></entity>
        <other><![CDATA[<&>]]></other>
      </model>
      """, file: "contents")
    #expect(root.name == "model")
    #expect(root.attributes.map(\.name) == ["name", "type"])
    #expect(root[attribute: "type"] == "x&y <\"é")
    #expect(root[attribute: "none"] == nil)
    #expect(root.elements.map(\.name) == ["entity", "entity", "other"])
    #expect(root.elements[1].location.line == 4)
    #expect(root.elements[1].location.file == "contents")
    #expect(root.elements[1].elements.count == 1)
    #expect(root.elements[2].text == "<&>")
    #expect(root.text == "\n  text <1>\n  \n  \n")
  }

  @Test(
    "limits and errors are passed on",
    arguments: [("", .malformed), ("<a>", .malformed), (deep, .limitExceeded)] as [(String, PersistentStoreError.Code)])
  func faults(_ text: String, _ code: PersistentStoreError.Code) {
    do throws(PersistentStoreError) {
      _ = try parse(text)
      Issue.record("accepted")
    } catch {
      #expect(error.code == code)
    }
  }

  private static let deep = String(repeating: "<a>", count: 129) + String(repeating: "</a>", count: 129)

  @Test(
    "escaped text and attributes read back byte for byte",
    arguments: [
      "", "plain", "<a> & \"b\" 'c'", "tab\tline\nreturn\rend", "é e\u{301} 漢 😀 \u{FFFD}\u{85}\u{2028}", "]]>",
      "&amp;",
    ])
  func escaping(_ text: String) throws {
    let document = written {
      $0.append("<a b=\"" as StaticString)
      $0.append(xmlEscaped: text, inAttribute: true)
      $0.append("\">" as StaticString)
      $0.append(xmlEscaped: text)
      $0.append("</a>" as StaticString)
    }
    let root = try parse(document)
    #expect(XMLText.canHold(text))
    #expect(root.text.utf8.elementsEqual(text.utf8))
    #expect(try #require(root[attribute: "b"]).utf8.elementsEqual(text.utf8))
  }

  @Test(
    "characters that XML does not allow are detected",
    arguments: ["\0", "\u{1}", "a\u{B}", "\u{1F}x", "\u{FFFE}", "x\u{FFFF}"])
  func inexpressible(_ text: String) {
    #expect(!XMLText.canHold(text))
  }
}
