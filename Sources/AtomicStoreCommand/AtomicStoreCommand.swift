import ArgumentParser
import AtomicStoreKit
import BuiltInStoreFormats
import Foundation

struct AtomicStoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore",
    abstract: "Convert, inspect, compare and edit atomic stores: XML, binary property list, CSV.",
    discussion: """
      atomicstore convert old.xml new.csvstore      # to CSV, nothing lost, the source untouched
      atomicstore inspect new.csvstore --json       # what is in it
      atomicstore diff old.xml new.csvstore         # 0 the same, 1 different, 2 trouble

      Exit codes: 0 yes, 1 no (differences), 2 trouble in diff, 64 usage, 65 bad data, 66 no such input,
      70 internal, 73 cannot create, 74 input or output, 77 permission, 130 and 143 stopped by a signal.
      """,
    version: "0.1.0",
    subcommands: [
      Formats.self, Inspect.self, Convert.self, Diff.self, Dump.self, Fetch.self, PredicateCommand.self, Metadata.self,
      Model.self, Conform.self, NewFormat.self,
    ])

  static func run() {
    Interrupt.watch()
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let error as ExitCode {
      Foundation.exit(error.rawValue)
    } catch let error as CommandFailure {
      Talk.error(error)
      Foundation.exit(error.exitCode)
    } catch {
      // Help, version and usage errors are the argument parser's to print: usage exits with 64.
      exit(withError: error)
    }
  }
}

/// Options that all subcommands have.
struct CommonOptions: ParsableArguments {
  @Flag(help: "Print JSON instead of text; errors too.") var json = false
  @Option(name: .customLong("plugin"), help: "A plug-in with store formats. May be repeated.") var plugins: [String] = []
}

/// A failure with the exit code that belongs to it.
struct CommandFailure: Error {
  var message: String
  var exitCode: Int32
  var json = false
  var details: JSONValue?

  init(_ message: String, exitCode: Int32, json: Bool = false, details: JSONValue? = nil) {
    self.message = message
    self.exitCode = exitCode
    self.json = json
    self.details = details
  }

  /// The failure that an error stands for.
  init(_ error: any Error, json: Bool) {
    self.json = json
    switch error {
    case let failure as CommandFailure:
      self = failure
      self.json = json
    case let error as PersistentStoreError:
      message = error.description
      exitCode = Self.exitCode(error.code)
      var fields: [(String, JSONValue)] = [
        ("code", .string(error.code.description)), ("message", .string(error.message)),
      ]
      if let file = error.location.file { fields.append(("file", .string(file))) }
      if let line = error.location.line { fields.append(("line", .integer(line))) }
      if let column = error.location.column { fields.append(("column", .integer(column))) }
      if let offset = error.location.offset { fields.append(("offset", .integer(offset))) }
      if let entity = error.location.entity { fields.append(("entity", .string(entity))) }
      if let reference = error.location.reference { fields.append(("reference", .string(reference))) }
      if let property = error.location.property { fields.append(("property", .string(property))) }
      details = .object(fields)
    case let error as StoreConverter.LossError:
      message = error.description + "\n  (--allow-loss converts all the same)"
      exitCode = 65
      details = .object([
        ("code", .string("loss")), ("message", .string("\(error.targetType) cannot carry all of it")),
        ("losses", .array(error.losses.map { $0.json })),
      ])
    case let error as StoreConverter.VerificationError:
      message = error.description
      exitCode = 70
      details = .object([
        ("code", .string("verification")), ("message", .string(error.description)),
        ("differences", .array(error.differences.map { $0.json })),
      ])
    case let error as ManagedObjectError:
      message = error.description
      // What was asked cannot be asked: of this entity, with this key.
      exitCode = [.invalidFetch, .undefinedKey].contains(error.code) ? 64 : 65
      var fields: [(String, JSONValue)] = [("code", .string(error.code.description)), ("message", .string(error.message))]
      if let entity = error.entityName { fields.append(("entity", .string(entity))) }
      if let key = error.key { fields.append(("property", .string(key))) }
      details = .object(fields)
    case let error as InvalidModelError:
      message = error.errors.map { "\($0)" }.joined(separator: "\n")
      exitCode = 65
    default:
      message = "\(error)"
      exitCode = 70
    }
  }

  static func exitCode(_ code: PersistentStoreError.Code) -> Int32 {
    switch code {
    case .notFound: 66
    case .permissionDenied, .readOnly: 77
    case .cannotCreate, .alreadyExists: 73
    case .inputOutput, .noSpace, .changedOnDisk: 74
    case .unknownStoreType, .invalidOption: 64
    case .internalInconsistency: 70
    case .cancelled: 130
    default: 65
    }
  }
}

/// Talk for people, on standard error; data goes to standard output.
enum Talk {
  static func say(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

  static func error(_ failure: CommandFailure) {
    if failure.json {
      var fields: [(String, JSONValue)] = [("exitCode", .integer(Int(failure.exitCode)))]
      fields.append(("error", failure.details ?? .object([("message", .string(failure.message))])))
      say(JSONValue.object(fields).text)
    } else {
      say("atomicstore: " + failure.message)
    }
  }

  /// Data, on standard output. A reader that has gone ends the command quietly.
  /// How many characters a line of standard output has; nil where it is no terminal.
  static var terminalWidth: Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  static func put(_ text: String) throws { try put(Data(text.utf8)) }

  static func put(_ data: Data) throws {
    do {
      try FileHandle.standardOutput.write(contentsOf: data)
    } catch {
      if errno == EPIPE { throw ExitCode(0) }
      throw CommandFailure("cannot write to standard output: \(error)", exitCode: 74)
    }
  }
}

extension ParsableCommand {
  /// Runs what may fail and gives the failure its exit code.
  func guarded(_ common: CommonOptions, _ body: () throws -> Void) throws {
    try guarded(json: common.json) {
      try Tool.load(common.plugins)
      try body()
    }
  }

  func guarded(json: Bool, _ body: () throws -> Void) throws {
    do {
      try body()
    } catch let code as ExitCode {
      throw code
    } catch {
      throw CommandFailure(error, json: json)
    }
  }
}
