import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreImporting
import Testing

/// The library of the samples: authors, books and loans.
enum LibrarySample {
  static let folder: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/") + "/SampleStores/Library"
  }()

  static func model(_ version: String = "Library") throws -> ManagedObjectModel {
    try ManagedObjectModel(
      try ModelFile.read(at: "\(folder)/Library.xcdatamodeld/\(version).xcdatamodel").description)
  }

  static func importer() throws -> StoreImporter {
    var importer = StoreImporter()
    importer.model = try model()
    return importer
  }

  static func source(_ text: String, _ name: String, entity: String? = nil) -> ImportSource {
    ImportSource(bytes: Array(text.utf8), name: name, entityName: entity)
  }

  static func file(_ name: String) throws -> ImportSource { try ImportSource(path: "\(folder)/\(name)") }
}

extension NodeTable {
  /// The value of a property of the object with a reference.
  func value(_ entity: String, _ reference: Int64, _ property: String) throws -> StoredValue {
    let node = try #require(
      handle(for: ObjectReference(entityName: entity, reference: .integer(reference))),
      "there is no \(entity)/\(reference)")
    return try #require(value(forKey: property, of: node), "there is no property \(property)")
  }

  func count(_ entity: String) -> Int { model.entity(named: entity).map { count(of: $0.index) } ?? 0 }
}

/// The problems that an import finds.
func problems(_ importer: StoreImporter, _ sources: [ImportSource]) throws -> [ImportProblem] {
  do {
    _ = try importer.read(sources)
  } catch let error as ImportError {
    return error.problems
  }
  return []
}

func toMany(_ entity: String, _ references: Int64...) -> StoredValue {
  .toMany(references.map { ObjectReference(entityName: entity, reference: .integer($0)) })
}

func toOne(_ entity: String, _ reference: Int64) -> StoredValue {
  .toOne(ObjectReference(entityName: entity, reference: .integer(reference)))
}
