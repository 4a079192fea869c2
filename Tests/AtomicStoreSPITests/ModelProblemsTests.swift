import AtomicStoreSPI
import FoundationEssentials
import Testing

@Suite("Problems of a model")
struct ModelProblemsTests {
  /// A model that contradicts itself, and what must be said about it.
  struct Case: Sendable, CustomTestStringConvertible {
    var code: ModelProblem.Code
    var severity: ModelProblem.Severity = .error
    var place: String
    var model: ModelDescription
    var testDescription: String { "\(code.rawValue) at \(place)" }
  }

  private static func attribute(_ name: String, _ type: AttributeType = .string) -> PropertyDescription {
    .attribute(name, type)
  }
  private static func relationship(
    _ name: String, to destination: String, inverse: String? = nil, least: Int = 0, most: Int = 1,
    rule: DeleteRule = .nullify
  ) -> PropertyDescription {
    .relationship(
      RelationshipDescription(
        name: name, destinationEntityName: destination, inverseName: inverse, minimumCount: least, maximumCount: most,
        deleteRule: rule))
  }
  private static func one(_ properties: PropertyDescription...) -> ModelDescription {
    ModelDescription(entities: [EntityDescription(name: "A", properties: properties)])
  }
  private static func one(_ properties: [PropertyDescription]) -> ModelDescription {
    ModelDescription(entities: [EntityDescription(name: "A", properties: properties)])
  }
  private static func bounded(_ attribute: AttributeDescription) -> ModelDescription { one(.attribute(attribute)) }

  static let cases: [Case] = [
    Case(code: .emptyName, place: "", model: ModelDescription(entities: [EntityDescription(name: "")])),
    Case(code: .emptyName, place: "A", model: one(attribute(""))),
    Case(
      code: .emptyName, place: "", model: ModelDescription(composites: [CompositeDescription(name: "", attributes: [])])
    ),
    Case(
      code: .emptyName, place: "",
      model: ModelDescription(configurations: [ConfigurationDescription(name: "", entityNames: [])])),
    Case(
      code: .emptyName, place: "",
      model: ModelDescription(
        entities: [EntityDescription(name: "A")],
        fetchRequestTemplates: [FetchRequestDescription(name: "", entityName: "A")])),
    Case(
      code: .duplicateEntity, place: "A",
      model: ModelDescription(entities: [EntityDescription(name: "A"), EntityDescription(name: "A")])),
    Case(
      code: .duplicateEntity, place: "A",
      model: ModelDescription(entities: [
        EntityDescription(name: "A"), EntityDescription(name: "B", subentities: [EntityDescription(name: "A")]),
      ])),
    Case(code: .duplicateProperty, place: "A.x", model: one(attribute("x"), relationship("x", to: "A"))),
    Case(
      code: .redefinedProperty, place: "C.x",
      model: ModelDescription(entities: [
        EntityDescription(
          name: "A", properties: [attribute("x")],
          subentities: [
            EntityDescription(
              name: "B", subentities: [EntityDescription(name: "C", properties: [attribute("x")])])
          ])
      ])),
    Case(
      code: .inheritanceCycle, place: "A",
      model: ModelDescription(entities: [EntityDescription(name: "A", subentities: [EntityDescription(name: "A")])])),
    Case(code: .missingDestination, place: "A.r", model: one(relationship("r", to: "Gone"))),
    Case(code: .missingDestination, place: "A.r", model: one(relationship("r", to: ""))),
    Case(code: .missingInverse, place: "A.r", model: one(relationship("r", to: "A", inverse: "gone"))),
    Case(code: .inverseMismatch, place: "A.r", model: one(relationship("r", to: "A", inverse: "x"), attribute("x"))),
    Case(
      code: .inverseMismatch, place: "A.r",
      model: ModelDescription(entities: [
        EntityDescription(name: "A", properties: [relationship("r", to: "B", inverse: "s")]),
        EntityDescription(name: "B", properties: [relationship("s", to: "B")]),
      ])),
    // The inverse is taken: by one of this entity, and by one of the same name of another.
    Case(
      code: .inverseMismatch, severity: .warning, place: "A.r",
      model: one(
        relationship("r", to: "A", inverse: "s"), relationship("s", to: "A", inverse: "t"),
        relationship("t", to: "A", inverse: "s"))),
    Case(
      code: .inverseMismatch, severity: .warning, place: "A.r",
      model: ModelDescription(entities: [
        EntityDescription(name: "A", properties: [relationship("r", to: "B", inverse: "s")]),
        EntityDescription(name: "B", properties: [relationship("s", to: "C", inverse: "r")]),
        EntityDescription(name: "C", properties: [relationship("r", to: "B", inverse: "s")]),
      ])),
    Case(
      code: .inverseMismatch, severity: .warning, place: "A.r",
      model: one(relationship("r", to: "A", inverse: "s"), relationship("s", to: "A"))),
    Case(code: .noInverse, severity: .warning, place: "A.r", model: one(relationship("r", to: "A"))),
    Case(
      code: .noActionRule, severity: .warning, place: "A.r",
      model: one(relationship("r", to: "A", inverse: "r", rule: .noAction))),
    Case(code: .countsReversed, place: "A.r", model: one(relationship("r", to: "A", inverse: "r", least: 5, most: 2))),
    Case(code: .countsReversed, place: "A.r", model: one(relationship("r", to: "A", inverse: "r", least: -1))),
    Case(
      code: .boundsReversed, severity: .warning, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .integer32, minimum: .integer(5), maximum: .integer(4)))),
    Case(
      code: .boundsReversed, severity: .warning, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, minimumLength: 9, maximumLength: 8))),
    Case(
      code: .boundsReversed, severity: .warning, place: "A.x",
      model: bounded(
        AttributeDescription(
          name: "x", type: .date, minimum: .date(Date(timeIntervalSinceReferenceDate: 1)),
          maximum: .date(Date(timeIntervalSinceReferenceDate: 0))))),
    Case(
      code: .defaultOfWrongType, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .integer16, defaultValue: .string("7")))),
    Case(
      code: .defaultOfWrongType, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .integer16, defaultValue: .integer(70000)))),
    Case(
      code: .boundOfWrongType, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .double, minimum: .integer(0)))),
    Case(
      code: .missingDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: ""))),
    Case(
      code: .unreadableDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: "((nonsense"))),
    Case(
      code: .unreadableDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: "price +"))),
    Case(
      code: .unreadableDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: "a b"))),
    Case(
      code: .unreadableDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: "'open"))),
    Case(
      code: .unreadableDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: "sum:(a, )"))),
    Case(
      code: .unreadableDerivation, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, derivationExpression: "a..b"))),
    Case(code: .unknownComposite, place: "A.x", model: one(attribute("x", .composite("Gone")))),
    Case(
      code: .compositeCycle, place: "C",
      model: ModelDescription(composites: [
        CompositeDescription(name: "C", attributes: [AttributeDescription(name: "d", type: .composite("D"))]),
        CompositeDescription(name: "D", attributes: [AttributeDescription(name: "c", type: .composite("C"))]),
      ])),
    Case(code: .compositeTooLarge, place: "C0", model: nested(depth: 17, parts: 1)),
    // Two in each: 4,096 attributes at the outermost.
    Case(code: .compositeTooLarge, place: "C0", model: nested(depth: 12, parts: 2)),
    Case(
      code: .duplicateComposite, place: "C",
      model: ModelDescription(composites: [
        CompositeDescription(name: "C", attributes: []), CompositeDescription(name: "C", attributes: []),
      ])),
    Case(
      code: .unknownConfigurationEntity, severity: .warning, place: "Gone",
      model: ModelDescription(
        entities: [EntityDescription(name: "A")],
        configurations: [ConfigurationDescription(name: "Some", entityNames: ["A", "Gone"])])),
    Case(
      code: .duplicateConfiguration, place: "Some",
      model: ModelDescription(configurations: [
        ConfigurationDescription(name: "Some", entityNames: []),
        ConfigurationDescription(name: "Some", entityNames: []),
      ])),
    Case(
      code: .unknownConstraintProperty, place: "A.gone",
      model: ModelDescription(entities: [EntityDescription(name: "A", uniquenessConstraints: [["gone"]])])),
    Case(
      code: .unknownIndexProperty, severity: .warning, place: "A.gone",
      model: ModelDescription(entities: [
        EntityDescription(
          name: "A",
          fetchIndexes: [
            FetchIndexDescription(name: "i", elements: [FetchIndexDescription.Element(propertyName: "gone")])
          ])
      ])),
    Case(
      code: .unknownIndexProperty, severity: .warning, place: "A.gone",
      model: ModelDescription(entities: [EntityDescription(name: "A", compoundIndexes: [["gone"]])])),
    Case(
      code: .unknownFetchEntity, place: "all",
      model: ModelDescription(fetchRequestTemplates: [FetchRequestDescription(name: "all", entityName: "Gone")])),
    Case(
      code: .unknownFetchEntity, place: "A.f",
      model: one(
        .fetchedProperty(
          FetchedPropertyDescription(name: "f", fetchRequest: FetchRequestDescription(name: "r", entityName: "Gone"))))),
    Case(
      code: .duplicateFetchRequest, place: "all",
      model: ModelDescription(
        entities: [EntityDescription(name: "A")],
        fetchRequestTemplates: [
          FetchRequestDescription(name: "all", entityName: "A"), FetchRequestDescription(name: "all", entityName: "A"),
        ])),
    Case(
      code: .duplicateProperty, place: "A.p.x",
      model: ModelDescription(
        entities: [EntityDescription(name: "A", properties: [attribute("p", .composite("C")), attribute("p.x")])],
        composites: [CompositeDescription(name: "C", attributes: [AttributeDescription(name: "x", type: .string)])])),
    Case(
      code: .tooManyEntities, place: "",
      model: ModelDescription(entities: [
        EntityDescription(
          name: "A", subentities: (0..<65_536).map { EntityDescription(name: "B\($0)") })
      ])),
    Case(code: .tooManyProperties, place: "A", model: one((0...65_536).map { attribute("x\($0)") })),
    // 1,000 in each of 501.
    Case(
      code: .tooManyProperties, place: "B500",
      model: ModelDescription(entities: [
        EntityDescription(
          name: "A", properties: (0..<1000).map { attribute("x\($0)") },
          subentities: (0...500).map { EntityDescription(name: "B\($0)") })
      ])),
    // 1,024 in each of 98.
    Case(
      code: .tooManyProperties, place: "A",
      model: ModelDescription(
        entities: [EntityDescription(name: "A", properties: (0..<98).map { attribute("p\($0)", .composite("C")) })],
        composites: [
          CompositeDescription(
            name: "C", attributes: (0..<1024).map { AttributeDescription(name: "x\($0)", type: .string) })
        ])),
    Case(
      code: .boundOfWrongType, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .date, maximumLength: 1))),
    Case(
      code: .boundOfWrongType, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, minimumLength: -1))),
    Case(
      code: .boundOfWrongType, place: "A.x",
      model: bounded(AttributeDescription(name: "x", type: .string, maximum: .string("m")))),
    Case(
      code: .orderedToOne, severity: .warning, place: "A.r",
      model: one(
        .relationship(
          RelationshipDescription(name: "r", destinationEntityName: "A", inverseName: "r", isOrdered: true)))),
  ]

  /// Composites `C0` to `Cn`, each with so many parts of the next.
  private static func nested(depth: Int, parts: Int) -> ModelDescription {
    ModelDescription(
      composites: (0..<depth).map { level in
        CompositeDescription(
          name: "C\(level)",
          attributes: (0..<parts).map {
            AttributeDescription(name: "p\($0)", type: level == depth - 1 ? .string : .composite("C\(level + 1)"))
          })
      })
  }

  @Test("each contradiction is found, with its code, its severity and its location", arguments: cases)
  func isFound(_ one: Case) throws {
    let problems = one.model.problems()
    let found = problems.filter { $0.code == one.code && $0.severity == one.severity }
    let places = found.map { [$0.entityName, $0.propertyName].compactMap { $0 }.joined(separator: ".") }
    #expect(places.contains(one.place), "\(problems)")
    // A warning leaves the model usable, an error does not.
    if one.severity == .error {
      #expect(throws: InvalidModelError.self) { try ManagedObjectModel(one.model) }
    } else {
      #expect(problems.allSatisfy { $0.severity == .warning }, "\(problems)")
      #expect(try ManagedObjectModel(one.model).warnings == problems)
    }
  }

  @Test("every problem code has a test case")
  func everyCodeIsTested() {
    #expect(Set(Self.cases.map(\.code)) == Set(ModelProblem.Code.allCases))
  }

  @Test("all problems are in one list")
  func allProblemsAtOnce() throws {
    let model = Self.one(
      Self.relationship("r", to: "Gone"), Self.relationship("s", to: "A", inverse: "gone"),
      Self.attribute("x", .composite("Gone")), Self.attribute("x"))
    let codes = model.problems().filter { $0.severity == .error }.map(\.code)
    #expect(Set(codes) == [.missingDestination, .missingInverse, .unknownComposite, .duplicateProperty])
    do {
      _ = try ManagedObjectModel(model)
      Issue.record("the model was frozen")
    } catch {
      #expect(error.errors.count == 4)
      #expect(error.description.contains("A.r: the destination 'Gone' does not exist"))
    }
  }

  @Test("a model without contradictions has no problems: inverses through a parent, self-inverse, nested composites")
  func soundModel() {
    let model = ModelDescription(
      entities: [
        EntityDescription(
          name: "Record", isAbstract: true,
          properties: [Self.relationship("owner", to: "Person", inverse: "records", most: 1)],
          subentities: [EntityDescription(name: "Note", uniquenessConstraints: [["owner"]])]),
        EntityDescription(
          name: "Person",
          properties: [
            Self.relationship("records", to: "Record", inverse: "owner", most: 0),
            Self.relationship("buddy", to: "Person", inverse: "buddy"), Self.attribute("home", .composite("Home")),
          ], uniquenessConstraints: [["home.place.city"]]),
      ],
      composites: [
        CompositeDescription(
          name: "Home", attributes: [AttributeDescription(name: "place", type: .composite("Place"))]),
        CompositeDescription(name: "Place", attributes: [AttributeDescription(name: "city", type: .string)]),
      ])
    #expect(model.problems() == [])
  }

  @Test("names that are canonically equivalent but have different scalars are two names")
  func scalarsTellNamesApart() {
    let model = ModelDescription(entities: [EntityDescription(name: "\u{E9}"), EntityDescription(name: "e\u{301}")])
    #expect(model.problems() == [])
  }

  @Test("an inferred model gets no warning for relationships without an inverse")
  func inferredModels() {
    var model = Self.one(Self.relationship("r", to: "A"))
    model.isInferred = true
    #expect(model.problems() == [])
  }

  @Test("100 super-entities are accepted, 101 are refused", arguments: [(100, true), (101, false)])
  func inheritanceDepth(_ depth: Int, _ isAccepted: Bool) {
    var entity = EntityDescription(name: "E\(depth)")
    for level in (0..<depth).reversed() { entity = EntityDescription(name: "E\(level)", subentities: [entity]) }
    let problems = ModelDescription(entities: [entity]).problems()
    #expect(problems.map(\.code) == (isAccepted ? [] : [.inheritanceCycle]))
  }

  @Test("composites sixteen deep, and of 1,024 attributes, are accepted")
  func largeComposites() {
    #expect(Self.nested(depth: 16, parts: 1).problems() == [])
    #expect(Self.nested(depth: 10, parts: 2).problems() == [])
  }

  @Test("a name that occurs twice is found among few properties and among many", arguments: [2, 8, 9, 10, 40])
  func duplicateNames(_ count: Int) {
    for place in 0..<count - 1 {
      var properties = (0..<count).map { PropertyDescription.attribute("p\($0)", .string) }
      properties[count - 1] = .attribute("p\(place)", .date)
      let model = ModelDescription(entities: [EntityDescription(name: "E", properties: properties)])
      let problems = model.problems()
      #expect(problems.map(\.code) == [.duplicateProperty])
      #expect(problems.first?.propertyName == "p\(place)")
    }
  }

  @Test("slots are found by name among few properties and among many, in sub-entities too", arguments: [1, 8, 9, 40])
  func slotNames(_ count: Int) throws {
    let properties = (0..<count).map { PropertyDescription.attribute("p\($0)", .string) }
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "E", properties: properties,
          subentities: [EntityDescription(name: "F", properties: [.attribute("own", .date)])])
      ]))
    let entity = try #require(model.entity(named: "F"))
    for number in 0..<count { #expect(entity.slot(named: "p\(number)") == number) }
    #expect(entity.slot(named: "own") == count)
    #expect(entity.slot(named: "p\(count)") == nil)
    #expect(entity.superentity?.slot(named: "own") == nil)
  }
}
