import Foundation
import IssueServer

// Configuration: ISSUE_STORE, a path or postgresql://…; ISSUE_PORT. `kill -TERM` stops it gracefully.
let environment = ProcessInfo.processInfo.environment
let server = try await IssueServer(store: environment["ISSUE_STORE"] ?? "issues.sqlgraph")
try await server.application(port: Int(environment["ISSUE_PORT"] ?? "") ?? 8080) { port in
  print("listening on http://127.0.0.1:\(port)")
}.runService()
