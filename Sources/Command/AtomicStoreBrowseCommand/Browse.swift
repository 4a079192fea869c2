import ArgumentParser
import AtomicStoreCommand
import AtomicStoreSPI
import CommandSupport
import FlyingSocks
import FoundationEssentials
import Glibc
import StoreBrowsing
import StoreReports

struct Browse: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore browse",
    abstract: "Look at a whole store in a browser: entities, model, objects, problems, and any predicate.",
    discussion: """
        atomicstore browse Company.xml
        atomicstore browse Library.sqlite --port 8080
        atomicstore browse --diff old.xml new.xml

      A page on this machine, at an address that only this program prints: entities with counts and distributions, the
      model as a diagram, tables of objects with a predicate and a column to sort by, every object with its relationships
      as links, search, metadata, and what 'check' finds. The store is read once, whatever is wrong with its objects,
      and is not changed. The program serves until it is interrupted (Ctrl-C).

      With --diff it shows what differs between two stores, as 'report' does with two, and all of it.
      With --diff, damaged objects are an error.
      """,
    version: StorePlugin.kitVersion)
  @Argument(help: "The store; - for standard input.") var store: String
  @Argument(help: "With --diff, a store to compare it with: what the first has become.") var other: String?
  @Flag(help: "Show what differs between two stores.") var diff = false
  @OptionGroup var keys: ObjectKeyOption
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @Option(help: "The port on 127.0.0.1; 0 for one that is free.") var port: UInt16 = 0
  @Option(
    name: .customLong("max-findings"),
    help: "The maximum number of problems of each kind on the page; not with --diff. Default: 200.")
  var maximum: Int?
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard maximum ?? 0 >= 0 else { throw CommandFailure("--max-findings is not negative", exitCode: 64) }
      guard diff || other == nil else { throw CommandFailure("add --diff to compare two stores", exitCode: 64) }
      guard !diff || other != nil else { throw CommandFailure("--diff needs two stores", exitCode: 64) }
      guard diff || !keys.isGiven else { throw CommandFailure("--key is for --diff", exitCode: 64) }
      guard !diff || maximum == nil else {
        throw CommandFailure("--max-findings cannot be used with --diff", exitCode: 64)
      }
      let server = try server()
      let json = common.json
      try Self.waiting { [port] in
        do {
          try await server.run(port: port) { address in
            try Diagnostics.put(json ? JSONValue.object([("url", .string(address))]).line + "\n" : address + "\n")
            if isatty(STDERR_FILENO) == 1 { Diagnostics.say("open this address in a browser; Ctrl-C ends it") }
          }
        } catch let error as CommandFailure {
          throw error
        } catch {
          throw CommandFailure("127.0.0.1:\(port) cannot be served: \(Self.reason(error))", exitCode: 71)
        }
      }
    }
  }

  private func server() throws -> BrowseServer {
    if let other {
      return BrowseServer(page: try ComparisonReport.read(store, other, source, keys).report.wholePage())
    }
    let (coordinator, report) = try StoreReport.read(store, source, maximumFindingCount: maximum ?? 200)
    return BrowseServer(try StoreBrowser(coordinator, report: report))
  }

  private static func reason(_ error: any Error) -> String {
    guard case SocketError.failed(_, errno: let number, _) = error else { return "\(error)" }
    return number == EADDRINUSE
      ? "another program uses the port; --port 0 takes one that is free" : String(cString: strerror(number))
  }

  /// Runs what is asynchronous, on other threads, and waits for its end.
  private static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
    let end = ServingEnd()
    Task.detached {
      do {
        try await body()
        end.set(.success(()))
      } catch { end.set(.failure(error)) }
    }
    try end.wait()
  }
}
