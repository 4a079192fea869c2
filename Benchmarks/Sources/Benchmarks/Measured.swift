import CFloors
import Foundation

/// What one measurement, in its own process, reports to the one that started it.
struct Measured: Codable {
  var seconds = Double.nan
  /// The processor's part of it, which other work on the machine stretches less.
  var processor = Double.nan
  /// The most that the process held in memory, with the files that it mapped; nil where it is another's.
  var peak: Int64?
  /// What it held before the work began.
  var baseline: Int64?
  /// Why there is nothing to tell.
  var missing: String?

  static func missing(_ why: String) -> Measured { Measured(seconds: 0, processor: 0, missing: why) }
}

func timed(_ body: () throws -> Void) rethrows -> Measured {
  let clock = ContinuousClock()
  let baseline = peak_memory()
  let before = processorTime()
  let duration = try clock.measure(body)
  return Measured(
    seconds: Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18,
    processor: processorTime() - before, peak: peak_memory(), baseline: baseline)
}

/// The floors look at the clock themselves: what they do before and after is not theirs.
func floor(_ body: () -> Double) throws -> Measured {
  let before = processorTime()
  let seconds = body()
  guard seconds >= 0 else { throw Failure(message: "a floor failed") }
  return Measured(seconds: seconds, processor: processorTime() - before, peak: peak_memory())
}

/// Of this process and of those that it waited for.
private func processorTime() -> Double {
  var total = 0.0
  for who in [RUSAGE_SELF.rawValue, RUSAGE_CHILDREN.rawValue] {
    var usage = rusage()
    getrusage(__rusage_who_t(who), &usage)
    total +=
      Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
      * 1e-6
  }
  return total
}

struct Failure: Error, CustomStringConvertible {
  let message: String
  var description: String { message }
}

/// Runs a command to its end and gives back what it wrote. Its errors go where ours go.
func output(of command: String, _ arguments: [String]) throws -> Data {
  let process = Process()
  process.executableURL = URL(filePath: command)
  process.arguments = arguments
  let pipe = Pipe()
  process.standardOutput = pipe
  try process.run()
  let data = pipe.fileHandleForReading.readDataToEndOfFile()
  process.waitUntilExit()
  guard process.terminationReason == .exit, process.terminationStatus == 0 else {
    let how = process.terminationReason == .exit ? "ended with" : "was stopped by signal"
    throw Failure(message: "\((command as NSString).lastPathComponent) \(how) \(process.terminationStatus)")
  }
  return data
}
