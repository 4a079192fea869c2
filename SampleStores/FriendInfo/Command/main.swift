import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import ModelFiles

// Friends, the guide's example of a relationship that is an object: `swift run friendinfo [STORE]`, from the
// package's folder. The store is the path of a new file, whose extension says its type, or a URL.
//
// You are your cousin's cousin, whether they like it or not; you are not always your friend's friend. So a friendship
// is a separate object, from one person to another, with a ranking.

let model = try ManagedObjectModel(ModelFile.read(at: "SampleStores/FriendInfo/FriendInfo.xcdatamodeld").description)
let coordinator = PersistentStoreCoordinator(managedObjectModel: model, registry: .builtIn)
let path =
  CommandLine.arguments.dropFirst().first ?? FileManager.default.temporaryDirectory.path
  + "/friends-\(ProcessInfo.processInfo.processIdentifier).plist"
let store = try coordinator.addPersistentStore(at: path)
defer {
  try? coordinator.remove(store)
  try? coordinator.destroyPersistentStore(at: path)
}
let context = ManagedObjectContext(coordinator)

func person(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
  let person = try context.insertNewObject(forEntityName: "Person")
  try person.setValue(name, forKey: "name")
  return person
}

/// Creates one FriendInfo for a friendship; a mutual friendship has two.
func befriend(_ source: ManagedObject, _ friend: ManagedObject, ranking: Int) throws {
  guard let context = source.managedObjectContext else { return }
  let info = try context.insertNewObject(forEntityName: "FriendInfo")
  try info.setValue(source, forKey: "source")
  try info.setValue(friend, forKey: "friend")
  try info.setValue(ranking, forKey: "ranking")
}

func names(_ value: Any?) -> [String] {
  ((value as? Set<ManagedObject>) ?? []).compactMap { $0["name"] as? String }.sorted()
}

let ada = try person("Ada", in: context)
let bob = try person("Bob", in: context)
let cyd = try person("Cyd", in: context)
try befriend(ada, bob, ranking: 1)
try befriend(ada, cyd, ranking: 2)
try befriend(bob, ada, ranking: 1)
try context.save()

// Through the friendships to the people: a path goes through to-many relationships.
print("Ada's friends: \(names(try ada.value(forKeyPath: "friends.friend")))")
print("Who counts Ada as a friend: \(names(try ada.value(forKeyPath: "befriendedBy.source")))")
print("Sum of Ada's rankings: \(try ada.value(forKeyPath: "friends.@sum.ranking") ?? 0)")

// The rule is Cascade: with a person go the friendships, and no one else.
context.delete(bob)
try context.save()
print("After Bob is gone, Ada's friends: \(names(try ada.value(forKeyPath: "friends.friend")))")

// A friendship without a friend is none: the model demands one.
let info = try context.insertNewObject(forEntityName: "FriendInfo")
try info.setValue(cyd, forKey: "source")
do {
  try context.save()
} catch {
  print("Refused: \(error.message)")
}
