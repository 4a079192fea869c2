import ArgumentParser
import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// What a command says of one store of a list.
package struct FleetAnswer: Sendable {
  /// What the command prints with `--json` for this store alone.
  package var result: JSONValue
  /// 0, or 1 for findings.
  package var exitCode: Int32

  package init(_ result: JSONValue, exitCode: Int32 = 0) {
    self.result = result
    self.exitCode = exitCode
  }
}

/// Runs a command on a list of stores: a line of JSON for each store on standard output, in the order of the list, and
/// a summary on standard error.
package struct FleetRun {
  private let list: StoreList
  private let json: Bool
  /// How many lines of each worker may wait for one that takes longer.
  private static let linesPerWorker = 32

  /// - Parameter json: Whether the summary is JSON.
  package init(_ list: StoreList, json: Bool) {
    self.list = list
    self.json = json
  }

  /// Runs `work` for each store, in several threads. Each store is then treated by one of them alone.
  ///
  /// - Parameter work: Receives the index in the list and the path. An error it throws is the result of this store
  ///   only.
  /// - Throws: `ExitCode(1)` if a store failed or has findings; the error of writing to standard output.
  package func run(_ work: @escaping @Sendable (Int, String) throws -> FleetAnswer) throws {
    var summary = FleetSummary()
    let entries = list.entries
    let workers = ParallelWork.jobs
    ParallelWork.jobs = 1
    try Diagnostics.stream { writer in
      try ParallelWork.inOrder(entries.count, jobs: workers, window: workers * Self.linesPerWorker) { index in
        FleetLine(entries[index]) { try work(index, $0) }
      } use: { line throws in
        summary.add(line)
        writer.append(line.text)
        writer.append(byte: UInt8(ascii: "\n"))
        // A signal may end the command while the next store is treated.
        try writer.finish()
      }
    }
    Diagnostics.say(json ? summary.json.line : "atomicstore: \(summary)")
    if !summary.isClean { throw ExitCode(1) }
  }
}

/// The result of one store, as it is printed.
private struct FleetLine: Sendable {
  let path: String
  let exitCode: Int32
  /// The error message of a store that failed.
  let message: String?
  let text: String

  init(_ entry: StoreList.Entry, _ work: (String) throws -> FleetAnswer) {
    let path = entry.path
    var fields: [(String, JSONValue)] = [("path", .string(entry.path))]
    do {
      if let problem = entry.problem { throw CommandFailure(problem, exitCode: 64) }
      let answer = try work(entry.path)
      exitCode = answer.exitCode
      message = nil
      fields += [("exitCode", .integer(Int(answer.exitCode))), ("result", answer.result)]
    } catch {
      let failure = CommandFailure(error, json: true)
      exitCode = failure.exitCode
      message = Diagnostics.shown(failure.message)
      fields += [("exitCode", .integer(Int(failure.exitCode))), ("error", failure.errorJSON)]
    }
    self.path = Diagnostics.shown(path)
    text = Diagnostics.shown(JSONValue.object(fields).line)
  }
}

/// How many stores succeeded and failed.
private struct FleetSummary: CustomStringConvertible {
  private var counts: [Int32: Int] = [:]
  /// The path and the message.
  private var firstFailure: String?

  mutating func add(_ line: FleetLine) {
    counts[line.exitCode, default: 0] += 1
    if firstFailure == nil, let message = line.message {
      firstFailure = message.hasPrefix(line.path + ":") ? message : "\(line.path): \(message)"
    }
  }

  var isClean: Bool { counts.keys.allSatisfy { $0 == 0 } }
  private var total: Int { counts.values.reduce(0, +) }
  private var failures: [(code: Int32, count: Int)] {
    counts.filter { $0.key > 1 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
  private var failureCount: Int { failures.reduce(0) { $0 + $1.count } }

  var description: String {
    var text = "\(Diagnostics.count(total, "store")): \(counts[0] ?? 0) succeeded"
    if let findings = counts[1] { text += ", \(findings) with findings" }
    guard let firstFailure else { return text }
    let codes = failures.map { "\($0.count) with exit code \($0.code)" }.joined(separator: ", ")
    return text + ", \(failureCount) failed (\(codes)); the first: \(firstFailure)"
  }

  var json: JSONValue {
    .object([
      ("stores", .integer(total)), ("succeeded", .integer(counts[0] ?? 0)), ("withFindings", .integer(counts[1] ?? 0)),
      ("failed", .integer(failureCount)),
      ("exitCodes", .object(counts.sorted { $0.key < $1.key }.map { ("\($0.key)", .integer($0.value)) })),
    ])
  }
}
