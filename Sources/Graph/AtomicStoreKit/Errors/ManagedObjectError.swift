public import AtomicStoreSPI

/// An error of the object graph, with Core Data's error codes by name.
///
/// ```swift
/// do {
///   try context.save()
/// } catch {
///   for failure in error.detailedErrors.isEmpty ? [error] : error.detailedErrors {
///     print(failure.key ?? "", failure.message)
///   }
/// }
/// ```
///
/// All failures of a validation are in one flat list, ``detailedErrors``: each with object, property, value and rule.
public struct ManagedObjectError: Error, Sendable {
  /// The kind of failure, for a program.
  ///
  /// ```swift
  /// if failure.code == .managedObjectValidation { print(failure) }
  /// ```
  public var code: Code
  /// One sentence that names the object, property or store concerned.
  public var message: String
  /// The object concerned.
  public var objectID: ManagedObjectID?
  /// The entity of the object concerned.
  public var entityName: String?
  /// The property concerned (`NSValidationKeyErrorKey`).
  public var key: String?
  /// The refused value, as text (`NSValidationValueErrorKey`).
  public var value: String?
  /// The rule that the value breaks, as the model states it (`NSValidationPredicateErrorKey`).
  public var rule: String?
  /// All failures if there are several (`NSDetailedErrorsKey`); never nested.
  public var detailedErrors: [ManagedObjectError]
  /// The objects that changed on both sides, for ``Code/managedObjectMerge``.
  public var conflicts: [MergeConflict]
  /// Why an object is unavailable, for ``Code/managedObjectReferentialIntegrity``.
  public var reason: UnavailableReason?
  /// The underlying error: for a failed save, a `PersistentStoreError`.
  public var underlying: (any Error)?

  /// Creates an error. Throw it from your own validation hooks.
  public init(
    _ code: Code, _ message: String, objectID: ManagedObjectID? = nil, entityName: String? = nil, key: String? = nil,
    value: String? = nil, rule: String? = nil, detailedErrors: [ManagedObjectError] = [],
    conflicts: [MergeConflict] = [], reason: UnavailableReason? = nil, underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.objectID = objectID
    self.entityName = entityName
    self.key = key
    self.value = value
    self.rule = rule
    self.detailedErrors = detailedErrors
    self.conflicts = conflicts
    self.reason = reason
    self.underlying = underlying
  }

  /// Each failure separately: the detailed errors, or this error if there are none.
  public var allErrors: [ManagedObjectError] { detailedErrors.isEmpty ? [self] : detailedErrors }

  static func combining(_ errors: [ManagedObjectError]) -> ManagedObjectError {
    let flat = errors.flatMap(\.allErrors)
    if flat.count == 1 { return flat[0] }
    return ManagedObjectError(
      .validationMultipleErrors, "\(flat.count) validation errors", detailedErrors: flat)
  }
}

extension ManagedObjectError {
  /// A kind of failure. ``rawValue`` is the number in Apple's `CoreDataErrors.h`, or below 0 for kinds that Core Data
  /// does not have.
  public struct Code: Hashable, Sendable, RawRepresentable, CustomStringConvertible {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// A validation failure that no other code describes.
    public static let managedObjectValidation = Code(rawValue: 1550)
    /// Several failures: see ``ManagedObjectError/detailedErrors``.
    public static let validationMultipleErrors = Code(rawValue: 1560)
    /// A property that is not optional has no value.
    public static let validationMissingMandatoryProperty = Code(rawValue: 1570)
    /// A to-many has fewer objects than its minimum count.
    public static let validationRelationshipLacksMinimumCount = Code(rawValue: 1580)
    /// A to-many has more objects than its maximum count.
    public static let validationRelationshipExceedsMaximumCount = Code(rawValue: 1590)
    /// A delete that a relationship with the rule Deny forbids.
    public static let validationRelationshipDeniedDelete = Code(rawValue: 1600)
    /// A number is above the attribute's maximum.
    public static let validationNumberTooLarge = Code(rawValue: 1610)
    /// A number is below the attribute's minimum.
    public static let validationNumberTooSmall = Code(rawValue: 1620)
    /// A date is after the attribute's maximum.
    public static let validationDateTooLate = Code(rawValue: 1630)
    /// A date is before the attribute's minimum.
    public static let validationDateTooSoon = Code(rawValue: 1640)
    /// A string has more Unicode scalars than the attribute's maximum length.
    public static let validationStringTooLong = Code(rawValue: 1660)
    /// A string has fewer Unicode scalars than the attribute's minimum length.
    public static let validationStringTooShort = Code(rawValue: 1670)
    /// A string does not match the attribute's regular expression, or the expression is not supported.
    public static let validationStringPatternMatching = Code(rawValue: 1680)
    /// A URI of a temporary object, which cannot be resolved later.
    public static let validationInvalidURI = Code(rawValue: 1690)
    /// An object that does not exist, or no longer exists: see ``ManagedObjectError/reason``.
    public static let managedObjectReferentialIntegrity = Code(rawValue: 133000)
    /// A relationship to an object of another store.
    public static let managedObjectExternalRelationship = Code(rawValue: 133010)
    /// Objects that were changed both in the context and in the store: see ``ManagedObjectError/conflicts``.
    public static let managedObjectMerge = Code(rawValue: 133020)
    /// Objects with values that a uniqueness constraint forbids, and that the merge policy does not merge.
    public static let managedObjectConstraintMerge = Code(rawValue: 133021)
    /// The store could not be written. Nothing was changed, unless the underlying error is `.notRolledBack`.
    public static let persistentStoreSave = Code(rawValue: 134030)
    /// An operation that is not possible in the current state, such as a save inside a hook.
    public static let persistentStoreOperation = Code(rawValue: 134070)
    /// A value that the property cannot hold.
    public static let invalidValue = Code(rawValue: -1)
    /// A key that the entity does not have.
    public static let undefinedKey = Code(rawValue: -2)
    /// No store accepts the object, or several could: see ``ManagedObjectContext/assign(_:to:)``.
    public static let storeAssignment = Code(rawValue: -3)
    /// Objects kept changing while they were prepared for a save.
    public static let endlessChanges = Code(rawValue: -4)
    /// A fetch that cannot be executed.
    public static let invalidFetch = Code(rawValue: -5)
    /// A predicate, sort key or column that needs more steps than ``FetchRequest/stepLimit`` allows.
    public static let stepLimitExceeded = Code(rawValue: -6)
    /// A context or an object was used on a thread other than the one of its ``ThreadCheck``. This error is only
    /// reported to the check; it is not thrown.
    public static let wrongThread = Code(rawValue: -7)

    public var description: String {
      switch self {
      case .managedObjectValidation: "managedObjectValidation"
      case .validationMultipleErrors: "validationMultipleErrors"
      case .validationMissingMandatoryProperty: "validationMissingMandatoryProperty"
      case .validationRelationshipLacksMinimumCount: "validationRelationshipLacksMinimumCount"
      case .validationRelationshipExceedsMaximumCount: "validationRelationshipExceedsMaximumCount"
      case .validationRelationshipDeniedDelete: "validationRelationshipDeniedDelete"
      case .validationNumberTooLarge: "validationNumberTooLarge"
      case .validationNumberTooSmall: "validationNumberTooSmall"
      case .validationDateTooLate: "validationDateTooLate"
      case .validationDateTooSoon: "validationDateTooSoon"
      case .validationStringTooLong: "validationStringTooLong"
      case .validationStringTooShort: "validationStringTooShort"
      case .validationStringPatternMatching: "validationStringPatternMatching"
      case .validationInvalidURI: "validationInvalidURI"
      case .managedObjectReferentialIntegrity: "managedObjectReferentialIntegrity"
      case .managedObjectExternalRelationship: "managedObjectExternalRelationship"
      case .managedObjectMerge: "managedObjectMerge"
      case .managedObjectConstraintMerge: "managedObjectConstraintMerge"
      case .persistentStoreSave: "persistentStoreSave"
      case .persistentStoreOperation: "persistentStoreOperation"
      case .invalidValue: "invalidValue"
      case .undefinedKey: "undefinedKey"
      case .storeAssignment: "storeAssignment"
      case .endlessChanges: "endlessChanges"
      case .invalidFetch: "invalidFetch"
      case .stepLimitExceeded: "stepLimitExceeded"
      case .wrongThread: "wrongThread"
      default: "\(rawValue)"
      }
    }
  }

  /// Why an object is unavailable.
  public enum UnavailableReason: Sendable, Hashable {
    /// It was deleted in this context, and the deletion was saved.
    case deletedHere
    /// The store does not have the object: it was deleted elsewhere, or never existed.
    case notInStore
    /// Its store was removed from the coordinator, or was never added.
    case storeRemoved
    /// It had the unique values of another object and was merged into that one: see ``MergePolicy``.
    case merged
    /// It was inserted, and the insertion was undone before it was saved.
    case neverSaved
    /// Its context was reset.
    case contextReset
    /// Its context no longer exists.
    case contextGone

    var text: String {
      switch self {
      case .deletedHere: "was deleted"
      case .notInStore: "is not in its store"
      case .storeRemoved: "is in a store that is not open"
      case .merged: "was merged into another object with the same unique values"
      case .neverSaved: "was never saved; its insertion was undone"
      case .contextReset: "belongs to a context that was reset"
      case .contextGone: "was used after its context was released"
      }
    }
  }
}

extension ManagedObjectError: CustomStringConvertible {
  public var description: String {
    var text = message
    if let underlying { text += ": \(underlying)" }
    for error in detailedErrors { text += "\n  \(error)" }
    for conflict in conflicts { text += "\n  \(conflict)" }
    return text
  }
}
