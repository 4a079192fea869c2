import GRDB
import Hummingbird
import IssueServer

/// What `IssueServer` answers, with GRDB's records: the same routes, messages and durability.
struct RecordServer: Sendable {
  private let database: DatabasePool

  init(path: String) throws {
    var configuration = Configuration()
    // As SQLiteGraph: what was answered survives a loss of power.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous=FULL") }
    database = try DatabasePool(path: path, configuration: configuration)
    try database.write { database in
      try database.execute(
        sql: """
          CREATE TABLE project (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, lastNumber INTEGER NOT NULL);
          CREATE TABLE issue (
            id INTEGER PRIMARY KEY, project INTEGER NOT NULL REFERENCES project, number INTEGER NOT NULL,
            title TEXT NOT NULL, isOpen BOOLEAN NOT NULL, hours INTEGER NOT NULL, UNIQUE (project, number))
          """)
    }
  }

  func application(
    port: Int, onRunning: @escaping @Sendable (Int) async -> Void
  ) -> some ApplicationProtocol {
    Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: port)),
      onServerRunning: { channel in await onRunning(channel.localAddress?.port ?? port) })
  }

  private var router: Router<BasicRequestContext> {
    let router = Router()
    router.get("health") { _, _ in
      try await database.read { Health(status: "ok", issues: try Issue.fetchCount($0)) }
    }
    router.get("projects/:name") { _, context in
      let name = try context.parameters.require("name")
      return try await database.read { database in
        let project = try Self.project(name, in: database)
        let issues = Issue.filter(Column("project") == project.id)
        return Answer(
          name: name, lastNumber: project.lastNumber,
          openCount: try issues.filter(Column("isOpen") == true).fetchCount(database),
          hours: try issues.select(sum(Column("hours")), as: Int.self).fetchOne(database) ?? 0)
      }
    }
    router.get("projects/:name/issues") { _, context in
      let name = try context.parameters.require("name")
      return try await database.read { database in
        let project = try Self.project(name, in: database)
        return try Issue.filter(Column("project") == project.id).order(Column("number")).fetchAll(database)
          .map { $0.answer(name) }
      }
    }
    router.post("projects/:name/issues") { request, context in
      let name = try context.parameters.require("name")
      let new = try await request.decode(as: NewIssue.self, context: context)
      let made = try await database.write { database in
        var project =
          try Project.filter(Column("name") == name).fetchOne(database) ?? Project(name: name, lastNumber: 0)
        project.lastNumber += 1
        try project.save(database)
        var issue = Issue(
          project: project.id ?? 0, number: project.lastNumber, title: new.title, isOpen: true, hours: new.hours ?? 0)
        try issue.insert(database)
        return issue.answer(name)
      }
      return EditedResponse(status: .created, response: made)
    }
    router.patch("projects/:name/issues/:number") { request, context in
      let name = try context.parameters.require("name")
      let number = try context.parameters.require("number", as: Int.self)
      let change = try await request.decode(as: IssueChange.self, context: context)
      return try await database.write { database in
        let project = try Self.project(name, in: database)
        let found = try Issue.filter(Column("project") == project.id && Column("number") == number).fetchOne(database)
        guard var issue = found else { throw HTTPError(.notFound) }
        issue.isOpen = change.isOpen
        try issue.update(database)
        return issue.answer(name)
      }
    }
    return router
  }

  private static func project(_ name: String, in database: Database) throws -> Project {
    guard let found = try Project.filter(Column("name") == name).fetchOne(database) else { throw HTTPError(.notFound) }
    return found
  }

  private struct Project: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "project"
    var id: Int64?
    var name: String
    var lastNumber: Int

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
  }

  private struct Issue: Codable, FetchableRecord, MutablePersistableRecord {
    static let databaseTableName = "issue"
    var id: Int64?
    var project: Int64
    var number: Int
    var title: String
    var isOpen: Bool
    var hours: Int

    mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }

    func answer(_ project: String) -> IssueAnswer {
      IssueAnswer(project: project, number: number, title: title, isOpen: isOpen, hours: hours)
    }
  }

  private struct Health: ResponseCodable {
    var status: String
    var issues: Int
  }

  private struct Answer: ResponseCodable {
    var name: String
    var lastNumber: Int
    var openCount: Int
    var hours: Int
  }

  private struct IssueAnswer: ResponseCodable {
    var project: String
    var number: Int
    var title: String
    var isOpen: Bool
    var hours: Int
  }
}
