import AtomicStoreSPI
public import Hummingbird
import Logging
import StoreContainers
import StoreLogging

/// A server of issues: each request that reads has its own context, and those that write take turns in one.
///
///     POST   /projects/NAME/issues           {"title": "Save is slow", "hours": 2}: 201, the issue with its number
///     GET    /projects/NAME/issues[?open=1]  the issues of a project
///     PATCH  /projects/NAME/issues/NUMBER    {"isOpen": false}
///     GET    /projects/NAME                  its counts
///     GET    /health                         200 if the store can be read
public struct IssueServer: Sendable {
  private let container: PersistentContainer
  /// Two requests that change one project at a time would conflict, and one of them would be done again.
  private let writer: BackgroundContext
  private let logger: Logger

  /// Opens the store, which is migrated if an older version of the program wrote it.
  ///
  /// - Parameter store: A path such as `issues.sqlgraph`, or `postgresql://…`.
  public init(store: String, logger: Logger = Logger(label: "issue-server")) async throws {
    container = try await issueContainer(at: store)
    writer = container.newBackgroundContext()
    self.logger = logger
  }

  /// The application: `runService()` stops it on SIGTERM and SIGINT, when the requests under way have been answered.
  ///
  /// - Parameter onRunning: Called with the port when the server listens.
  public func application(
    port: Int, onRunning: @escaping @Sendable (Int) async -> Void = { _ in }
  ) -> some ApplicationProtocol {
    Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? port) }, logger: logger)
  }

  private var router: Router<BasicRequestContext> {
    let router = Router()
    router.get("health") { _, _ in
      let count = try await perform { try $0.count(for: FetchRequest<Issue>()) }
      return Health(status: "ok", issues: count)
    }
    router.get("projects/:name") { _, context in
      let name = try context.parameters.require("name")
      return try await perform { ProjectMessage(try project(name, in: $0)) }
    }
    router.get("projects/:name/issues") { request, context in
      let name = try context.parameters.require("name")
      let isOpenOnly = request.uri.queryParameters["open"] == "1"
      return try await perform { context in
        var condition: ObjectPredicate<Issue> = \.project?.name == name
        if isOpenOnly { condition = condition && \.isOpen == true }
        return try context.fetch(FetchRequest(condition, sortedBy: .ascending(\.number))).map { IssueMessage($0) }
      }
    }
    router.post("projects/:name/issues") { request, context in
      let name = try context.parameters.require("name")
      let new = try await request.decode(as: NewIssue.self, context: context)
      let made = try await save { context in
        let project = try context.fetch(FetchRequest<Project>(\.name == name)).first ?? Project(context: context)
        project.name = name
        project.lastNumber += 1
        let issue = Issue(context: context)
        issue.number = project.lastNumber
        issue.title = new.title
        issue.hours = new.hours ?? 0
        issue.project = project
        return issue
      }
      return EditedResponse(status: .created, response: made)
    }
    router.patch("projects/:name/issues/:number") { request, context in
      let name = try context.parameters.require("name")
      let number = try context.parameters.require("number", as: Int.self)
      let change = try await request.decode(as: IssueChange.self, context: context)
      return try await save { context in
        let found = try context.fetch(FetchRequest<Issue>(\.project?.name == name && \.number == number)).first
        guard let issue = found else { throw HTTPError(.notFound, message: "\(name) has no issue \(number)") }
        issue.isOpen = change.isOpen
        return issue
      }
    }
    return router
  }

  // MARK: Contexts

  /// Runs a block with its own context.
  private func perform<Value: Sendable>(
    _ block: @Sendable (ManagedObjectContext) throws -> Value
  ) async throws -> Value {
    try await container.performBackgroundTask { try block($0) }
  }

  /// Changes an issue and saves it; again, with what is stored by then, if another process changed it meanwhile.
  private func save(_ change: @Sendable (ManagedObjectContext) throws -> Issue) async throws -> IssueMessage {
    var attempts = 0
    while true {
      do {
        return try await writer.perform { context in
          // What others save is seen by the next request, and what failed is forgotten.
          defer { context.reset() }
          let issue = try change(context)
          try Self.save(context)
          return IssueMessage(issue)
        }
      } catch let error as ManagedObjectError {
        attempts += 1
        let isConflict = error.allErrors.contains {
          $0.code == .managedObjectMerge || $0.code == .managedObjectConstraintMerge
        }
        if !isConflict { throw HTTPError(.unprocessableContent, message: error.message) }
        guard attempts < 1000 else { throw HTTPError(.conflict, message: error.message) }
      }
    }
  }

  /// `save()` throws one type, which the compiler does not bear in every closure: see the guide.
  private static func save(_ context: ManagedObjectContext) throws { try context.save() }

  private func project(_ name: String, in context: ManagedObjectContext) throws -> Project {
    guard let found = try context.fetch(FetchRequest<Project>(\.name == name)).first else {
      throw HTTPError(.notFound, message: "no project is called '\(name)'")
    }
    return found
  }
}
