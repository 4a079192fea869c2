import AtomicStoreSPI
import StoreContainers

enum Status: String, AttributeValue {
  case open, active, closed
  static var atomicStoreValueForNull: Status { .open }
}

enum Priority: Int, AttributeValue, Comparable {
  case low = 1
  case normal, high
  static var atomicStoreValueForNull: Priority { .normal }
  static func < (one: Priority, other: Priority) -> Bool { one.rawValue < other.rawValue }
}

final class Project: ManagedObject {
  @Managed("name") var name: String
  @Managed("issues") var issues: Set<Issue>
  @Managed("milestones") var milestones: Set<Milestone>
  // Computed by every save that changes the issues.
  @Managed("issueCount") var issueCount: Int
}

final class Milestone: ManagedObject {
  @Managed("name") var name: String
  @Managed("project") var project: Project?
  @Managed("issues") var issues: Set<Issue>
}

final class Issue: ManagedObject {
  @Managed("number") var number: Int
  @Managed("title") var title: String
  @Managed("status") var status: Status
  @Managed("priority") var priority: Priority
  @Managed("project") var project: Project?
  @Managed("milestone") var milestone: Milestone?
  @Managed("assignee") var assignee: Person?
  @Managed("labels") var labels: Set<Label>
  @Managed("comments") var comments: [Comment]
}

final class Person: ManagedObject {
  @Managed("name") var name: String
  @Managed("issues") var issues: Set<Issue>
}

final class Label: ManagedObject {
  @Managed("name") var name: String
  @Managed("issues") var issues: Set<Issue>
}

final class Comment: ManagedObject {
  @Managed("text") var text: String
  @Managed("author") var author: Person?
  @Managed("issue") var issue: Issue?
}

/// The model: in its first version issues had a summary, which is their title now, and no priority.
func trackerModel(version: Int) throws -> ManagedObjectModel {
  let isFirst = version == 1
  var issue: [PropertyDescription] = [
    .attribute("number", .integer64, isOptional: false),
    .attribute(isFirst ? "summary" : "title", .string, isOptional: false, renamingIdentifier: "summary"),
    .attribute("status", .string, isOptional: false, defaultValue: .string("open")),
    .toOne("project", "Project", inverse: "issues", isOptional: false),
    .toOne("milestone", "Milestone", inverse: "issues"),
    .toOne("assignee", "Person", inverse: "issues"),
    .toMany("labels", "Label", inverse: "issues"),
    .toMany("comments", "Comment", inverse: "issue", isOrdered: true, deleteRule: .cascade),
  ]
  if !isFirst { issue.append(.attribute("priority", .integer16, isOptional: false, defaultValue: .integer(2))) }
  let name = PropertyDescription.attribute("name", .string, isOptional: false, minimumLength: 1)
  return try ManagedObjectModel(
    ModelDescription(entities: [
      EntityDescription(
        name: "Project",
        properties: [
          name, .attribute("issueCount", .integer64, derivationExpression: "issues.@count"),
          .toMany("issues", "Issue", inverse: "project", deleteRule: .cascade),
          .toMany("milestones", "Milestone", inverse: "project", deleteRule: .cascade),
        ], uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Milestone",
        properties: [
          name, .toOne("project", "Project", inverse: "milestones", isOptional: false),
          .toMany("issues", "Issue", inverse: "milestone"),
        ]),
      EntityDescription(name: "Issue", properties: issue, uniquenessConstraints: [["project", "number"]]),
      EntityDescription(
        name: "Person", properties: [name, .toMany("issues", "Issue", inverse: "assignee")],
        uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Label", properties: [name, .toMany("issues", "Issue", inverse: "labels")],
        uniquenessConstraints: [["name"]]),
      EntityDescription(
        name: "Comment",
        properties: [
          .attribute("text", .string, isOptional: false), .toOne("author", "Person"),
          .toOne("issue", "Issue", inverse: "comments", isOptional: false),
        ]),
    ]))
}

/// Opens the store at a path: one of the first version is migrated to the second.
func tracker(at path: String, version: Int = 2) throws -> PersistentContainer {
  let container = PersistentContainer(name: "Tracker", managedObjectModel: try trackerModel(version: version))
  container.persistentStoreDescriptions = [PersistentStoreDescription(path: path)]
  let classes: [ManagedObject.Type] = [
    Project.self, Milestone.self, Issue.self, Person.self, Label.self, Comment.self,
  ]
  for type in classes where version == 2 {
    container.persistentStoreCoordinator.setManagedObjectClass(type, forEntityName: String(describing: type))
  }
  try container.loadPersistentStores()
  return container
}
