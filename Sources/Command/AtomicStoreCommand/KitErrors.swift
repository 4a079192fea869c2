package import AtomicStoreKit
import AtomicStoreSPI
package import CommandSupport
import StoreCoordination

// The errors of the kit, with their exit codes.

extension StoreConverter.LossError: CommandError {
  package var failure: CommandFailure {
    let details = JSONValue.object([
      ("code", .string("loss")), ("message", .string(summary)),
      ("losses", .array(losses.map { $0.json })),
    ])
    return CommandFailure(description + "\n  (--allow-loss converts it anyway)", exitCode: 65, details: details)
  }
}

extension StoreConverter.VerificationError: CommandError {
  package var failure: CommandFailure {
    let details = JSONValue.object([
      ("code", .string("verification")), ("message", .string(description)), ("type", .string(targetType)),
      ("origin", InstalledFormats.origin(of: targetType).map { .string($0) } ?? .null),
      ("differences", .array(differences.map { $0.json })),
    ])
    let origin = InstalledFormats.origin(of: targetType).map { "\n  (the format comes from \($0))" } ?? ""
    return CommandFailure(description + origin, exitCode: 65, details: details)
  }
}

extension ManagedObjectError: CommandError {
  package var failure: CommandFailure {
    var fields: [(String, JSONValue)] = [("code", .string(code.description)), ("message", .string(message))]
    if let entityName { fields.append(("entity", .string(entityName))) }
    if let reference = objectID?.reference { fields.append(("reference", .string(reference.description))) }
    if let key { fields.append(("property", .string(key))) }
    // Why a store could not be written or asked is what the store's error says, as where it is replaced whole.
    if isOfStore, let underlying, case .object(let members)? = CommandFailure(underlying, json: true).details {
      fields = members
    }
    if !detailedErrors.isEmpty {
      fields.append(("errors", .array(detailedErrors.map { $0.failure.errorJSON })))
    }
    var text = description
    if let remedy = (underlying as? PersistentStoreError)?.remedy {
      // The choices have other names here than in the library.
      text = text.replacingBytes(remedy.description, with: remedy.flags)
      if remedy.description.isEmpty { text += "; " + remedy.flags }
    }
    return CommandFailure(
      Arguments.asGiven(text) + (code == .stepLimitExceeded ? "\n  (--step-limit raises it)" : ""), exitCode: exitCode,
      details: .object(fields))
  }

  /// The failure with the store that it is about, where that is known.
  func failure(in store: String) -> CommandFailure {
    var failure = failure
    failure.details = failure.details?.naming(file: store)
    return failure
  }

  private var isOfStore: Bool { [.persistentStoreSave, .persistentStoreOperation].contains(code) }

  /// Whether another program saved the store, or changed the same objects, since they were read.
  var isOfAnotherSave: Bool {
    if code == .managedObjectMerge { return true }
    guard isOfStore else { return false }
    return underlying.map { RepeatedSave.isConflict($0) } ?? (code == .persistentStoreSave)
  }

  private var exitCode: Int32 {
    if isOfStore, let error = underlying as? PersistentStoreError {
      return CommandFailure.exitCode(error.code)
    }
    // As where a store is replaced whole.
    if isOfAnotherSave { return CommandFailure.exitCode(.changedOnDisk) }
    // The request is invalid for this entity or key.
    return [.invalidFetch, .undefinedKey].contains(code) ? 64 : 65
  }
}

extension JSONValue {
  /// An error, and those that it consists of, with a file where none is named.
  fileprivate func naming(file: String) -> JSONValue {
    guard case .object(var members) = self else { return self }
    for index in members.indices {
      guard members[index].0 == "errors", case .array(let errors) = members[index].1 else { continue }
      members[index].1 = .array(errors.map { $0.naming(file: file) })
    }
    if self["file"] == nil {
      members.insert(("file", .string(file)), at: members.firstIndex { $0.0 == "message" }.map { $0 + 1 } ?? 0)
    }
    return .object(members)
  }
}

extension RepeatedSave {
  /// Calls a body that changes a store in place; again where another program saved in between.
  ///
  /// - Parameter isInPlace: False for a body that makes another store, which is called once.
  static func changing<Result>(isInPlace: Bool = true, _ body: () throws -> Result) throws -> Result {
    try run(where: { isInPlace && (isConflict($0) || ($0 as? ManagedObjectError)?.isOfAnotherSave ?? false) }, body)
  }
}

extension PredicateFormatError: CommandError {
  package var failure: CommandFailure { CommandFailure(self, of: nil) }
}

extension CommandFailure {
  /// A predicate, or an expression, that cannot be parsed.
  ///
  /// - Parameter option: The option that specified it.
  init(_ error: PredicateFormatError, of option: String?) {
    let details = JSONValue.object(
      [("code", .string("predicate")), ("message", .string(error.message))]
        + (option.map { [("option", .string($0))] } ?? []) + [
          ("text", .string(error.format)), ("column", .integer(error.column)),
          ("suggestion", error.suggestion.map { .string($0) } ?? .null),
        ])
    self.init((option.map { $0 + ": " } ?? "") + error.description, exitCode: 64, details: details)
  }
}
