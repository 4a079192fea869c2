import Foundation
import Synchronization

/// What clients sent to one server, and what it accepted.
final class Load: Sendable {
  private struct Answer: Decodable {
    var number: Int?
    var lastNumber: Int?
    var hours: Int?
    var openCount: Int?
  }
  private struct Accepted {
    var numbers: [String: [Int]] = [:]
    var closed: [String: Int] = [:]
    var failure: (any Error)?
  }

  private let clients: Int
  private let accepted = Mutex(Accepted())

  init(clients: Int) { self.clients = clients }

  /// Sends requests by several clients at once, each with its own connection. Two clients change each project.
  ///
  /// - Parameter requests: By client.
  /// - Returns: Seconds.
  func run(port: Int, requests: Int) throws -> Double {
    let start = ContinuousClock.now
    let threads = DispatchGroup()
    for client in 0..<clients {
      threads.enter()
      Thread.detachNewThread { [self] in
        defer { threads.leave() }
        do { try send(requests, by: client, port: port) } catch {
          let failure = error
          accepted.withLock { $0.failure = failure }
        }
      }
    }
    threads.wait()
    if let failure = accepted.withLock({ $0.failure }) { throw failure }
    let duration = start.duration(to: .now).components
    return Double(duration.seconds) + Double(duration.attoseconds) / 1e18
  }

  /// Of each eight requests, six add an issue, one closes the first of them, and one reads.
  private func send(_ requests: Int, by client: Int, port: Int) throws {
    var connection = try Connection(port: port)
    let project = "p\(client / 2)"
    var mine: [Int] = []
    for request in 0..<requests {
      switch request % 8 {
      case 6:
        _ = try connection.send("PATCH", "/projects/\(project)/issues/\(mine[mine.count - 6])", "{\"isOpen\": false}")
        accepted.withLock { $0.closed[project, default: 0] += 1 }
      case 7: _ = try connection.send("GET", "/health")
      default:
        let body = try connection.send(
          "POST", "/projects/\(project)/issues", "{\"title\": \"\(client)/\(request)\", \"hours\": 2}")
        let number = try JSONDecoder().decode(Answer.self, from: body).number ?? 0
        mine.append(number)
        accepted.withLock { $0.numbers[project, default: []].append(number) }
      }
    }
  }

  /// Compares what was accepted with what a server has.
  ///
  /// - Returns: How many issues there are.
  /// - Throws: If one is missing, or a number, sum or count differs.
  func compare(port: Int) throws -> Int {
    var connection = try Connection(port: port)
    let (numbers, closed) = accepted.withLock { ($0.numbers, $0.closed) }
    for (project, accepted) in numbers {
      let issues = try JSONDecoder().decode([Answer].self, from: connection.send("GET", "/projects/\(project)/issues"))
      let counts = try JSONDecoder().decode(Answer.self, from: connection.send("GET", "/projects/\(project)"))
      let expected = Array(1...accepted.count)
      guard accepted.sorted() == expected, issues.compactMap(\.number) == expected,
        counts.lastNumber == accepted.count, counts.hours == 2 * accepted.count,
        counts.openCount == accepted.count - (closed[project] ?? 0)
      else { throw Connection.Failure(description: "\(project) does not have what was accepted") }
    }
    return numbers.values.map(\.count).reduce(0, +)
  }
}
