package import ArgumentParser
import FoundationEssentials

/// The options of commands that can treat a list of stores in one process.
package struct FleetOptions: ParsableArguments {
  @Option(
    name: .customLong("files-from"),
    help:
      "A file with the paths of the stores, one on each line, or separated by NUL characters as by 'find -print0'; - for standard input. Prints a line of JSON for each store."
  )
  package var filesFrom: String?
  @Option(
    help: "With --files-from: the number of stores that are treated at the same time. Default: one for each core.")
  package var jobs: Int?

  package init() {}

  /// Whether there is a list of stores.
  package var isUsed: Bool { filesFrom != nil }

  /// The greatest number of workers.
  private static let maximumJobs = 256

  /// Returns the path of the only store.
  ///
  /// - Throws: A usage error if there is none, or an option that is for a list.
  package func onlyStore(_ path: String?, named name: String = "store") throws -> String {
    guard jobs == nil else { throw CommandFailure("--jobs needs --files-from", exitCode: 64) }
    guard let path else {
      throw CommandFailure("missing argument: <\(name)>, or --files-from with a list of stores", exitCode: 64)
    }
    return path
  }

  /// Reads the list.
  ///
  /// - Throws: A usage error if a store is specified as well, or the number of workers is invalid; the error of
  ///   reading.
  package func list(besides path: String?) throws -> StoreList {
    if let path {
      throw CommandFailure("the stores are those of --files-from; '\(path)' is one store too many", exitCode: 64)
    }
    _ = try workerCount()
    return try StoreList(readFrom: filesFrom ?? "-")
  }

  /// The number of workers.
  package func workerCount() throws -> Int {
    guard let jobs else { return max(1, min(ProcessInfo.processInfo.activeProcessorCount, Self.maximumJobs)) }
    guard (1...Self.maximumJobs).contains(jobs) else {
      throw CommandFailure("--jobs must be 1 to \(Self.maximumJobs), not \(jobs)", exitCode: 64)
    }
    return jobs
  }
}
