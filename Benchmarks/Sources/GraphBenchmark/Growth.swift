import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import Glibc

// How the cost of work on many objects grows: graph-benchmark --growth [--objects N]. Each step at a quarter, at half
// and at all of N objects, each in its own process; processor time, and the exponent of the growth over all three.

/// Processor time of this process in seconds.
func processorTime() -> Double {
  var usage = rusage()
  getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
  func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
  return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

private func charged(_ name: String, _ body: () throws -> Void) rethrows {
  let start = processorTime()
  try body()
  print("\(name)\t\(processorTime() - start)")
}

/// The steps, and how many times as many objects each is given as is asked for.
let growthSteps = [(name: "find or create", factor: 1), (name: "batch insert", factor: 10), (name: "live", factor: 1)]

func runGrowthStep(_ step: String, _ count: Int, _ folder: String) throws {
  func open(_ name: String) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try ManagedObjectModel(articleModel), registry: .builtIn)
    return (coordinator, try coordinator.addPersistentStore(type: "BinaryPropertyList", at: folder + "/" + name))
  }
  switch step {
  case "find or create":
    try charged("find or create, first time") { try importArticles(count, round: 0, folder + "/articles.plist") }
    try charged("find or create, again") { try importArticles(count, round: 1, folder + "/articles.plist") }
  case "batch insert":
    let (coordinator, store) = try open("bare.plist")
    guard let entity = store.model.entity(named: "Article") else { throw Failure(message: "no entity") }
    let slots = ["number", "title", "price"].compactMap { entity.slot(named: $0) }
    try charged("bare save of the same rows") {
      var changes = StoreChanges()
      changes.inserted.reserveCapacity(count)
      for number in 0..<count {
        var object = ManagedObjectSnapshot(entity: entity.index, reference: .integer(Int64(number + 1)))
        object.values[slots[0]] = .integer(Int64(number))
        object.values[slots[1]] = .string("Article \(number)")
        object.values[slots[2]] = .double(Double(number))
        changes.inserted.append(object)
      }
      try coordinator.save(store, changes: changes)
    }
    let context = ManagedObjectContext(try open("batch.plist").0)
    try charged("batch insert") {
      var number = 0
      let result = try context.execute(
        BatchInsertRequest(entityName: "Article") { row in
          if number == count { return true }
          row["number"] = number
          row["title"] = "Article \(number)"
          row["price"] = Double(number)
          number += 1
          return false
        })
      guard result.count == count else { throw Failure(message: "\(result.count) rows were inserted") }
    }
  default:
    let context = ManagedObjectContext(try open("live.plist").0)
    for number in 0..<count {
      let article = try context.insertNewObject(forEntityName: "Article")
      try article.setValue(number, forKey: "number")
      try article.setValue("Article \(number % 100)", forKey: "title")
    }
    try context.save()
    var request = FetchRequest<ManagedObject>(entityName: "Article", sortKeys: [SortKey("title"), SortKey("number")])
    request.returnsObjectsAsFaults = false
    let controller = FetchedResultsController(
      fetchRequest: request, managedObjectContext: context, sectionNameKeyPath: "title")
    try charged("live results, first fetch") { try controller.performFetch() }
    let articles = controller.fetchedObjects ?? []
    var reported = 0
    controller.didChangeContent = { _ in reported += 1 }
    try charged("live results, 1,000 changes") {
      for index in 0..<1000 {
        try articles[index * articles.count / 1000].setValue("Article \(index % 100)", forKey: "title")
        context.processPendingChanges()
      }
    }
    guard reported > 0, controller.count == count else { throw Failure(message: "the results did not follow") }
  }
}

func runGrowth(_ most: Int) throws {
  print("processor seconds at a quarter, at half and at all of the objects, and the exponent")
  for step in growthSteps {
    let sizes = [most / 4, most / 2, most].map { $0 * step.factor }
    var times: [(name: String, seconds: [Double])] = []
    for size in sizes {
      for (name, seconds) in try runSeparately(["--growth-step", step.name, "--objects", "\(size)"]) {
        if let place = times.firstIndex(where: { $0.name == name }) {
          times[place].seconds.append(seconds)
        } else {
          times.append((name, [seconds]))
        }
      }
    }
    for (name, seconds) in times where seconds.count == sizes.count {
      let shown = seconds.map { String(format: "%.3f", $0) }.joined(separator: "  ")
      let exponent = log2(max(seconds[2], 1e-4) / max(seconds[0], 1e-4)) / 2
      print("\(name), \(sizes[2]): \(shown)  exponent " + String(format: "%.2f", exponent))
    }
  }
}
