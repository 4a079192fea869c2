import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import GRDB

// The import loop of many programs: fetch each object by its key, insert it where there is none, change it, save at the
// end. The second time all are there.

let articleModel = ModelDescription(entities: [
  EntityDescription(
    name: "Article",
    properties: [
      .attribute("number", .integer64),
      .attribute("title", .string),
      .attribute("price", .double),
    ], uniquenessConstraints: [["number"]])
])

func importGraph(_ count: Int, type: String, _ folder: String) throws {
  let path = folder + (type == "XML" ? "/articles.xml" : type == "CSV" ? "/articles.csvstore" : "/articles.plist")
  for (round, name) in ["import", "import again"].enumerated() {
    try measure(name) { try importArticles(count, round: round, path, type: type) }
  }
}

func importArticles(_ count: Int, round: Int, _ path: String, type: String = "BinaryPropertyList") throws {
  let coordinator = PersistentStoreCoordinator(
    managedObjectModel: try ManagedObjectModel(articleModel), registry: .builtIn)
  try coordinator.addPersistentStore(type: type, at: path)
  let context = ManagedObjectContext(coordinator)
  var request = FetchRequest<ManagedObject>(entityName: "Article")
  request.fetchLimit = 1
  for number in 0..<count {
    request.predicate = try FetchPredicate(format: "number == %@", number)
    let article: ManagedObject
    if let found = try context.fetch(request).first {
      article = found
    } else {
      article = try context.insertNewObject(forEntityName: "Article")
      try article.setValue(number, forKey: "number")
      try article.setValue("Article \(number)", forKey: "title")
    }
    try article.setValue(Double(number + round), forKey: "price")
  }
  try context.save()
}

struct ArticleRecord: Codable, FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "article"
  var id: Int64?
  var number: Int
  var title: String
  var price: Double
  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

func importDatabase(_ count: Int, _ path: String) throws {
  let queue = try DatabaseQueue(path: path)
  try queue.write { database in
    try database.create(table: "article") { table in
      table.autoIncrementedPrimaryKey("id")
      table.column("number", .integer).unique()
      table.column("title", .text)
      table.column("price", .double)
    }
  }
  for (round, name) in ["import", "import again"].enumerated() {
    try measure(name) {
      try queue.write { database in
        for number in 0..<count {
          if var article = try ArticleRecord.filter(Column("number") == number).fetchOne(database) {
            article.price = Double(number + round)
            try article.update(database)
          } else {
            var article = ArticleRecord(number: number, title: "Article \(number)", price: Double(number + round))
            try article.insert(database)
          }
        }
      }
    }
  }
}
