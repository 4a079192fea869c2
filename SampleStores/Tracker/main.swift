import AtomicStoreSPI
import Foundation
import StoreContainers

// An issue tracker: six entities, a migration, key paths, live counts, work in the background. `swift run tracker` uses
// a temporary XML store; `swift run tracker tracker.sqlgraph` does the same on a database.

let path =
  CommandLine.arguments.dropFirst().first ?? FileManager.default.temporaryDirectory.path
  + "/tracker-\(ProcessInfo.processInfo.processIdentifier).xml"

/// The object with that name, or a new one.
func named<Object: ManagedObject>(
  _ name: String, _ keyPath: ReferenceWritableKeyPath<Object, String>, in context: ManagedObjectContext
) throws -> Object {
  if let known = try context.fetch(FetchRequest(keyPath == name)).first { return known }
  let object = Object(context: context)
  object[keyPath: keyPath] = name
  return object
}

// A store as the first version of the program left it.
if !FileManager.default.fileExists(atPath: path) {
  let context = try tracker(at: path, version: 1).newContext()
  let project = try context.insertNewObject(forEntityName: "Project")
  try project.setValue("Editor", forKey: "name")
  let issue = try context.insertNewObject(forEntityName: "Issue")
  try issue.setValuesForKeys(["number": 1, "summary": "Crash on start", "project": project])
  try context.save()
}

// The second version opens it: the summary is the title, and the priority has its default.
let container = try tracker(at: path)
let context = container.viewContext
context.undoManager = UndoHistory()
for issue in try context.fetch(FetchRequest<Issue>(\.project?.name == "Editor")) {
  print("From the first version: '\(issue.title)', priority \(issue.priority).")
}

// What an earlier run made; issues, milestones and comments go with their project.
let removed = try context.execute(BatchDeleteRequest(\Project.name == "Kit")).count
if removed > 0 { print("Removed \(removed) objects of an earlier run.") }

// The board: issues by status, kept up to date when any context changes them.
let board = FetchedResultsController<Issue>(
  fetchRequest: FetchRequest(\.project?.name == "Kit", sortedBy: .ascending(\.status), .ascending(\.number)),
  managedObjectContext: context, sectionNameKeyPath: \.status)
board.didChangeContent = { _ in
  print("Board: \((board.sections ?? []).map { "\($0.name) \($0.numberOfObjects)" }.joined(separator: ", "))")
}
try board.performFetch()

let kit: Project = try named("Kit", \.name, in: context)
let ada: Person = try named("Ada", \.name, in: context)
let first = Milestone(context: context)
first.name = "1.0"
first.project = kit
let issue = Issue(context: context)
issue.number = 1
issue.title = "Save is slow"
issue.priority = .high
issue.project = kit
issue.milestone = first
issue.assignee = ada
issue.labels = [try named("speed", \.name, in: context)]
let comment = Comment(context: context)
comment.text = "Measured: 2 s"
comment.author = ada
issue.comments.append(comment)
try context.save()

// In the background, with its own context: the board shows what was saved there.
container.setAutomaticallyMergesChangesFromParent(true)
try await container.performBackgroundTask { context in
  let kit: Project = try named("Kit", \.name, in: context)
  let labels: [Label] = [try named("speed", \.name, in: context), try named("docs", \.name, in: context)]
  for number in 2...9 {
    let issue = Issue(context: context)
    issue.number = number
    issue.title = "Imported \(number)"
    issue.priority = number % 4 == 0 ? .high : .low
    issue.status = number > 7 ? .active : .open
    issue.project = kit
    issue.labels = [labels[number % 2]]
  }
  try context.save()
}
context.processPendingChanges()

// Questions are key paths. No name of the model is written twice.
@MainActor func titles(_ request: FetchRequest<Issue>) throws -> String {
  try context.fetch(request).map { "\($0.number) \($0.title)" }.joined(separator: "; ")
}
let urgent: ObjectPredicate<Issue> = \.project?.name == "Kit" && \.priority > .normal && \.status != .closed
print("Urgent: \(try titles(FetchRequest(urgent, sortedBy: .descending(\.number))))")
print("Urgent and unassigned: \(try titles(FetchRequest(urgent && \.assignee == nil, sortedBy: .ascending(\.number))))")
print(
  "About speed: \(try titles(FetchRequest((\Issue.labels).any(\.name == "speed"), sortedBy: .ascending(\.number))))")
print("With comments: \(try titles(FetchRequest(\.comments.count > 0)))")
print("Like 'save': \(try titles(FetchRequest((\Issue.title).contains("SAVE", .caseInsensitive))))")
print(
  "By #Predicate: \(try titles(FetchRequest(#Predicate { $0.number > 7 && $0.labels.contains { $0.name == "docs" } })))"
)
let busy = FetchRequest<Person>((\Person.issues).count(where: \.status == .open) > 0)
print("Busy: \(try context.fetch(busy).map(\.name).joined(separator: ", ")); the project has \(kit.issueCount) issues.")

// One statement for many objects; the board follows.
var update = BatchUpdateRequest(\Issue.project?.name == "Kit" && \.priority < .normal)
update.set(\Issue.status, to: .closed)
context.mergeChanges(fromDidSave: try context.execute(update).changes)
context.processPendingChanges()

// A project takes its issues along, and undo brings all of it back.
context.delete(kit)
context.processPendingChanges()
context.undo()
try context.save()
let left = try context.count(for: FetchRequest<Issue>(\.project?.name == "Kit"))
print("Deleted and restored: \(left) issues; the first comment is '\(issue.comments.first?.text ?? "")'.")
if CommandLine.arguments.count < 2 { try FileManager.default.removeItem(atPath: path) }
