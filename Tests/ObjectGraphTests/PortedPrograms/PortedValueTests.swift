import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

/// The part of the claims of ported programs that is about values, keys, requests and models.
@Suite("Claims of ported programs: values and requests") struct PortedValueTests {
  private func country(_ code: Int, _ stack: Stack) throws -> Country {
    try #require(try stack.insert("Country", ["code": code]) as? Country)
  }

  // MARK: Keys and values

  @Test("an object is filled from a dictionary, and one unknown key sets nothing")
  func setValues() throws {
    let stack = try DiaryModel.stack()
    let swiss = try country(41, stack)
    try swiss.setValuesForKeys(["code": 42, "pendingDeletion": true])
    #expect(swiss.code == 42 && swiss.pendingDeletion)
    #expect(throws: ManagedObjectError.self) { try swiss.setValuesForKeys(["code": 1, "nmae": 2]) }
    #expect(swiss.code == 42)
  }

  @Test("a Codable struct is an attribute, without a transformer of the program")
  func codable() throws {
    let stack = try DiaryModel.stack()
    let entry = Entry(context: stack.context)
    entry.colors = Entry.Colors(top: "red", bottom: "blue")
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    let read = try context.fetch(FetchRequest<Entry>(entityName: "Entry"))
    #expect(read.map(\.colors) == [Entry.Colors(top: "red", bottom: "blue")])
  }

  @Test("an archive of a default transformer is not read: the value is refused, not lost")
  func noArchives() throws {
    let stack = try DiaryModel.stack()
    let entry = try stack.insert("Entry")
    let error = graphError { try entry.setValue(["red", "blue"], forKey: "colors") }
    #expect(error != nil)
    #expect(try entry.value(forKey: "colors") == nil)
  }

  @Test("value(forKey:) does not call a Swift accessor of that name")
  func accessor() throws {
    final class Loud: Place {
      var name: String { "LOUD" }
    }
    let stack = try Stack(model: DiaryModel.model, classes: ["Country": Loud.self])
    let loud = try #require(try stack.insert("Country", ["code": 1]) as? Loud)
    #expect(loud.name == "LOUD")
    #expect(graphError { _ = try loud.value(forKey: "name") }?.code == .undefinedKey)
  }

  // MARK: Requests

  @Test("a comparator sorts, and a batch size reads the same objects in the same order")
  func comparator() throws {
    let stack = try DiaryModel.stack()
    for code in [5, 41, 33, 7] { _ = try country(code, stack) }
    try stack.context.save()
    let lastDigit = SortComparator { one, other in
      func digit(_ value: StoredValue) -> Int64 { if case .integer(let number) = value { number % 10 } else { -1 } }
      return digit(one) < digit(other) ? -1 : digit(one) > digit(other) ? 1 : 0
    }
    var request = FetchRequest<Country>(entityName: "Country", sortKeys: [SortKey("code", comparator: lastDigit)])
    #expect(try stack.context.fetch(request).map(\.code) == [41, 33, 5, 7])
    request.fetchBatchSize = 2
    let context = ManagedObjectContext(stack.coordinator)
    #expect(try context.fetch(request).map(\.code) == [41, 33, 5, 7])
  }

  @Test("objects of a list of IDs come in its order; what was deleted is left out")
  func byIDs() throws {
    let stack = try DiaryModel.stack()
    let all = try [1, 2, 3].map { try country($0, stack) }
    try stack.context.save()
    let ids = [all[2].objectID, all[0].objectID, all[1].objectID]
    stack.context.delete(all[0])
    try stack.context.save()
    let found = ManagedObjectContext(stack.coordinator).existingObjects(with: ids)
    #expect(found.map(\.objectID) == [ids[0], ids[2]])
    let among = try FetchPredicate(format: "SELF IN %@", ids)
    #expect(try stack.context.count(for: FetchRequest<Country>(entityName: "Country", predicate: among)) == 2)
  }

  @Test(
    "a fetch finds an object by the values that this context has read, until it is refreshed",
    .enabled(if: Stack.isLoaded, "a database answers by the values that it holds"))
  func staleFetch() throws {
    let stack = try DiaryModel.stack()
    let swiss = try country(41, stack)
    try stack.context.save()
    let other = ManagedObjectContext(stack.coordinator)
    try other.existingObject(with: swiss.objectID).setValue(42, forKey: "code")
    try other.save()
    func count(_ code: Int) throws -> Int {
      try stack.context.count(
        for: FetchRequest<Country>(entityName: "Country", predicate: try FetchPredicate(format: "code == %d", code)))
    }
    #expect(try count(41) == 1 && count(42) == 0)
    stack.context.refreshAllObjects()
    #expect(try count(41) == 0 && count(42) == 1)
  }

  @Test("a predicate may use a key of a sub-entity: for objects of other entities it is nil")
  func subentityKeys() throws {
    let stack = try DiaryModel.stack()
    _ = try country(41, stack)
    let request = FetchRequest<Place>(
      entityName: "Place", predicate: try FetchPredicate(format: "entryCount == 0"))
    #expect(try stack.context.fetch(request).map(\.code) == [41])
    _ = try stack.insert("Continent", ["code": 1])
    #expect(try stack.context.fetch(request).map(\.code) == [41])
    let others = FetchRequest<Place>(entityName: "Place", predicate: try FetchPredicate(format: "entryCount == nil"))
    #expect(try stack.context.fetch(others).map(\.code) == [1])
  }

  @Test("null does not take part in ALL and ANY over a to-many, as in Core Data in memory")
  func quantifiersOverNull() throws {
    let stack = try DiaryModel.stack()
    let swiss = try country(41, stack)
    let (written, empty) = (try stack.insert("Entry", ["text": "a"]), try stack.insert("Entry"))
    for entry in [written, empty] { try entry.setValue(swiss, forKey: "country") }
    func found(_ format: String) throws -> Bool {
      try FetchPredicate(format: format).evaluate(with: swiss)
    }
    #expect(try found("ALL entries.text != nil"))
    #expect(try !found("ANY entries.text == nil"))
    #expect(try found("SUBQUERY(entries, $e, $e.text == nil).@count == 1"))
  }

  // MARK: Models and stores

  @Test("models of two modules are merged, and two that describe an entity differently are refused by name")
  func mergedModels() throws {
    let shop = ModelDescription(entities: [EntityDescription(name: "Shop", properties: [.attribute("n", .string)])])
    let merged = try ManagedObjectModel(ModelDescription(merging: [DiaryModel.description, shop]))
    #expect(merged.entity(named: "Shop") != nil && merged.entity(named: "Country") != nil)
    let other = ModelDescription(entities: [EntityDescription(name: "Shop", properties: [.attribute("n", .date)])])
    let error = #expect(throws: InvalidModelError.self) { try ModelDescription(merging: [shop, other]) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("Shop"))
  }

  @Test("an object made in a child context gets the ID that it is saved with")
  func childIDs() throws {
    let stack = try DiaryModel.stack()
    let child = ManagedObjectContext(parent: stack.context)
    let swiss = Country(context: child)
    swiss.code = 41
    try child.obtainPermanentIDs(for: [swiss])
    let id = swiss.objectID
    try child.save()
    try stack.context.save()
    #expect(!id.isTemporaryID)
    #expect(try stack.reopened().fetch("Country").map(\.objectID.reference) == [id.reference])
  }

  @Test("a new object that two stores accept is not saved by chance: the error names both, assign decides")
  func severalStores() throws {
    let folder = try TestFolder()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: DiaryModel.model, registry: .builtIn)
    let stores = try ["a.xml", "b.xml"].map { try coordinator.addPersistentStore(type: "XML", at: folder.file($0)) }
    let context = ManagedObjectContext(coordinator)
    let swiss = try context.insertNewObject(forEntityName: "Country")
    try swiss.setValue(41, forKey: "code")
    let message = try #require(graphError { try context.save() }).message
    #expect(message.contains("a.xml") && message.contains("b.xml"))
    try context.assign(swiss, to: stores[1])
    try context.save()
    #expect(swiss.objectID.storeIdentifier == stores[1].metadata.uuid)
  }

  @Test("a class that is registered when a context exists already is used by the next context")
  func lateClass() throws {
    let stack = try Stack(model: DiaryModel.model)
    stack.coordinator.setManagedObjectClass(Country.self, forEntityName: "Country")
    #expect(!(try stack.insert("Country") is Country))
    #expect(try ManagedObjectContext(stack.coordinator).insertNewObject(forEntityName: "Country") is Country)
  }

  @Test("a required to-many may be empty where the context allows it, as ported models need")
  func emptyToMany() throws {
    let stack = try Stack(model: try EmptyToManyTests.model(0))
    _ = try stack.insert("Country")
    #expect(graphError { try stack.context.save() }?.code == .validationMissingMandatoryProperty)
    stack.context.allowsEmptyNonOptionalToMany = true
    try stack.context.save()
    #expect(try stack.reopened().fetch("Country").count == 1)
  }
}
