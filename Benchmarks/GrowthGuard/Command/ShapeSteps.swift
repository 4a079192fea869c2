import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCoordination

/// A shape's entity whose rows are fetched, one of its attributes, and the condition.
private let fetched: [String: (entity: String, attribute: String, predicate: String?)] = [
  "company": ("Employee", "name", "salary > 100 AND name.length > 3"), "entities": ("Entity000", "name", nil),
  "deep": ("Level00", "value00", nil), "wide": ("Row", "column00", nil),
  "nulls": ("Row", "column00", "column00 == nil"),
  "hub": ("Child", "name", nil), "shuffled": ("Node", "name", nil), "integers": ("Node", "name", nil),
  "strings": ("Node", "name", "next.name BEGINSWITH 'a'"), "manymany": ("Left", "name", nil),
  "texts": ("Note", "text", nil), "binaries": ("Picture", "name", nil),
]

/// What programs and commands do with a store of a shape: load, save, convert, compare, fetch.
struct ShapeSteps {
  let steps: Steps
  let shape: String
  /// The path of the source, without its extension.
  let source: String
  /// The beginning of the paths of stores that are written.
  let place: String

  func run() throws {
    let (list, sheets, copy) = (place + ".plist", place + ".csvstore", place + ".copy.xml")
    try steps.count("load XML") { _ = try open(source + ".xml") }
    // Loads one store, saves the other, reads it back and compares both.
    try steps.count("convert XML to a property list") { try convert(source + ".xml", list, "BinaryPropertyList") }
    try steps.count("convert a property list to CSV") { try convert(list, sheets, "CSV") }
    try steps.count("convert CSV to XML") { try convert(sheets, copy, "XML") }
    try steps.count("compare") {
      guard try differences(source + ".xml", list).isEmpty else { throw GuardFailure("\(shape): a copy differs") }
    }
    // Other random values, or none of the objects.
    try steps.count("compare different stores") {
      guard try !differences(source + "-other.xml", list).isEmpty else { throw GuardFailure("\(shape): all the same") }
    }
    for (name, path) in [("property list", list), ("CSV", sheets), ("XML", copy)] { try loadAndSave(name, path) }
    try fetch(list)
  }

  private func open(_ path: String) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    return (coordinator, try coordinator.addPersistentStore(at: path))
  }

  /// Saves all of a store after one change.
  private func loadAndSave(_ name: String, _ path: String) throws {
    let context = ManagedObjectContext(try steps.count("load \(name)") { try open(path) }.0)
    guard let (entity, attribute, _) = fetched[shape] else { return }
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.fetchLimit = 1
    try context.fetch(request).first?.setValue("changed", forKey: attribute)
    guard context.hasChanges else { throw GuardFailure("\(shape): nothing was changed") }
    try steps.count("save \(name)") { try context.save() }
  }

  private func convert(_ source: String, _ target: String, _ type: String) throws {
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = type
    _ = try converter.convert(from: source, to: target)
  }

  private func differences(_ one: String, _ other: String) throws -> [String] {
    let stores = (try open(one), try open(other))
    let snapshots = try [stores.0.1, stores.1.1].map {
      StoreSnapshot(nodes: try $0.nodesWithDeferredValues(), metadata: $0.metadata)
    }
    return GraphComparison.differences(snapshots[0], snapshots[1]).map { "\($0)" }
  }

  private func fetch(_ path: String) throws {
    guard let (entity, attribute, predicate) = fetched[shape] else { throw GuardFailure("unknown shape '\(shape)'") }
    let context = ManagedObjectContext(try open(path).0)
    var request = FetchRequest<ManagedObject>(entityName: entity)
    request.predicate = try predicate.map { try FetchPredicate(format: $0) }
    try steps.count("fetch rows") { _ = try context.fetchRows(request) }
    try steps.count("fetch and count") { _ = try context.count(for: request) }
    try steps.count("fetch objects and read a value") {
      for object in try context.fetch(request) { _ = object[attribute] }
    }
  }
}

struct GuardFailure: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}
