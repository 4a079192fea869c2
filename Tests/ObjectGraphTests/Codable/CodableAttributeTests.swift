import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Testing

@Suite("Codable attributes and dictionaries") struct CodableAttributeTests {
  struct Place: CodableAttributeValue, Equatable {
    var street: String
    var city: String?
  }
  final class Shop: ManagedObject {
    @Managed("place") var place: Place?
  }
  private static let model = ModelDescription(entities: [
    EntityDescription(
      name: "Shop",
      properties: [
        .attribute("place", .transformable, valueTransformerName: "Place"), .attribute("name", .string),
        .attribute("size", .integer16),
      ])
  ])

  private func stack() throws -> Stack {
    try Stack(model: try ManagedObjectModel(Self.model), classes: ["Shop": Shop.self])
  }

  @Test("a Codable value is stored, read again after a save, and removed")
  func typed() throws {
    let stack = try stack()
    let shop = try #require(try stack.insert("Shop") as? Shop)
    shop.place = Place(street: "A", city: "Bern")
    try stack.context.save()
    let context = ManagedObjectContext(stack.coordinator)
    let again = try #require(try context.existingObject(with: shop.objectID) as? Shop)
    #expect(again.place == Place(street: "A", city: "Bern"))
    again.place = Place(street: "A", city: "Bern")
    #expect(!again.hasChanges)
    again.place = nil
    #expect(try again.value(forKey: "place") == nil)
  }

  @Test("bytes that are not such a value read as nil, and the error says so")
  func otherBytes() throws {
    let stack = try stack()
    let shop = try #require(try stack.insert("Shop", ["place": Data([1, 2])]) as? Shop)
    #expect(shop.place == nil)
    #expect(shop.accessError?.key == "place")
  }

  @Test("a transformer for a Codable type serves access by key, and refuses other types")
  func transformer() throws {
    let stack = try stack()
    stack.coordinator.setTransformer(CodableTransformer<Place>(), forName: "Place")
    let shop = try stack.insert("Shop", ["place": Place(street: "B")])
    #expect(try shop.value(forKey: "place") as? Place == Place(street: "B"))
    #expect((shop as? Shop)?.place == Place(street: "B"))
    #expect(throws: ManagedObjectError.self) { try shop.setValue(3, forKey: "place") }
  }

  @Test("several values are set and read at once, and an unknown name sets none")
  func dictionaries() throws {
    let stack = try stack()
    let shop = try stack.insert("Shop")
    try shop.setValuesForKeys(["name": "A", "size": 3])
    let values = try shop.dictionaryWithValues(forKeys: ["name", "size", "place"])
    #expect(values["name"] as? String == "A" && values["size"] as? Int == 3)
    #expect(try #require(values["place"]) == nil)
    #expect(throws: ManagedObjectError.self) { try shop.setValuesForKeys(["name": "B", "zise": 1]) }
    #expect(shop["name"] as? String == "A")
  }

  @Test("classes are registered by the model's names, and what does not fit is said at once")
  func classes() throws {
    let description = ModelDescription(entities: [
      EntityDescription(name: "Store", managedObjectClassName: ".Shop"),
      EntityDescription(name: "Other", managedObjectClassName: "NSManagedObject"),
      EntityDescription(name: "Gone", managedObjectClassName: "App.Missing"),
    ])
    func coordinator(_ description: ModelDescription) throws -> PersistentStoreCoordinator {
      PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(description), registry: .builtIn)
    }
    #expect { try coordinator(description).setManagedObjectClasses([Shop.self]) } throws: {
      "\($0)".contains("Gone needs the class Missing")
    }
    var fitting = description
    fitting.entities.removeLast()
    let known = try coordinator(fitting)
    #expect { try known.setManagedObjectClasses([Shop.self, HookedEmployee.self]) } throws: {
      "\($0)".contains("no entity has the class HookedEmployee")
    }
    try known.setManagedObjectClasses([Shop.self])
    let folder = try TestFolder()
    try known.addPersistentStore(type: "XML", at: folder.file("a.xml"))
    let context = ManagedObjectContext(known)
    #expect(try context.insertNewObject(forEntityName: "Store") is Shop)
  }
}
