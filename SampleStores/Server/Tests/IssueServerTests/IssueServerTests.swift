import Foundation
import FoundationNetworking
import Hummingbird
import ServiceLifecycle
import StoreContainers
import Testing

@testable import IssueServer

@Suite("The issue server", .serialized) struct IssueServerTests {
  /// A new store: a schema of PostgreSQL if ISSUE_TEST_STORE is a URL that ends with the name of one, and otherwise a
  /// file.
  private static func store() -> String {
    ProcessInfo.processInfo.environment["ISSUE_TEST_STORE"].map { "\($0)_\(UUID().uuidString.prefix(8).lowercased())" }
      ?? FileManager.default.temporaryDirectory.path + "/issues-\(UUID().uuidString).sqlgraph"
  }

  private static func remove(_ store: String) {
    guard !store.contains("://") else { return }
    for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store + suffix) }
  }

  /// Starts the server, runs a body with its address, and stops it gracefully.
  private static func withServer<Value: Sendable>(
    _ store: String, _ body: @escaping @Sendable (URL) async throws -> Value
  ) async throws -> Value {
    let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
    let server = try await IssueServer(store: store)
    let app = server.application(port: 0) { port in continuation.yield(port) }
    let group = ServiceGroup(configuration: .init(services: [app], logger: app.logger))
    return try await withThrowingTaskGroup(of: Void.self) { tasks in
      tasks.addTask { try await group.run() }
      var iterator = ports.makeAsyncIterator()
      let port = try #require(await iterator.next())
      let value = try await body(try #require(URL(string: "http://127.0.0.1:\(port)")))
      await group.triggerGracefulShutdown()
      try await tasks.waitForAll()
      return value
    }
  }

  private static func send<Answer: Decodable>(
    _ method: String = "GET", _ path: String, _ body: (any Encodable)? = nil, to server: URL, as type: Answer.Type
  ) async throws -> Answer {
    var request = URLRequest(url: try #require(URL(string: path, relativeTo: server)))
    request.httpMethod = method
    request.timeoutInterval = 300
    if let body {
      request.httpBody = try JSONEncoder().encode(body)
      request.setValue("application/json", forHTTPHeaderField: "content-type")
    }
    let (data, response) = try await URLSession.shared.data(for: request)
    let status = (response as? HTTPURLResponse)?.statusCode ?? 0
    guard (200..<300).contains(status) else {
      throw URLError(
        .badServerResponse, userInfo: [NSLocalizedDescriptionKey: "\(status) \(String(decoding: data, as: UTF8.self))"])
    }
    return try JSONDecoder().decode(type, from: data)
  }

  @Test("1,000 requests of 8 clients lose nothing: numbers, counts and sums are those of what was accepted")
  func load() async throws {
    let store = Self.store()
    defer { Self.remove(store) }
    let clients = 8
    let requests = 1000
    // Two clients change each project.
    let names = (0..<clients / 2).map { "load-\(UUID().uuidString.prefix(8))-\($0)" }
    // Of each eight requests of a client, six add an issue, one closes the first of them, and one reads.
    let closed = 2 * (0..<requests / clients).count { $0 % 8 == 6 }
    let added = try await Self.withServer(store) { server in
      try await withThrowingTaskGroup(of: [IssueMessage].self) { group in
        for client in 0..<clients {
          group.addTask {
            let name = names[client % names.count]
            var mine: [IssueMessage] = []
            for request in 0..<requests / clients {
              switch request % 8 {
              case 6:
                let first = mine[mine.count - 6]
                let answer = try await Self.send(
                  "PATCH", "/projects/\(name)/issues/\(first.number)", IssueChange(isOpen: false), to: server,
                  as: IssueMessage.self)
                #expect(!answer.isOpen && answer.title == first.title)
              case 7:
                let health = try await Self.send("GET", "/health", to: server, as: Health.self)
                #expect(health.status == "ok" && health.issues >= mine.count)
              default:
                mine.append(
                  try await Self.send(
                    "POST", "/projects/\(name)/issues", NewIssue(title: "\(client)/\(request)", hours: 2), to: server,
                    as: IssueMessage.self))
              }
            }
            return mine
          }
        }
        return try await group.reduce(into: []) { $0 += $1 }
      }
    }
    // After a restart all of it is there.
    let found = try await Self.withServer(store) { server in
      var found: [(project: ProjectMessage, issues: [IssueMessage])] = []
      for name in names {
        found.append(
          (
            try await Self.send("GET", "/projects/\(name)", to: server, as: ProjectMessage.self),
            try await Self.send("GET", "/projects/\(name)/issues", to: server, as: [IssueMessage].self)
          ))
      }
      return found
    }
    for (project, issues) in found {
      let accepted = added.filter { $0.project == project.name }.sorted { $0.number < $1.number }
      #expect(accepted.map(\.number) == Array(1...accepted.count))
      #expect(issues.map(\.number) == accepted.map(\.number) && issues.map(\.title) == accepted.map(\.title))
      #expect(project.lastNumber == accepted.count && project.hours == 2 * accepted.count)
      #expect(project.openCount == accepted.count - closed)
    }
    #expect(found.map(\.issues.count).reduce(0, +) == added.count)
  }

  @Test("a store of the first version is migrated at the start")
  func migration() async throws {
    let store = Self.store()
    defer { Self.remove(store) }
    do {
      let context = try await issueContainer(at: store, version: 1).newContext()
      let project = try context.insertNewObject(forEntityName: "Project")
      try project.setValuesForKeys(["name": "Old", "lastNumber": 1])
      let issue = try context.insertNewObject(forEntityName: "Issue")
      try issue.setValuesForKeys(["number": 1, "summary": "Crash on start", "project": project])
      try context.save()
    }
    let issues = try await Self.withServer(store) { server in
      try await Self.send("GET", "/projects/Old/issues?open=1", to: server, as: [IssueMessage].self)
    }
    #expect(issues.map(\.title) == ["Crash on start"] && issues.map(\.hours) == [0])
  }

  @Test("what is not there, or breaks a rule of the model, is an answer with its status and leaves nothing behind")
  func refusals() async throws {
    let store = Self.store()
    defer { Self.remove(store) }
    try await Self.withServer(store) { server in
      for (method, path, body) in [
        ("GET", "/projects/none", nil), ("PATCH", "/projects/none/issues/1", "{\"isOpen\": false}"),
        ("POST", "/projects/p/issues", "{}"),
      ] as [(String, String, String?)] {
        var request = URLRequest(url: try #require(URL(string: path, relativeTo: server)))
        request.httpMethod = method
        request.httpBody = body.map { Data($0.utf8) }
        if body != nil { request.setValue("application/json", forHTTPHeaderField: "content-type") }
        let (_, response) = try await URLSession.shared.data(for: request)
        #expect((response as? HTTPURLResponse)?.statusCode == (method == "POST" ? 400 : 404), "\(method) \(path)")
      }
      #expect(try await Self.send("GET", "/health", to: server, as: Health.self).status == "ok")
    }
  }
}
