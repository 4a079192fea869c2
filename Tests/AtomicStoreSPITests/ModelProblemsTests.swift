import AtomicStoreSPI
import Foundation
import Testing

@Suite("Problems of models") struct ModelProblemsTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var code: ModelProblem.Code
    var severity: ModelProblem.Severity = .error
    /// Where it is, as the problem's description begins.
    var place: String
    var change: @Sendable (inout ModelDescription) -> Void
    var testDescription: String { "\(code.rawValue) at '\(place)'" }
  }

  private static func add(_ type: AttributeType, _ change: @escaping @Sendable (inout AttributeDescription) -> Void)
    -> @Sendable (inout ModelDescription) -> Void
  {
    { model in
      var attribute = AttributeDescription(name: "x", type: type)
      change(&attribute)
      model.entities[1].properties.append(.attribute(attribute))
    }
  }

  private static func relate(_ change: @escaping @Sendable (inout RelationshipDescription) -> Void)
    -> @Sendable (inout ModelDescription) -> Void
  {
    { $0.edit("Employee", relationship: "department", change) }
  }

  static let cases: [Case] = [
    Case(code: .emptyName, place: "an entity has no name") { $0.entities.append(EntityDescription(name: "")) },
    Case(code: .emptyName, place: "Person: a property has no name", change: add(.string) { $0.name = "" }),
    Case(code: .emptyName, place: "a configuration") {
      $0.configurations.append(ConfigurationDescription(name: "", entityNames: []))
    },
    Case(code: .emptyName, place: "a fetch request") {
      $0.fetchRequestTemplates.append(FetchRequestDescription(name: "", entityName: "Person"))
    },
    Case(code: .emptyName, place: "a composite") { $0.composites.append(CompositeDescription(name: "", attributes: [])) },
    Case(code: .duplicateEntity, place: "Person") { $0.entities.append(EntityDescription(name: "Person")) },
    Case(code: .duplicateEntity, place: "Department") {
      $0.edit("Employee") { $0.subentities.append(EntityDescription(name: "Department")) }
    },
    Case(code: .inheritanceCycle, place: "Person") {
      $0.edit("Employee") { $0.subentities.append(EntityDescription(name: "Person")) }
    },
    Case(code: .duplicateProperty, place: "Person.age", change: add(.string) { $0.name = "age" }),
    Case(code: .duplicateProperty, place: "Person.x.part") {
      $0.composites.append(
        CompositeDescription(name: "C", attributes: [AttributeDescription(name: "part", type: .string)]))
      add(.composite("C")) { _ in }(&$0)
      add(.string) { $0.name = "x.part" }(&$0)
    },
    Case(code: .redefinedProperty, place: "Employee.age") {
      $0.edit("Employee") { $0.properties.append(.attribute(AttributeDescription(name: "age", type: .integer16))) }
    },
    Case(code: .missingDestination, place: "Employee.department", change: relate { $0.destinationEntityName = "None" }),
    Case(code: .missingDestination, place: "Employee.department", change: relate { $0.destinationEntityName = "" }),
    Case(code: .missingInverse, place: "Employee.department", change: relate { $0.inverseName = "crew" }),
    Case(
      code: .inverseMismatch, place: "Employee.department",
      change: relate { $0.destinationEntityName = "Person"; $0.inverseName = "name" }),
    Case(
      code: .inverseMismatch, place: "Department.staff",
      change: relate { $0.inverseName = nil; $0.destinationEntityName = "Person" }),
    Case(code: .inverseMismatch, severity: .warning, place: "Department.staff", change: relate { $0.inverseName = nil }),
    Case(code: .inverseMismatch, place: "Department.staff") {
      $0.edit("Department") {
        $0.properties.append(
          .relationship(
            RelationshipDescription(
              name: "head", destinationEntityName: "Employee", inverseName: "department")))
      }
      relate { $0.inverseName = "head" }(&$0)
    },
    Case(code: .noInverse, severity: .warning, place: "Department.head") {
      $0.edit("Department") {
        $0.properties.append(.relationship(RelationshipDescription(name: "head", destinationEntityName: "Person")))
      }
    },
    Case(code: .noActionRule, severity: .warning, place: "Employee.department", change: relate { $0.deleteRule = .noAction }),
    Case(code: .orderedToOne, severity: .warning, place: "Employee.department", change: relate { $0.isOrdered = true }),
    Case(code: .countsReversed, place: "Employee.department", change: relate { $0.minimumCount = 2 }),
    Case(code: .countsReversed, place: "Employee.department", change: relate { $0.minimumCount = -1 }),
    Case(code: .countsReversed, place: "Employee.department", change: relate { $0.maximumCount = .min }),
    Case(
      code: .boundsReversed, severity: .warning, place: "Person.x",
      change: add(.decimal) {
        $0.minimum = .decimal(DecimalNumber(mantissa: 15, exponent: -1))
        $0.maximum = .decimal(DecimalNumber(1))
      }),
    Case(
      code: .boundsReversed, severity: .warning, place: "Person.x",
      change: add(.string) { $0.minimumLength = 2; $0.maximumLength = 1 }),
    Case(code: .defaultOfWrongType, place: "Person.x", change: add(.integer16) { $0.defaultValue = .integer(32768) }),
    Case(code: .defaultOfWrongType, place: "Person.x", change: add(.string) { $0.defaultValue = .integer(1) }),
    Case(code: .boundOfWrongType, place: "Person.x", change: add(.double) { $0.minimum = .float(1) }),
    Case(code: .boundOfWrongType, place: "Person.x", change: add(.date) { $0.maximumLength = 1 }),
    Case(code: .boundOfWrongType, place: "Person.x", change: add(.string) { $0.maximum = .string("m") }),
    Case(code: .boundOfWrongType, place: "Person.x", change: add(.string) { $0.minimumLength = -1 }),
    Case(code: .missingDerivation, place: "Person.x", change: add(.string) { $0.derivationExpression = "" }),
    Case(code: .unknownComposite, place: "Person.x", change: add(.composite("None")) { _ in }),
    Case(code: .duplicateComposite, place: "C") {
      $0.composites += [CompositeDescription(name: "C", attributes: []), CompositeDescription(name: "C", attributes: [])]
    },
    Case(code: .compositeCycle, place: "C") {
      $0.composites += [
        CompositeDescription(name: "C", attributes: [AttributeDescription(name: "d", type: .composite("D"))]),
        CompositeDescription(name: "D", attributes: [AttributeDescription(name: "c", type: .composite("C"))]),
      ]
    },
    Case(code: .tooLarge, place: "C3") {
      $0.composites = (0..<5).map { level in
        CompositeDescription(
          name: "C\(level)",
          attributes: (0..<10).map {
            AttributeDescription(name: "a\($0)", type: level == 0 ? .string : .composite("C\(level - 1)"))
          })
      }
    },
    Case(code: .tooDeep, place: "C16") {
      $0.composites = (0..<17).map {
        CompositeDescription(
          name: "C\($0)", attributes: [AttributeDescription(name: "a", type: $0 == 0 ? .string : .composite("C\($0 - 1)"))])
      }
    },
    Case(code: .duplicateConfiguration, place: "C") {
      $0.configurations += [
        ConfigurationDescription(name: "C", entityNames: []), ConfigurationDescription(name: "C", entityNames: []),
      ]
    },
    Case(code: .unknownConfigurationEntity, severity: .warning, place: "None") {
      $0.configurations.append(ConfigurationDescription(name: "C", entityNames: ["Person", "None"]))
    },
    Case(code: .unknownConstraintProperty, place: "Person.none") {
      $0.edit("Person") { $0.uniquenessConstraints = [["name", "none"]] }
    },
    Case(code: .unknownIndexProperty, severity: .warning, place: "Person.none") {
      $0.edit("Person") { $0.compoundIndexes = [["none"]] }
    },
    Case(code: .unknownFetchEntity, place: "all") {
      $0.fetchRequestTemplates.append(FetchRequestDescription(name: "all", entityName: "None"))
    },
    Case(code: .unknownFetchEntity, place: "Person.f") {
      $0.edit("Person") {
        $0.properties.append(
          .fetchedProperty(
            FetchedPropertyDescription(
              name: "f", fetchRequest: FetchRequestDescription(name: "q", entityName: "None"))))
      }
    },
    Case(code: .duplicateFetchRequest, place: "q") {
      let request = FetchRequestDescription(name: "q", entityName: "Person")
      $0.fetchRequestTemplates += [request, request]
    },
  ]

  @Test("a sound model has no problem at all")
  func sound() {
    #expect(smallDescription().problems() == [])
  }

  @Test("each problem is told with its place and how grave it is", arguments: cases)
  func found(_ example: Case) throws {
    var model = smallDescription()
    example.change(&model)
    let problems = model.problems().filter { $0.code == example.code && $0.severity == example.severity }
    #expect(problems.contains { $0.description.hasPrefix(example.place) }, "\(model.problems())")
    if example.severity == .error {
      #expect(throws: InvalidModelError.self) { try ManagedObjectModel(model) }
    } else {
      #expect(try ManagedObjectModel(model).warnings.contains { $0.code == example.code })
    }
  }

  @Test("every kind of problem has a case here")
  func complete() {
    #expect(Set(Self.cases.map(\.code)) == Set(ModelProblem.Code.allCases))
  }

  @Test("all problems are in one list, and the error names each")
  func all() throws {
    var model = smallDescription()
    for example in [0, 5, 8, 11] { Self.cases[example].change(&model) }
    let error = try #require(throws: InvalidModelError.self) { try ManagedObjectModel(model) }
    #expect(
      Set(error.errors.map(\.code)).isSuperset(
        of: [.emptyName, .duplicateEntity, .duplicateProperty, .missingDestination]))
    for problem in error.errors { #expect(error.description.contains(problem.description)) }
  }

  @Test("names are told apart by their scalars: two spellings of é are two entities and two properties")
  func scalars() throws {
    var model = smallDescription()
    for name in ["\u{E9}", "e\u{301}"] {
      model.entities.append(EntityDescription(name: name))
      model.entities[1].properties.append(.attribute(AttributeDescription(name: name, type: .string)))
    }
    #expect(model.problems() == [])
    #expect(try ManagedObjectModel(model).entities.count == 5)
  }

  @Test("an inverse may lead to the super-entity or to a sub-entity of the relationship's own", arguments: ["Person", "Employee"])
  func family(_ destination: String) throws {
    var model = smallDescription()
    model.edit("Person") {
      $0.properties.append(
        .relationship(
          RelationshipDescription(name: "home", destinationEntityName: "Department", inverseName: "people")))
    }
    model.edit("Department") {
      $0.properties.append(
        .relationship(
          RelationshipDescription(
            name: "people", destinationEntityName: destination, inverseName: "home", maximumCount: 0)))
    }
    #expect(model.problems() == [])
  }

  @Test("a self-inverse relationship is sound")
  func selfInverse() {
    var model = smallDescription()
    model.edit("Person") {
      $0.properties.append(
        .relationship(
          RelationshipDescription(
            name: "friends", destinationEntityName: "Person", inverseName: "friends", maximumCount: 0)))
    }
    #expect(model.problems() == [])
  }
}
