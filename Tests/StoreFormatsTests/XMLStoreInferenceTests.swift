import AtomicStoreSPI
import Foundation
import Testing
import XMLStoreFormat

@Suite("A model from an XML store's objects")
struct XMLStoreInferenceTests {
  static func infer(_ objects: String, names: [String] = []) throws -> ManagedObjectModel {
    var metadata = "<metadata><plist version=\"1.0\"><dict><key>NSStoreModelVersionHashes</key><dict>"
    for name in names { metadata += "<key>\(name)</key><data>AAEC</data>" }
    metadata += "</dict></dict></plist></metadata>"
    return try XMLSupport.open(XMLSupport.document(objects, metadata: names.isEmpty ? "<metadata/>" : metadata)).nodes
      .model
  }

  static func object(_ type: String, _ id: Int, _ relationships: [(String, String, String)] = []) -> String {
    var text = "<object type=\"\(type)\" id=\"z\(id)\">"
    for (name, destination, references) in relationships {
      let idrefs = references.isEmpty ? "" : " idrefs=\"\(references)\""
      text += "<relationship name=\"\(name)\" type=\"0/0\" destination=\"\(destination)\"\(idrefs)></relationship>"
    }
    return text + "</object>"
  }

  static func outline(_ model: ManagedObjectModel) -> [String] {
    model.entities.map { entity in
      let own = entity.declaration.properties.map(\.name).joined(separator: ",")
      let above = entity.superentity.map { ": \($0.name)" } ?? ""
      return "\(entity.isAbstract ? "abstract " : "")\(entity.name)\(above) (\(own))"
    }
  }

  @Test(
    "a destination without objects that has others' is their abstract parent, with their common properties")
  func abstractParent() throws {
    let model = try Self.infer(
      Self.object("OWNER", 1, [("things", "THING", "z2 z3")])
        + Self.object("TOGO", 2, [("tags", "TAG", ""), ("due", "TAG", "")])
        + Self.object("NOTE", 3, [("tags", "TAG", "")]), names: ["Thing", "ToGo", "Owner"])
    #expect(
      Self.outline(model) == [
        "NOTE: Thing ()", "Owner (things)", "TAG ()", "abstract Thing (tags)", "ToGo: Thing (due)",
      ])
  }

  @Test("a parent with objects passes on its properties")
  func concreteParent() throws {
    let model = try Self.infer(
      Self.object("TEAM", 1, [("people", "PERSON", "z2 z3")]) + Self.object("PERSON", 2, [("friends", "PERSON", "")])
        + Self.object("BOSS", 3, [("friends", "PERSON", ""), ("staff", "PERSON", "")]))
    #expect(Self.outline(model) == ["BOSS: PERSON (staff)", "PERSON (friends)", "TEAM (people)"])
  }

  @Test("two parents become a line: the wider one above")
  func twoParents() throws {
    let model = try Self.infer(
      Self.object("A", 1, [("things", "THING", "z2 z3"), ("notes", "NOTE", "z2")]) + Self.object("TOGO", 2)
        + Self.object("TAG", 3))
    #expect(
      Self.outline(model) == [
        "A (notes,things)", "abstract NOTE: THING ()", "TAG: THING ()", "abstract THING ()", "TOGO: NOTE ()",
      ])
  }

  @Test("of two parents with objects the one with fewer relationships is above, whatever its name")
  func twoConcreteParents() throws {
    let model = try Self.infer(
      Self.object("X", 1, [("a", "A", "z4"), ("b", "B", "z4")])
        + Self.object("B", 2, [("r", "X", "")]) + Self.object("A", 3, [("r", "X", ""), ("s", "X", "")])
        + Self.object("C", 4, [("r", "X", ""), ("s", "X", "")]))
    #expect(Self.outline(model) == ["A: B (s)", "B (r)", "C: A ()", "X (a,b)"])
  }

  @Test("forward and backward references reveal the same")
  func forward() throws {
    let one = try Self.infer(Self.object("T", 1) + Self.object("A", 2, [("r", "D", "z1")]))
    let other = try Self.infer(Self.object("A", 1, [("r", "D", "z2")]) + Self.object("T", 2))
    #expect(Self.outline(one) == Self.outline(other))
    #expect(Self.outline(one) == ["A (r)", "abstract D ()", "T: D ()"])
  }

  @Test("two entities that would each be below the other are refused")
  func cycle() throws {
    let objects = Self.object("A", 1, [("r", "B", "z1")]) + Self.object("B", 2, [("r", "A", "z2")])
    let error = try XMLSupport.failure { _ = try Self.infer(objects) }
    #expect(error.code == .malformed)
    #expect(error.message.contains("A") && error.message.contains("B"))
  }

  @Test("an attribute of several types has none, and each value keeps its own")
  func mixedTypes() throws {
    let opened = try XMLSupport.open(
      XMLSupport.document(
        #"<object type="A" id="z1"><attribute name="v" type="int16">5</attribute></object><object type="A" id="z2"><attribute name="v" type="string">five</attribute></object>"#
      ))
    #expect(opened.nodes.model.entity(at: 0).slots.map(\.kind) == [.attribute(.undefined)])
    let values = XMLSupport.values(opened.nodes)
    #expect(values["A/1.v"] == .integer(5))
    #expect(values["A/2.v"] == .string("five"))
    let again = try XMLSupport.open(try XMLSupport.bytes(of: opened))
    #expect(XMLSupport.exact(again.nodes) == XMLSupport.exact(opened.nodes))
  }

  @Test(
    "what objects disagree about in kind or destination needs a model",
    arguments: [
      (
        #"<attribute name="v" type="int16">5</attribute>"#,
        #"<relationship name="v" type="0/1" destination="A"></relationship>"#
      ),
      (
        #"<relationship name="v" type="0/1" destination="B"></relationship>"#,
        #"<relationship name="v" type="0/1" destination="A"></relationship>"#
      ),
      (
        #"<relationship name="v" type="0/0" destination="A"></relationship>"#,
        #"<relationship name="v" type="0/1" destination="A"></relationship>"#
      ),
    ])
  func contradiction(_ one: String, _ other: String) throws {
    let text = XMLSupport.document(
      "<object type=\"A\" id=\"z1\">\(one)</object><object type=\"A\" id=\"z2\">\(other)</object>")
    let error = try XMLSupport.failure { _ = try XMLSupport.open(text) }
    #expect(error.location.property == "v")
  }

  @Test(
    "types that no file of Core Data's was seen to have are read all the same",
    arguments: [
      ("double", "1.5", StoredValue.double(1.5)),
      ("decimal", "1.50", .decimal(DecimalNumber(mantissa: 150, exponent: -2))),
      ("uri", #"http://a/?b\u2600c"#, .uri("http://a/?b&c")), ("transformable", "AAEC", .data(Data([0, 1, 2]))),
    ])
  func unverifiedTypes(_ name: String, _ text: String, _ value: StoredValue) throws {
    let opened = try XMLSupport.open(
      XMLSupport.document(
        "<object type=\"A\" id=\"z1\"><attribute name=\"v\" type=\"\(name)\">\(text)</attribute></object>"))
    #expect(XMLSupport.values(opened.nodes)["A/1.v"] == value)
  }

  @Test("an unknown attribute type is refused")
  func unknownType() throws {
    let text = XMLSupport.document(
      #"<object type="A" id="z1"><attribute name="v" type="bin">AA==</attribute></object>"#)
    #expect(try XMLSupport.failure { _ = try XMLSupport.open(text) }.message.contains("bin"))
  }

  @Test("without objects the metadata's entities are the model")
  func noObjects() throws {
    #expect(Self.outline(try Self.infer("", names: ["Book", "Author"])) == ["Author ()", "Book ()"])
  }
}
