import AtomicStoreKit
import BuiltInStoreFormats

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
      // The type may be one of a plug-in that could not be loaded.
      if error.code == .unknownStoreType { message += Tool.refusals.map { "\n  left out: \($0.from): \($0.reason)" }.joined() }
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
      if error.code == .stepLimitExceeded { message += "\n  (--step-limit raises it)" }
      // What was asked cannot be asked: of this entity, with this key.
      exitCode = [.invalidFetch, .undefinedKey].contains(error.code) ? 64 : 65
      var fields: [(String, JSONValue)] = [("code", .string(error.code.description)), ("message", .string(error.message))]
      if let entity = error.entityName { fields.append(("entity", .string(entity))) }
      if let key = error.key { fields.append(("property", .string(key))) }
      details = .object(fields)
    case let error as InvalidModelError:
      message = error.errors.map { "\($0)" }.joined(separator: "\n")
      exitCode = 65
    case let error as PredicateFormatError:
      self = CommandFailure(error, of: nil)
      self.json = json
    default:
      message = "\(error)"
      exitCode = 70
    }
  }

  /// A predicate, or an expression, that is none.
  ///
  /// - Parameter option: The option that it was given with.
  init(_ error: PredicateFormatError, of option: String?) {
    message = (option.map { $0 + ": " } ?? "") + error.description
    exitCode = 64
    details = .object(
      [("code", .string("predicate")), ("message", .string(error.message))] + (option.map { [("option", .string($0))] } ?? []) + [
        ("text", .string(error.format)), ("column", .integer(error.column)),
        ("suggestion", error.suggestion.map { .string($0) } ?? .null),
      ])
  }

  /// What an error says that has nothing more to say than its message.
  static func word(_ exitCode: Int32) -> String {
    switch exitCode {
    case 1: "no"
    case 2: "trouble"
    case 64: "usage"
    case 65: "badData"
    case 66: "notFound"
    case 73: "cannotCreate"
    case 74: "inputOutput"
    case 77: "permissionDenied"
    default: "internal"
    }
  }

  static func exitCode(_ code: PersistentStoreError.Code) -> Int32 {
    switch code {
    case .notFound: 66
    case .permissionDenied, .readOnly: 77
    case .cannotCreate, .alreadyExists: 73
    case .inputOutput, .noSpace, .changedOnDisk, .locked, .notRolledBack: 74
    case .unknownStoreType, .invalidOption: 64
    case .internalInconsistency: 70
    case .cancelled: 130
    default: 65
    }
  }
}
