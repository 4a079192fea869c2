import ArgumentParser
import AtomicStoreKit
import CommandSupport
import StoreEditing

/// A predicate and values, as the command line has them.
private enum EditArguments {
  static func assignments(_ texts: [String]) throws -> [PropertyAssignment] {
    try texts.map { text in
      do {
        return try PropertyAssignment(parsing: text)
      } catch let error as PredicateFormatError {
        throw CommandFailure(error, of: "'\(text)'")
      }
    }
  }

  /// Which objects are changed has to be said: all of them are not the default.
  static func checkChoice(_ predicate: String?, all: Bool) throws {
    guard all == (predicate == nil) else {
      throw CommandFailure("give either --where PREDICATE, or --all for every object", exitCode: 64)
    }
  }

  static func predicate(_ text: String?, _ entity: String, _ context: ManagedObjectContext) throws -> FetchPredicate? {
    guard let text else { return nil }
    let model = context.persistentStoreCoordinator.persistentStores.first?.model
    return try Fetch.parse(text, "--where", for: try model?.entity(asked: entity))
  }
}

struct SetCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Change a store in place: set properties of the objects that match a predicate.",
    discussion: """
        atomicstore set Company.xml --entity Employee --where "salary < 2000" salary="salary * 1.1" --dry-run
        atomicstore set Company.xml --entity Employee --where "name == 'Ada'" name:=Augusta department:=Department/2

      --where chooses the objects, --all takes every object of the entity; one of the two is required.

      A value is an expression of the predicate language over the object, as it was before; now() is one instant for
      all objects, and a Date takes '2020-01-31', as a comparison does. PROPERTY:=TEXT takes the text as it is. An
      object is ENTITY/REFERENCE, nothing is null. Delete rules and validation apply; the store is saved once, all or
      nothing. --dry-run shows what would change, -o leaves the store as it is and makes another.
      """)
  @Argument(help: "The store; - for standard input, with -o.") var store: String
  @Argument(help: "PROPERTY=EXPRESSION or PROPERTY:=TEXT.", completion: Completions.assignments) var values: [String]
  @Option(help: "The entity; its sub-entities are included.", completion: Completions.entities) var entity: String
  @Option(name: .customLong("where"), help: "The predicate.") var predicate: String?
  @Flag(help: "Change all objects of the entity. Cannot be combined with --where.") var all = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup var emptyToMany: EmptyToManyOption
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      try EditArguments.checkChoice(predicate, all: all)
      let assignments = try EditArguments.assignments(values)
      try StoreEdit(
        store: store, source: source, result: result, common: common,
        allowsEmptyNonOptionalToMany: emptyToMany.isAllowed
      ).run(entity: entity, verb: "set") {
        try $0.setAndSaveValues(
          assignments, entityName: entity, predicate: try EditArguments.predicate(predicate, entity, $0))
      }
    }
  }
}

struct DeleteCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Change a store in place: delete the objects that match a predicate.",
    discussion: """
        atomicstore delete Company.xml --entity Employee --where "left < CAST('2020-01-01', 'NSDate')" --dry-run

      The delete rules of relationships decide about other objects: Cascade deletes them, Nullify cuts the
      relationship, Deny refuses. --dry-run shows all of it.
      """)
  @Argument(help: "The store; - for standard input, with -o.") var store: String
  @Option(help: "The entity; its sub-entities are included.", completion: Completions.entities) var entity: String
  @Option(name: .customLong("where"), help: "The predicate.") var predicate: String?
  @Flag(help: "Delete all objects of the entity. Cannot be combined with --where.") var all = false
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup var emptyToMany: EmptyToManyOption
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      try EditArguments.checkChoice(predicate, all: all)
      try StoreEdit(
        store: store, source: source, result: result, common: common,
        allowsEmptyNonOptionalToMany: emptyToMany.isAllowed
      ).run(entity: entity, verb: "delete") {
        try $0.deleteAndSaveObjects(
          entityName: entity, predicate: try EditArguments.predicate(predicate, entity, $0))
      }
    }
  }
}

struct InsertCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "insert",
    abstract: "Change a store in place: insert an object.",
    discussion: """
        atomicstore insert Company.xml --entity Employee name:=Ada salary=2000 department:=Department/1

      Values are as in 'set'; properties that are not named have their default values.
      """)
  @Argument(help: "The store; - for standard input, with -o.") var store: String
  @Argument(help: "PROPERTY=EXPRESSION or PROPERTY:=TEXT.", completion: Completions.assignments) var values: [String] =
    []
  @Option(help: "The entity.", completion: Completions.entities) var entity: String
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup var emptyToMany: EmptyToManyOption
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let assignments = try EditArguments.assignments(values)
      let edit = StoreEdit(
        store: store, source: source, result: result, common: common,
        allowsEmptyNonOptionalToMany: emptyToMany.isAllowed)
      try edit.run(entity: entity, verb: "insert", hint: Self.hint) {
        try $0.checkAreStored(assignments, entity)
        try $0.insertObject(entityName: entity, values: assignments)
        return 1
      }
    }
  }

  /// What to type for the properties that need a value.
  private static func hint(_ error: ManagedObjectError) -> String {
    let missing = error.allErrors.filter { $0.code == .validationMissingMandatoryProperty }.compactMap(\.key)
    return missing.isEmpty ? "" : "\n  (add " + missing.map { $0 + ":=TEXT" }.joined(separator: " ") + ")"
  }
}
