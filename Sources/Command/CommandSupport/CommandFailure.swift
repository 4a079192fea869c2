internal import ArgumentParser
package import AtomicStoreSPI
internal import FoundationEssentials
internal import Glibc

/// An error with its exit code and its JSON representation.
package protocol CommandError: Error {
  var failure: CommandFailure { get }
}

/// A failure with its exit code.
package struct CommandFailure: Error {
  package var message: String
  package var exitCode: Int32
  package var json = false
  package var details: JSONValue?
  /// Whether a store type, or the type of some content, is unknown: it may be a type of a plug-in that could not be
  /// loaded.
  package var isUnknownType = false

  package init(_ message: String, exitCode: Int32, json: Bool = false, details: JSONValue? = nil) {
    self.message = message
    self.exitCode = exitCode
    self.json = json
    self.details = details
  }

  /// Converts an error to a failure.
  package init(_ error: any Error, json: Bool) {
    self.json = json
    switch error {
    case let failure as CommandFailure:
      self = failure
      self.json = json
    case let error as PersistentStoreError:
      var error = error
      // The choices have other names here than in the library.
      if let remedy = error.remedy {
        error.message += "; " + remedy.flags
        error.remedy = nil
      }
      if error.code == .unrecognizedFormat { error.message += error.location.file.map(Self.whatIs) ?? "" }
      error.message = Arguments.asGiven(error.message)
      error.location.file = error.location.file.map(Arguments.asGiven)
      message = error.description
      isUnknownType = error.code == .unknownStoreType || error.code == .unrecognizedFormat
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
    case let error as any CommandError:
      self = error.failure
      self.json = json
    case let error as CocoaError:
      message = Self.text(of: error)
      exitCode = Self.exitCode(error)
    default:
      message = "\(error)"
      exitCode = 70
    }
  }

  /// What a path is that is not a store: a model, or a directory that perhaps has stores in it.
  private static func whatIs(_ path: String) -> String {
    if ["xcdatamodel", "xcdatamodeld", "mom", "momd"].contains(PathParts.fileExtension(of: path)) {
      return "; it is a model: 'model show' prints it, and --model reads a store with it"
    }
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted().filter {
      !InstalledFormats.registry.storeTypes(forFileExtension: PathParts.fileExtension(of: $0)).isEmpty
    }
    guard !names.isEmpty else { return "" }
    let start = path.hasSuffix("/") ? path : path + "/"
    return "; this directory contains " + names.prefix(10).map { start + $0 }.joined(separator: ", ")
      + (names.count > 10 ? " and \(names.count - 10) more" : "")
  }

  /// What Foundation's error about a file says, in the form of the kit's errors.
  private static func text(of error: CocoaError) -> String {
    let reason = (error.underlying as? POSIXError).map { String(cString: strerror($0.code.rawValue)) }
    let path = error.filePath ?? error.url?.path(percentEncoded: false)
    return (path.map { $0 + ": " } ?? "") + (reason ?? "the file cannot be read or written (\(error.code.rawValue))")
  }

  private static func exitCode(_ error: CocoaError) -> Int32 {
    switch error.code {
    case .fileNoSuchFile, .fileReadNoSuchFile: 66
    case .fileReadNoPermission, .fileWriteNoPermission, .fileWriteVolumeReadOnly: 77
    case .fileWriteFileExists: 73
    default: 74
    }
  }

  /// Runs a comparison, which ends with 0 if nothing differs and with 1 if something does. As 1 is taken, every error
  /// ends with 2.
  ///
  /// - Parameter body: Returns whether something differs.
  package static func comparing(_ common: CommonOptions, _ body: () throws -> Bool) throws {
    Diagnostics.use(common.color)
    do {
      try InstalledFormats.load(common.plugins, searches: !common.ignoresInstalledPlugins)
      if try body() { throw ExitCode(1) }
    } catch let code as ExitCode {
      throw code
    } catch {
      var failure = CommandFailure(error, json: common.json)
      failure.exitCode = 2
      throw failure
    }
  }

  /// What an error says that has nothing more to say than its message.
  package static func word(_ exitCode: Int32) -> String {
    switch exitCode {
    case 1: "no"
    case 2: "trouble"
    case 64: "usage"
    case 65: "badData"
    case 66: "notFound"
    case 69: "unavailable"
    case 73: "cannotCreate"
    case 74: "inputOutput"
    case 77: "permissionDenied"
    default: "internal"
    }
  }

  package static func exitCode(_ code: PersistentStoreError.Code) -> Int32 {
    switch code {
    case .notFound: 66
    case .permissionDenied, .readOnly, .notAuthorized: 77
    case .cannotCreate, .alreadyExists: 73
    case .inputOutput, .noSpace, .changedOnDisk, .locked, .notRolledBack, .retry: 74
    case .unavailable, .timedOut: 69
    case .unknownStoreType, .invalidOption: 64
    case .internalInconsistency: 70
    case .cancelled: 130
    default: 65
    }
  }
}

extension PersistentStoreError.Remedy {
  /// What to type, and what it does.
  package var flags: String {
    func written(_ flag: String) -> String {
      options.map { $0 == "ignoreVersionHashes=yes" ? "--ignore-version-hashes" : "\(flag) \($0)" }
        .joined(separator: " or ") + " " + effect
    }
    switch choice {
    case .readOption: return written("--read-option")
    case .writeOption: return written("--write-option")
    case .replacement: return "--force replaces it"
    case .newStore: return "-o NEW writes the result to a store of that name"
    case .storeType: return "--to TYPE names one of them"
    case .relatedObjects: return "--related closure includes it, --related nullify removes the reference"
    }
  }
}
