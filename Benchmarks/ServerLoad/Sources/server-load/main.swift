import Foundation
import Hummingbird
import IssueServer
import Logging

// server-load [REQUESTS [ROUNDS]]: the sample server and the same on GRDB, each in its own process, get the same
// requests in turn. Prints the rates, and exits with 1 if a write was lost or a server's memory grows.
let arguments = CommandLine.arguments.dropFirst()
if arguments.first == "serve" {
  try await serve(Array(arguments.dropFirst()))
} else {
  do { try measure(arguments.map { Int($0) ?? 0 }) } catch {
    writeLine("\(error)", to: .standardError)
    exit(error is UsageError ? 64 : 1)
  }
}

struct UsageError: Error, CustomStringConvertible {
  let description = "usage: server-load [REQUESTS [ROUNDS]], at least 64 and 3"
}

/// Writes a line at once: `print` keeps what goes into a pipe.
@Sendable func writeLine(_ line: String, to file: FileHandle = .standardOutput) { file.write(Data("\(line)\n".utf8)) }

func serve(_ arguments: [String]) async throws {
  if arguments[0] == "grdb" {
    try await RecordServer(path: arguments[1]).application(port: 0) { writeLine("\($0)") }.runService()
  } else {
    var logger = Logger(label: "issue-server")
    logger.logLevel = .error
    try await IssueServer(store: arguments[1], logger: logger).application(port: 0) { writeLine("\($0)") }.runService()
  }
}

func measure(_ numbers: [Int]) throws {
  let requests = numbers.first ?? 8000
  let rounds = numbers.dropFirst().first ?? 6
  let clients = 8
  guard requests >= 64, rounds >= 3 else { throw UsageError() }
  let folder = FileManager.default.temporaryDirectory.appending(path: "server-load-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let stores = ["kit": folder.path + "/issues.sqlgraph", "grdb": folder.path + "/issues.sqlite"]
  let servers = try ["kit", "grdb"].map { try ServerProcess($0, store: stores[$0] ?? "") }
  let loads = servers.map { _ in Load(clients: clients) }
  var rates = servers.map { _ in [Double]() }
  var memory = servers.map { _ in [Int]() }
  for round in 1...rounds {
    for (index, server) in servers.enumerated() {
      let seconds = try loads[index].run(port: server.port, requests: requests / clients)
      rates[index].append(Double(requests / clients * clients) / seconds)
      memory[index].append(try server.memory)
      writeLine(
        "round \(round), \(server.name): \(Int(rates[index][round - 1])) requests a second, "
          + "\(memory[index][round - 1] >> 20) MB")
    }
  }
  var grows = false
  for (index, server) in servers.enumerated() {
    writeLine("\(server.name): nothing of \(try loads[index].compare(port: server.port)) issues is lost")
    try server.stop()
    // After the second round everything that is held for good is there.
    grows = grows || memory[index][rounds - 1] > memory[index][1] * 5 / 4
  }
  let medians = rates.map { $0.sorted()[rounds / 2] }
  let ratio = (medians[0] / medians[1]).formatted(.number.precision(.fractionLength(2)))
  writeLine("requests a second, the kit's by GRDB's: \(ratio)")
  guard !grows else { throw Connection.Failure(description: "the memory of a server grows by the round") }
}
