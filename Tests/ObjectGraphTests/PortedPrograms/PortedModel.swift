import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation

/// The model and the classes of a program in the style of Core Data's books: entries of a diary in countries on
/// continents, with counts that hooks keep.
enum DiaryModel {
  static let model: ManagedObjectModel = {
    do { return try ManagedObjectModel(description) } catch { preconditionFailure("\(error)") }
  }()

  static var description: ModelDescription {
    ModelDescription(entities: [
      EntityDescription(
        name: "Place", isAbstract: true,
        properties: [
          .attribute("code", .integer16, isOptional: false), .attribute("updatedAt", .date),
          .attribute("pendingDeletion", .boolean, isOptional: false, defaultValue: .boolean(false)),
        ],
        subentities: [
          EntityDescription(
            name: "Country",
            properties: [
              .attribute("entryCount", .integer64, isOptional: false, defaultValue: .integer(0)),
              .toMany("entries", "Entry", inverse: "country"),
              .toOne("continent", "Continent", inverse: "countries"),
            ]),
          EntityDescription(
            name: "Continent", properties: [.toMany("countries", "Country", inverse: "continent")]),
        ], uniquenessConstraints: [["code"]]),
      EntityDescription(
        name: "Entry",
        properties: [
          .attribute("text", .string), .attribute("writtenAt", .date),
          .attribute("colors", .transformable, valueTransformerName: "Colors"),
          .toOne("country", "Country", inverse: "entries"),
        ]),
    ])
  }

  static let classes: [String: ManagedObject.Type] = [
    "Place": Place.self, "Country": Country.self, "Continent": Continent.self, "Entry": Entry.self,
  ]

  static func stack(_ type: String = Stack.standardType) throws -> Stack {
    try Stack(type, model: model, classes: classes)
  }
}

class Place: ManagedObject {
  @Managed("code") var code: Int
  @Managed("updatedAt") var updatedAt: Date?
  @Managed("pendingDeletion") var pendingDeletion: Bool

  override func awakeFromInsert() {
    super.awakeFromInsert()
    updatedAt = Date(timeIntervalSinceReferenceDate: 0)
  }
}

final class Country: Place {
  @Managed("entryCount") var entryCount: Int
  @Managed("entries") var entries: Set<Entry>
  @Managed("continent") var continent: Continent?

  /// How often the hook counted: only when the relationship changed.
  var counted = 0

  override func willSave() {
    super.willSave()
    if changedValues()["entries"] != nil {
      counted += 1
      if entryCount != entries.count { entryCount = entries.count }
    }
    if entries.isEmpty, !isInserted, !pendingDeletion { pendingDeletion = true }
  }

  /// Finds an object among those in memory, then in the store, and inserts it if there is none.
  static func findOrCreate(_ code: Int, in context: ManagedObjectContext) throws -> Country {
    var request = FetchRequest<Country>(
      entityName: "Country", predicate: try FetchPredicate(format: "code == %d", code))
    request.fetchLimit = 1
    if let found = try context.fetch(request).first { return found }
    let new = Country(context: context)
    new.code = code
    return new
  }
}

final class Continent: Place {
  @Managed("countries") var countries: Set<Country>
}

final class Entry: ManagedObject {
  struct Colors: CodableAttributeValue, Equatable {
    var top: String
    var bottom: String
  }
  @Managed("text") var text: String?
  @Managed("writtenAt") var writtenAt: Date?
  @Managed("colors") var colors: Colors?
  @Managed("country") var country: Country?

  /// The country that an entry leaves is touched, so that its own hook runs.
  override func prepareForDeletion() {
    super.prepareForDeletion()
    guard let country, country.entries.allSatisfy({ $0 === self || $0.isDeleted }) else { return }
    country.pendingDeletion = true
  }
}
