import AtomicStoreSPI
import StoreContainers

final class Project: ManagedObject {
  @Managed("name") var name: String
  @Managed("lastNumber") var lastNumber: Int
  @Managed("issues") var issues: Set<Issue>
  // Computed by every save that changes the issues.
  @Managed("openCount") var openCount: Int
  @Managed("hours") var hours: Int
}

final class Issue: ManagedObject {
  @Managed("number") var number: Int
  @Managed("title") var title: String
  @Managed("isOpen") var isOpen: Bool
  @Managed("hours") var hours: Int
  @Managed("project") var project: Project?
}

extension ManagedObjectModel {
  /// The model of the server's data.
  ///
  /// - Parameter version: 1, in which issues had a summary and no hours, or 2.
  static func issues(version: Int) throws -> ManagedObjectModel {
    let isFirst = version == 1
    var issue: [PropertyDescription] = [
      .attribute("number", .integer64, isOptional: false),
      .attribute(isFirst ? "summary" : "title", .string, isOptional: false, renamingIdentifier: "summary"),
      .attribute("isOpen", .boolean, isOptional: false, defaultValue: .boolean(true)),
      .toOne("project", "Project", inverse: "issues", isOptional: false),
    ]
    var project: [PropertyDescription] = [
      .attribute("name", .string, isOptional: false, minimumLength: 1),
      .attribute("lastNumber", .integer64, isOptional: false, defaultValue: .integer(0)),
      .toMany("issues", "Issue", inverse: "project", deleteRule: .cascade),
      .attribute(
        "openCount", .integer64, derivationExpression: "SUBQUERY(issues, $i, $i.isOpen == YES).@count"),
    ]
    if !isFirst {
      issue.append(.attribute("hours", .integer64, isOptional: false, defaultValue: .integer(0)))
      project.append(.attribute("hours", .integer64, derivationExpression: "issues.@sum.hours"))
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(name: "Project", properties: project, uniquenessConstraints: [["name"]]),
        EntityDescription(name: "Issue", properties: issue, uniquenessConstraints: [["project", "number"]]),
      ]))
  }
}

/// Opens the store of the server. One that an older version of the program wrote is migrated first.
///
/// - Parameter store: A path, whose extension decides the type, or `postgresql://…`.
func issueContainer(at store: String, version: Int = 2) async throws -> PersistentContainer {
  let container = PersistentContainer(name: "Issues", managedObjectModel: try .issues(version: version))
  container.persistentStoreDescriptions = [PersistentStoreDescription(path: store)]
  if version == 2 {
    container.persistentStoreCoordinator.setManagedObjectClass(Project.self, forEntityName: "Project")
    container.persistentStoreCoordinator.setManagedObjectClass(Issue.self, forEntityName: "Issue")
  }
  try await container.loadPersistentStores()
  return container
}
