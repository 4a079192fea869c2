import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreJSON
import StoreReports
import Testing

@Suite("Lint of models") struct ModelLintTests {
  /// A model that a rule finds something in, and what; and a model that is like it, but right.
  struct Case: CustomStringConvertible {
    var rule: String
    var wrong: String
    var right: String
    var subjects: [String]
    var description: String { rule }
  }

  /// Elements of model files, whose other rules do not matter.
  static let cases = [
    Case(
      rule: "cascade-cycle",
      wrong: entity("A", many("bs", "B", "a", "Cascade")) + entity("B", one("a", "A", "bs", "Cascade")),
      right: entity("A", many("bs", "B", "a", "Cascade")) + entity("B", one("a", "A", "bs")),
      subjects: ["A.bs", "B.a"]),
    Case(
      rule: "cascade-to-shared",
      wrong: entity("A", many("bs", "B", "a")) + entity("B", one("a", "A", "bs", "Cascade")),
      right: entity("A", one("b", "B", "a")) + entity("B", one("a", "A", "b", "Cascade")), subjects: ["B.a"]),
    Case(
      rule: "derivation-cycle",
      wrong: entity("A", attribute("x", "Double", #"derived="YES" derivationExpression="x" "#)),
      right: entity(
        "A", attribute("x", "Double") + attribute("y", "Double", #"derived="YES" derivationExpression="x" "#)),
      subjects: ["A.x"]),
    Case(
      rule: "empty-range",
      wrong: entity("A", attribute("x", "Integer 16", #"minValueString="5" maxValueString="2" "#)),
      right: entity("A", attribute("x", "Integer 16", #"minValueString="2" maxValueString="5" "#)), subjects: ["A.x"]),
    Case(
      rule: "invalid-model", wrong: entity("A", one("b", "Nothing", "x")), right: entity("A", attribute("x", "String")),
      subjects: ["A.b"]),
    Case(
      rule: "invalid-predicate",
      wrong: entity("A", attribute("name", "String"))
        + #"<fetchRequest name="F" entity="A" predicateString="nmae == 'x'"/><fetchRequest name="G" entity="A" predicateString="name =="/>"#,
      right: entity("A", attribute("name", "String"))
        + #"<fetchRequest name="F" entity="A" predicateString="name == $NAME"/>"#, subjects: ["F", "G"]),
    Case(
      rule: "name-case", wrong: entity("a", attribute("Name", "String")),
      right: entity("Ä", attribute("name", "String") + attribute("_x", "String")), subjects: ["a", "a.Name"]),
    Case(
      rule: "no-action-rule", wrong: entity("A", one("a", "A", "a", "No Action")),
      right: entity("A", one("a", "A", "a", "Deny")), subjects: ["A.a"]),
    Case(
      rule: "no-inverse", wrong: entity("A", #"<relationship name="a" maxCount="1" destinationEntity="A"/>"#),
      right: entity("A", one("a", "A", "a")), subjects: ["A.a"]),
    Case(
      rule: "nullify-required",
      wrong: entity("A", many("bs", "B", "a")) + entity("B", one("a", "A", "bs", "Nullify", "NO")),
      right: entity("A", many("bs", "B", "a", "Deny")) + entity("B", one("a", "A", "bs", "Nullify", "NO")),
      subjects: ["A.bs"]),
    Case(
      rule: "one-way-inverse",
      wrong: entity("A", one("x", "B", "a") + one("y", "B", "a")) + entity("B", one("a", "A", "x")),
      right: entity("A", one("x", "B", "a")) + entity("B", one("a", "A", "x")), subjects: ["A.y"]),
    Case(
      rule: "optional-boolean", wrong: entity("A", attribute("isOpen", "Boolean")),
      right: entity("A", attribute("isOpen", "Boolean", #"defaultValueString="NO" "#)), subjects: ["A.isOpen"]),
    Case(
      rule: "optional-constraint",
      wrong: entity("A", attribute("key", "String") + constraint("key")),
      right: entity("A", attribute("key", "String", "", "NO") + constraint("key")), subjects: ["A.key"]),
    Case(
      rule: "optional-scalar", wrong: entity("A", attribute("x", "Integer 16", #"usesScalarValueType="YES" "#)),
      right: entity(
        "A",
        attribute("x", "Integer 16", #"usesScalarValueType="YES" "#, "NO")
          + attribute("y", "Integer 16", #"usesScalarValueType="NO" "#)), subjects: ["A.x"]),
    Case(
      rule: "ordered-to-one",
      wrong: entity(
        "A",
        #"<relationship name="a" maxCount="1" ordered="YES" destinationEntity="A" inverseName="a" inverseEntity="A"/>"#
      ),
      right: entity(
        "A",
        #"<relationship name="a" toMany="YES" ordered="YES" destinationEntity="A" inverseName="a" inverseEntity="A"/>"#
      ), subjects: ["A.a"]),
    Case(
      rule: "predicate-keyword", wrong: entity("A", attribute("size", "String")),
      right: entity("A", attribute("sizes", "String")), subjects: ["A.size"]),
    Case(
      rule: "reserved-name",
      wrong: entity("A", attribute("description", "String") + attribute("newName", "String")),
      right: entity("A", attribute("describing", "String") + attribute("news", "String")),
      subjects: ["A.description", "A.newName"]),
    Case(
      rule: "retired-index", wrong: entity("A", attribute("x", "String", #"indexed="YES" "#)),
      right: entity("A", attribute("x", "String")), subjects: ["A.x"]),
    Case(
      rule: "retired-transformer",
      wrong: entity(
        "A",
        attribute("x", "Transformable")
          + attribute("y", "Transformable", #"valueTransformerName="NSKeyedUnarchiveFromDataTransformerName" "#)),
      right: entity("A", attribute("x", "Transformable", #"valueTransformerName="NSSecureUnarchiveFromData" "#)),
      subjects: ["A.x", "A.y"]),
    Case(
      rule: "shared-class",
      wrong: #"<entity name="A" representedClassName="C"/><entity name="B" representedClassName="C"/>"#,
      right:
        #"<entity name="A" representedClassName="C"/><entity name="B" representedClassName="C" parentEntity="A"/>"#,
      subjects: ["B"]),
    Case(
      rule: "similar-names", wrong: entity("A", attribute("name", "String") + attribute("nAme", "String")),
      right: entity("A", attribute("name", "String") + attribute("names", "String")), subjects: ["A.nAme"]),
    Case(
      rule: "unindexed-constraint",
      wrong: entity("A", attribute("key", "String", "", "NO") + constraint("key")),
      right: entity(
        "A",
        attribute("key", "String", "", "NO")
          + #"<fetchIndex name="byKey"><fetchIndexElement property="key" type="Binary" order="ascending"/></fetchIndex>"#
          + constraint("key")), subjects: ["A.key"]),
    Case(
      rule: "unknown-configuration-entity",
      wrong: entity("A", "") + #"<configuration name="C"><memberEntity name="B"/></configuration>"#,
      right: entity("A", "") + #"<configuration name="C"><memberEntity name="A"/></configuration>"#, subjects: ["B"]),
    Case(
      rule: "unknown-index-property",
      wrong: entity(
        "A",
        #"<fetchIndex name="i"><fetchIndexElement property="x" type="Binary" order="ascending"/></fetchIndex>"#),
      right: entity(
        "A",
        attribute("x", "String")
          + #"<fetchIndex name="i"><fetchIndexElement property="x" type="Binary" order="ascending"/></fetchIndex>"#),
      subjects: ["A.x"]),
    Case(
      rule: "derivation-cycle",
      wrong: entity(
        "A",
        attribute("x", "Double", #"derived="YES" derivationExpression="TERNARY(y &gt; 1, 1, 2)" "#)
          + attribute("y", "Double", #"derived="YES" derivationExpression="x + 1" "#)
          + attribute("z", "Double", #"derived="YES" derivationExpression="x + 1" "#)),
      right: entity(
        "A",
        attribute("x", "Double")
          + attribute("y", "Double", #"derived="YES" derivationExpression="TERNARY(x &gt; 1, 1, 2)" "#)),
      subjects: ["A.x", "A.y"]),
    Case(
      rule: "derivation-cycle",
      wrong: entity(
        "A", many("bs", "B", "a") + attribute("x", "Double", #"derived="YES" derivationExpression="bs.y.@sum" "#))
        + entity("B", one("a", "A", "bs") + attribute("y", "Double", #"derived="YES" derivationExpression="a.x" "#)),
      right: entity(
        "A", many("bs", "B", "a") + attribute("x", "Double", #"derived="YES" derivationExpression="bs.y.@sum" "#))
        + entity("B", one("a", "A", "bs") + attribute("y", "Double")),
      subjects: ["A.x", "B.y"]),
    Case(
      rule: "untraced-derivation",
      wrong: entity(
        "A",
        one("b", "B", "as") + #"<relationship name="c" maxCount="1" destinationEntity="B"/>"#
          + attribute("x", "Double", #"derived="YES" derivationExpression="c.x + 1" "#)
          + attribute("y", "Double", #"derived="YES" derivationExpression="FUNCTION(b, 'mine')" "#)
          + attribute("z", "Double", #"derived="YES" derivationExpression="TERNARY(c.x &gt; 1, 1, 2)" "#)
          + #"<relationship name="d" toMany="YES" destinationEntity="B"/>"#
          + attribute("n", "Integer 64", #"derived="YES" derivationExpression="d.@count" "#))
        + entity("B", many("as", "A", "b") + attribute("x", "Double"))
        + entity(
          "C", many("ds", "D", "c") + attribute("n", "Integer 64", #"derived="YES" derivationExpression="ds.@count" "#))
        + entity("D", one("c", "C", "ds", "No Action")),
      right: entity(
        "A",
        one("b", "B", "as")
          + attribute("x", "Double", #"derived="YES" derivationExpression="b.x + FUNCTION(b.x, 'length')" "#)
          + attribute("z", "Double", #"derived="YES" derivationExpression="TERNARY(b.x &gt; 1, 1, 2)" "#))
        + entity(
          "B",
          many("as", "A", "b") + attribute("x", "Double")
            + attribute(
              "n", "Integer 64", #"derived="YES" derivationExpression="SUBQUERY(as, $a, $a.z &gt; 1).@count" "#)),
      subjects: ["A.x", "A.y", "A.z", "A.n", "C.n"]),
    Case(
      rule: "unused-abstract-entity", wrong: #"<entity name="A" isAbstract="YES"/>"#,
      right: #"<entity name="A" isAbstract="YES"/><entity name="B" parentEntity="A"/>"#, subjects: ["A"]),
  ]

  private static func entity(_ name: String, _ content: String) -> String {
    #"<entity name="\#(name)">\#(content)</entity>"#
  }
  private static func attribute(_ name: String, _ type: String, _ more: String = "", _ optional: String = "YES")
    -> String
  {
    #"<attribute name="\#(name)" optional="\#(optional)" attributeType="\#(type)" \#(more)/>"#
  }
  private static func one(
    _ name: String, _ destination: String, _ inverse: String, _ rule: String = "Nullify", _ optional: String = "YES"
  ) -> String {
    #"<relationship name="\#(name)" optional="\#(optional)" maxCount="1" deletionRule="\#(rule)" destinationEntity="\#(destination)" inverseName="\#(inverse)" inverseEntity="\#(destination)"/>"#
  }
  private static func many(
    _ name: String, _ destination: String, _ inverse: String, _ rule: String = "Nullify"
  ) -> String {
    #"<relationship name="\#(name)" optional="YES" toMany="YES" deletionRule="\#(rule)" destinationEntity="\#(destination)" inverseName="\#(inverse)" inverseEntity="\#(destination)"/>"#
  }
  private static func constraint(_ name: String) -> String {
    #"<uniquenessConstraints><uniquenessConstraint><constraint value="\#(name)"/></uniquenessConstraint></uniquenessConstraints>"#
  }

  private static func read(_ elements: String) throws -> ModelDescription {
    let text = #"<model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">"# + elements + "</model>"
    return try ModelFile.read(contents: Array(text.utf8), name: "contents").description
  }

  @Test("a rule finds what is wrong, and nothing where it is right; switched off, it finds nothing", arguments: cases)
  func rule(_ test: Case) throws {
    var lint = ModelLint()
    let found = lint.findings(in: try Self.read(test.wrong)).filter { $0.rule == test.rule }
    #expect(found.map(\.subject) == test.subjects, "\(found)")
    #expect(found.allSatisfy { $0.level == LintRule.named(test.rule)?.level && !$0.message.isEmpty })
    #expect(lint.findings(in: try Self.read(test.right)).filter { $0.rule == test.rule } == [])
    lint.disabledRules = [test.rule]
    let left = lint.findings(in: try Self.read(test.wrong)).filter { $0.rule == test.rule }
    #expect(left.isEmpty == (test.rule != "invalid-model"))
  }

  @Test("every rule has a case, a name in small letters and a sentence")
  func rulesAreComplete() {
    let tested = Set(Self.cases.map(\.rule)).union(["missing-renaming-identifier"])
    #expect(Set(LintRule.all.map(\.name)) == tested)
    #expect(LintRule.all.map(\.name) == LintRule.all.map(\.name).sorted())
    for rule in LintRule.all {
      #expect(rule.name.allSatisfy { $0.isLowercase || $0 == "-" } && rule.summary.hasSuffix("."))
    }
  }

  @Test("a tree of objects with cascading children is not a cycle, whatever the inheritance")
  func trees() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Node",
          properties: [
            .toMany("children", "Node", inverse: "parent", deleteRule: .cascade),
            .toOne("parent", "Node", inverse: "children"),
          ], subentities: [EntityDescription(name: "Folder"), EntityDescription(name: "File")])
      ]))
    #expect(ModelLint().findings(in: model.description).allSatisfy { $0.rule != "cascade-cycle" })
    // Through the rule of a super-entity, and a destination that is a sub-entity.
    let deep = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Item", properties: [.toMany("notes", "Note", inverse: "item", deleteRule: .cascade)],
          subentities: [EntityDescription(name: "Page")]),
        EntityDescription(
          name: "Note",
          properties: [
            .toOne("item", "Item", inverse: "notes"), .toOne("page", "Page", deleteRule: .cascade),
          ]),
      ]))
    let found = ModelLint().findings(in: deep.description).filter { $0.rule == "cascade-cycle" }
    #expect(found.map(\.subject) == ["Item.notes", "Note.page"], "\(found)")
  }

  @Test("user info switches a rule off for an entity or a property, and for nothing else")
  func userInfo() {
    let off = UserInfoEntry(key: ModelLint.userInfoKey, value: "name-case no-inverse")
    let model = ModelDescription(entities: [
      EntityDescription(
        name: "one", properties: [.attribute("Name", .string), .toOne("two", "two")], userInfo: [off]),
      EntityDescription(
        name: "two", properties: [.attribute("Name", .string, userInfo: [off]), .attribute("Other", .string)]),
    ])
    let found = ModelLint().findings(in: model)
    #expect(found.map { "\($0.rule) \($0.subject)" } == ["name-case two", "name-case two.Other"])
  }

  @Test("what looks renamed between two versions is found, unless it has its identifier or could be anything")
  func renaming() {
    func model(_ properties: [PropertyDescription], _ name: String = "Author", _ identifier: String? = nil)
      -> ModelDescription
    {
      ModelDescription(entities: [
        EntityDescription(
          name: name, properties: properties + [.attribute("born", .date), .attribute("note", .binaryData)],
          renamingIdentifier: identifier)
      ])
    }
    func found(_ old: ModelDescription, _ new: ModelDescription) -> [String] {
      ModelLint().findings(from: old, to: new).map(\.subject)
    }
    let old = model([.attribute("name", .string)])
    #expect(found(old, model([.attribute("fullName", .string)])) == ["Author.fullName"])
    #expect(found(old, model([.attribute("fullName", .string, renamingIdentifier: "name")])) == [])
    #expect(found(old, model([.attribute("size", .integer16)])) == [])
    #expect(found(old, model([.attribute("first", .string), .attribute("last", .string)])) == [])
    #expect(found(old, model([.attribute("name", .string)], "Writer")) == ["Writer"])
    #expect(found(old, model([.attribute("name", .string)], "Writer", "Author")) == [])
    #expect(found(old, old) == [])
  }

  @Test("findings have the lines of the model file, and a SARIF log names rule, file, line and level")
  func sarif() throws {
    let text = """
      <?xml version="1.0"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="A">
          <attribute name="Name" optional="YES" attributeType="String"/>
          <relationship name="b" maxCount="1" destinationEntity="A"/>
        </entity>
      </model>
      """
    let model = try ModelFile.read(contents: Array(text.utf8), name: "contents").description
    let lines = ModelLines(contents: Array(text.utf8))
    let found = ModelLint().findings(in: model).map { ($0, lines.line(of: $0)) }
    #expect(found.map(\.1) == [4, 5])
    let log = try #require(
      try JSONSerialization.jsonObject(
        with: Data(LintFinding.sarif(found, file: "My Model/contents", version: "1").text.utf8)) as? [String: Any])
    #expect(log["version"] as? String == "2.1.0")
    let run = try #require((log["runs"] as? [[String: Any]])?.first)
    let driver = try #require((run["tool"] as? [String: Any])?["driver"] as? [String: Any])
    let rules = try #require(driver["rules"] as? [[String: Any]])
    let results = try #require(run["results"] as? [[String: Any]])
    #expect(results.map { $0["level"] as? String } == ["note", "warning"])
    for result in results {
      let index = try #require(result["ruleIndex"] as? Int)
      #expect(rules[index]["id"] as? String == result["ruleId"] as? String)
      let location = try #require(
        (result["locations"] as? [[String: Any]])?.first?["physicalLocation"] as? [String: Any])
      #expect((location["artifactLocation"] as? [String: Any])?["uri"] as? String == "My%20Model/contents")
    }
  }

  @Test(
    "every model of the corpus is linted; nothing in it is invalid",
    .enabled(if: ReportSupport.hasCorpus, "needs ../shared/corpus"))
  func corpus() {
    for (path, model) in ReportSupport.corpusModels {
      let found = ModelLint().findings(in: model.description)
      #expect(found.allSatisfy { $0.level != .error }, "\(path)")
      // Of the rules that compare names with what predicates take: none is wrong about a model of an app in use.
      #expect(Set(found).count == found.count, "\(path)")
    }
  }
}
