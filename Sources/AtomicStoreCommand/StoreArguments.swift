import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import ModelFiles
import Synchronization

/// A store to read, as the command line names it.
struct SourceOptions: ParsableArguments {
  @Option(help: "The model: .xcdatamodeld, .xcdatamodel or its contents file. A store that describes itself needs none.")
  var model: String?
  @Option(help: "The type, where the content should not be asked.") var from: String?
  @Option(name: .customLong("read-option"), help: "An option of the format that is read, name=value. May be repeated.")
  var readOptions: [String] = []

  func loadModel() throws -> ManagedObjectModel? {
    guard let model else { return nil }
    let file = try ModelFile.read(at: model)
    for warning in file.warnings { Talk.say("atomicstore: \(model): \(warning)") }
    do {
      return try ManagedObjectModel(file.description)
    } catch {
      throw CommandFailure(
        "\(model): " + error.errors.map { "\($0)" }.joined(separator: "\n\(model): "), exitCode: 65)
    }
  }

  /// Opens a store for reading. The coordinator must be kept for as long as the store is.
  func open(_ path: String) throws -> (PersistentStoreCoordinator, PersistentStore) {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try loadModel(), registry: Tool.registry)
    let input = try StandardInput.path(for: path)
    defer { StandardInput.discard() }
    let store = try coordinator.addPersistentStore(
      type: from, at: input, options: try parseOptions(readOptions), isReadOnly: true)
    return (coordinator, store)
  }
}

/// `name=value` pairs.
func parseOptions(_ pairs: [String]) throws -> StoreOptions {
  var options: StoreOptions = [:]
  for pair in pairs {
    guard let equals = pair.firstIndex(of: "="), equals != pair.startIndex else {
      throw CommandFailure("'\(pair)' is not name=value", exitCode: 64)
    }
    let name = String(pair[..<equals])
    guard options[name] == nil else { throw CommandFailure("the option '\(name)' is given twice", exitCode: 64) }
    options[name] = String(pair[pair.index(after: equals)...])
  }
  return options
}

/// Standard input as a file: staged in the temporary folder, since a store is looked at more than once.
enum StandardInput {
  nonisolated(unsafe) private static var staged: String?  // One thread runs the command; signals end it elsewhere.

  static func path(for argument: String) throws -> String {
    guard argument == "-" else { return argument }
    if let staged { return staged }
    let path = temporaryPath("stdin")
    Interrupt.remember(path)
    guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
      let file = FileHandle(forWritingAtPath: path)
    else { throw CommandFailure("cannot stage standard input in \(path)", exitCode: 73) }
    do {
      while let piece = try FileHandle.standardInput.read(upToCount: 1 << 20), !piece.isEmpty {
        try file.write(contentsOf: piece)
      }
      try file.close()
    } catch {
      unlink(path)
      throw CommandFailure("cannot stage standard input: \(error)", exitCode: 74)
    }
    staged = path
    return path
  }

  static func discard() {
    if let staged { unlink(staged) }
    staged = nil
  }
}

func temporaryPath(_ name: String) -> String {
  var folder = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
  if folder.hasSuffix("/") { folder.removeLast() }
  return "\(folder)/atomicstore-\(getpid())-\(UUID().uuidString)-\(name)"
}

/// A signal leaves no partial output: what was staged is removed, then the command ends with 128 and the signal.
enum Interrupt {
  nonisolated(unsafe) private static var sources: [any DispatchSourceSignal] = []  // Written once, before any thread.
  private static let files = Mutex<[String]>([])

  static func remember(_ path: String) { files.withLock { $0.append(path) } }

  static func watch() {
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGINT, SIGTERM, SIGHUP] {
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        StagedStore.discardAllPending()
        for path in files.withLock({ $0 }) { unlink(path) }
        _exit(128 + number)
      }
      source.resume()
      sources.append(source)
    }
  }
}
