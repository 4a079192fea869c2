import AtomicStoreSPI
import ModelFiles
import Testing

@Suite("References in a model file")
struct ModelFileReferenceTests {
  @Test("the five entities of XML and characters by number are resolved in attributes")
  func predefined() throws {
    let read = try ModelFileSupport.attribute(
      "<attribute name=\"x\" attributeType=\"String\" defaultValueString=\"&amp;&amp;amp;&lt;&gt;&quot;&apos;&#38;&#x26;#38;&#10;\"/>"
    )
    #expect(read.attribute.defaultValue == .string("&&amp;<>\"'&&#38;\n"))
  }

  @Test(
    "other entities are refused, in attributes and in text, whatever the document type says",
    arguments: [
      "", "<!DOCTYPE model>", "<!DOCTYPE model SYSTEM \"file:///etc/hostname\">",
      "<!DOCTYPE model [<!ENTITY e \"text\">]>", "<!DOCTYPE model [<!ENTITY e SYSTEM \"file:///etc/hostname\">]>",
      "<!DOCTYPE model [<!ENTITY a \"aaaa\"><!ENTITY e \"&a;&a;&a;&a;\">]>",
      "<!DOCTYPE model [<!ENTITY % p SYSTEM \"file:///etc/hostname\"> %p;]>",
    ])
  func others(_ documentType: String) throws {
    for body in ["<entity name=\"&e;\"/>", "<entity name=\"A\"/>&e;", "<entity name=\"A\"><plan>&e;</plan></entity>"] {
      let error = try ModelFileSupport.error { _ = try ModelFileSupport.read("\(documentType)<model>\(body)</model>") }
      #expect(error.code == .malformed, "\(documentType) \(body): \(error)")
      #expect(error.location.line == 1)
    }
  }
}
