import Foundation

// The object graph beside GRDB on the same work: people in departments, inserted and saved, fetched, walked through,
// a tenth of them deleted. Each side runs in its own process, turn by turn, so that neither warms the other's
// memory; what counts is the ratio within a round.

/// What both sides are asked.
let queries = [
  (name: "age > 40, name contains 9", text: "age > 40 AND name CONTAINS '9'"),
  (name: "two ranges", text: "salary BETWEEN {1000, 20000} AND age != 7"),
  (name: "department's name", text: "department.name == 'Department 7'"),
]

func value(_ name: String, _ fallback: String) -> String {
  let arguments = CommandLine.arguments
  guard let place = arguments.firstIndex(of: name), place + 1 < arguments.count else { return fallback }
  return arguments[place + 1]
}

/// Resident memory in bytes.
func residentMemory() -> Int {
  guard let text = try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8) else { return 0 }
  let fields = text.split(separator: " ")
  return fields.count > 1 ? (Int(fields[1]) ?? 0) * 4096 : 0
}

/// Runs a step and prints how long it took.
func measure<Result>(_ name: String, _ body: () throws -> Result) rethrows -> Result {
  let start = ContinuousClock.now
  let result = try body()
  let (seconds, attoseconds) = (ContinuousClock.now - start).components
  print("\(name)\t\(Double(seconds) + Double(attoseconds) / 1e18)")
  return result
}

let count = Int(value("--objects", "0")) ?? 0
let growthStep = value("--growth-step", "")
if !growthStep.isEmpty {
  try runGrowthStep(growthStep, count, value("--folder", "/tmp"))
  exit(0)
}
if CommandLine.arguments.contains("--growth") {
  try runGrowth(count > 0 ? count : 100_000)
  exit(0)
}
let side = value("--side", "")
if !side.isEmpty {
  let folder = value("--folder", "/tmp")
  let isWriting = value("--phase", "write") == "write"
  if isWriting {
    if side == "grdb" {
      try importDatabase(count, folder + "/articles.sqlite")
    } else {
      try importGraph(count, type: side, folder)
    }
  }
  if side == "grdb" {
    try runDatabase(count, folder + "/people.sqlite", isWriting: isWriting)
  } else {
    try runGraph(count, type: side, folder, isWriting: isWriting)
  }
} else {
  let rounds = Int(value("--rounds", "5")) ?? 5
  let sizes = count > 0 ? [count] : [10_000, 50_000, 100_000]
  let sides = ["grdb", "BinaryPropertyList", "XML", "CSV"]
  for size in sizes {
    var all: [String: [String: [Double]]] = [:]
    var steps: [String] = []
    for _ in 0..<rounds {
      for side in sides {
        for (step, seconds) in try runSide(side, size) {
          if !steps.contains(step) { steps.append(step) }
          all[step, default: [:]][side, default: []].append(seconds)
        }
      }
    }
    print("\n\(size) objects, median of \(rounds) rounds; in brackets the ratio to GRDB's, median over the rounds")
    print(("step" as NSString).padding(toLength: 26, withPad: " ", startingAt: 0) + sides.map { pad($0) }.joined())
    for step in steps {
      var line = (step as NSString).padding(toLength: 26, withPad: " ", startingAt: 0)
      for side in sides {
        guard let times = all[step]?[side], !times.isEmpty else {
          line += pad("-")
          continue
        }
        var cell =
          step.contains("bytes") || step.contains("found") || step.hasPrefix("ns ")
          ? "\(Int(median(times)))" : String(format: "%.4f", median(times))
        if side != "grdb", let base = all[step]?["grdb"], base.count == times.count {
          cell += String(format: " (%.2f)", median(zip(times, base).map { $0 / $1 }))
        }
        line += pad(cell)
      }
      print(line)
    }
  }
}

func pad(_ text: String) -> String { (text as NSString).padding(toLength: 22, withPad: " ", startingAt: 0) }
func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

func withFolder<Result>(_ body: (String) throws -> Result) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("graph-benchmark-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  return try body(folder.path)
}

/// Writes in one process and reads in another: memory that the writing used says nothing of the reading.
func runSide(_ side: String, _ size: Int) throws -> [(String, Double)] {
  try withFolder { folder in
    try ["write", "read"].flatMap {
      try run(["--side", side, "--objects", "\(size)", "--phase", $0, "--folder", folder])
    }
  }
}

/// Runs a part in a separate process and directory.
func runSeparately(_ arguments: [String]) throws -> [(String, Double)] {
  try withFolder { try run(arguments + ["--folder", $0]) }
}

/// Runs this program again, and returns the times that it printed.
func run(_ arguments: [String]) throws -> [(String, Double)] {
  let process = Process()
  process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
  process.arguments = arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let data = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  guard process.terminationStatus == 0 else {
    throw Failure(message: "\(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
  }
  return String(decoding: data, as: UTF8.self).split(separator: "\n").compactMap { line in
    let fields = line.split(separator: "\t")
    return fields.count == 2 ? Double(fields[1]).map { (String(fields[0]), $0) } : nil
  }
}

struct Failure: Error { var message: String }
