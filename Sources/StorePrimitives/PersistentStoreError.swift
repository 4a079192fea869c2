/// What went wrong at the store boundary, for the person who holds the file.
///
/// Match on ``code``; show ``description``, which names the place first.
public struct PersistentStoreError: Error, Sendable {
  /// The kind of failure, to match on.
  public var code: Code
  /// One sentence that names the thing.
  public var message: String
  /// Where it is, as far as that is known.
  public var location: StoreLocation
  /// The error below this one, when there is one.
  public var underlying: (any Error)?

  /// Creates an error.
  public init(
    _ code: Code, _ message: String, at location: StoreLocation = StoreLocation(), underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.location = location
    self.underlying = underlying
  }

  /// The same error with the gaps of its location filled from `outer`: what the inner code did not know.
  public func located(_ outer: StoreLocation) -> PersistentStoreError {
    var copy = self
    copy.location = location.filled(from: outer)
    return copy
  }
}

extension PersistentStoreError {
  /// A kind of failure. New kinds may be added: keep a default branch.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    private enum Kind: String {
      case malformed, limitExceeded, unsupportedVersion, foreignFormat, ambiguousFormat, unrecognizedFormat
      case unknownStoreType, storeTypeTaken, storeTypeMismatch, notFound, permissionDenied, cannotCreate
      case alreadyExists, inputOutput, noSpace, danglingReference, duplicateReference, invalidValue
      case unsupportedByFormat, modelMismatch, invalidModel, modelNeeded, readOnly, invalidOption
      case storeAlreadyAdded, storeNotAdded, changedOnDisk, unsupportedFileKind, cancelled, internalInconsistency
      case missingObject, inverseMismatch, notSupported, locked, notRolledBack
    }
    private let kind: Kind
    public var description: String { kind.rawValue }

    /// The bytes are not what the format's grammar asks for.
    public static let malformed = Code(kind: .malformed)
    /// A size, depth or count is beyond the stated bound.
    public static let limitExceeded = Code(kind: .limitExceeded)
    /// Written by a newer version of the format than this one reads.
    public static let unsupportedVersion = Code(kind: .unsupportedVersion)
    /// A store, but of another type than was asked for.
    public static let foreignFormat = Code(kind: .foreignFormat)
    /// Two or more registered types claim the content.
    public static let ambiguousFormat = Code(kind: .ambiguousFormat)
    /// No registered type claims the content.
    public static let unrecognizedFormat = Code(kind: .unrecognizedFormat)
    /// A type name that nobody registered.
    public static let unknownStoreType = Code(kind: .unknownStoreType)
    /// A type name that another format already holds.
    public static let storeTypeTaken = Code(kind: .storeTypeTaken)
    /// The metadata names another type than the store's.
    public static let storeTypeMismatch = Code(kind: .storeTypeMismatch)
    /// Nothing lies at the URL.
    public static let notFound = Code(kind: .notFound)
    /// The system refuses access.
    public static let permissionDenied = Code(kind: .permissionDenied)
    /// The file or folder cannot be made.
    public static let cannotCreate = Code(kind: .cannotCreate)
    /// Something lies where the result should go.
    public static let alreadyExists = Code(kind: .alreadyExists)
    /// Reading or writing failed in the system.
    public static let inputOutput = Code(kind: .inputOutput)
    /// The disk or quota is full.
    public static let noSpace = Code(kind: .noSpace)
    /// A relationship names an object that is not there.
    public static let danglingReference = Code(kind: .danglingReference)
    /// Two objects of one hierarchy carry the same reference object.
    public static let duplicateReference = Code(kind: .duplicateReference)
    /// A value that its attribute cannot hold.
    public static let invalidValue = Code(kind: .invalidValue)
    /// A value or property that the format declares it cannot carry.
    public static let unsupportedByFormat = Code(kind: .unsupportedByFormat)
    /// The store was written with another model.
    public static let modelMismatch = Code(kind: .modelMismatch)
    /// The model contradicts itself or its file cannot be read.
    public static let invalidModel = Code(kind: .invalidModel)
    /// The store does not describe itself, and no model was given.
    public static let modelNeeded = Code(kind: .modelNeeded)
    /// The store was opened read-only.
    public static let readOnly = Code(kind: .readOnly)
    /// An option that the format does not have, or a value that the option does not take.
    public static let invalidOption = Code(kind: .invalidOption)
    /// The coordinator already holds this URL or this store's UUID.
    public static let storeAlreadyAdded = Code(kind: .storeAlreadyAdded)
    /// The coordinator does not hold this store.
    public static let storeNotAdded = Code(kind: .storeNotAdded)
    /// The file is no longer the one that was loaded.
    public static let changedOnDisk = Code(kind: .changedOnDisk)
    /// A device, socket or other thing that no store can be.
    public static let unsupportedFileKind = Code(kind: .unsupportedFileKind)
    /// The caller asked to stop.
    public static let cancelled = Code(kind: .cancelled)
    /// A format broke a promise of the SPI.
    public static let internalInconsistency = Code(kind: .internalInconsistency)
    /// An object that the store does not hold.
    public static let missingObject = Code(kind: .missingObject)
    /// The two ends of a relationship contradict each other.
    public static let inverseMismatch = Code(kind: .inverseMismatch)
    /// Recognised, and not read or written by this version.
    public static let notSupported = Code(kind: .notSupported)
    /// Another program is saving the store and does not end. The message names the lock file.
    public static let locked = Code(kind: .locked)
    /// A save failed, and what it had replaced could not be put back. The message names where the new version and the
    /// old one are.
    public static let notRolledBack = Code(kind: .notRolledBack)
  }
}

extension PersistentStoreError: CustomStringConvertible {
  public var description: String {
    var text = ""
    let place = location.description
    if !place.isEmpty { text += place + ": " }
    text += message
    if let underlying { text += " (\(underlying))" }
    return text
  }
}

/// A place in a store: as much of it as is known.
public struct StoreLocation: Sendable, Equatable, CustomStringConvertible {
  /// The file's path, or its name within a folder store.
  public var file: String?
  /// 1-based.
  public var line: Int?
  /// 1-based, in bytes of the line.
  public var column: Int?
  /// 0-based, in bytes of the file.
  public var offset: Int?
  /// The name of the entity.
  public var entity: String?
  /// The reference object's text.
  public var reference: String?
  /// The name of the property.
  public var property: String?

  /// Creates a location of the parts that are known.
  public init(
    file: String? = nil, line: Int? = nil, column: Int? = nil, offset: Int? = nil, entity: String? = nil,
    reference: String? = nil, property: String? = nil
  ) {
    self.file = file
    self.line = line
    self.column = column
    self.offset = offset
    self.entity = entity
    self.reference = reference
    self.property = property
  }

  /// This location, with what it lacks taken from `outer`.
  public func filled(from outer: StoreLocation) -> StoreLocation {
    StoreLocation(
      file: file ?? outer.file, line: line ?? outer.line, column: column ?? outer.column,
      offset: offset ?? outer.offset, entity: entity ?? outer.entity, reference: reference ?? outer.reference,
      property: property ?? outer.property)
  }

  /// `Employee.csv:12:4 (Employee/7.badge)`, `store.plist, byte 96`, or the empty string.
  public var description: String {
    var place = file ?? ""
    if let line {
      place += place.isEmpty ? "line \(line)" : ":\(line)"
      if let column { place += place.hasPrefix("line") ? ", column \(column)" : ":\(column)" }
    } else if let offset {
      place += place.isEmpty ? "byte \(offset)" : ", byte \(offset)"
    }
    var object = entity ?? ""
    if let reference { object += "/\(reference)" }
    if let property { object += object.isEmpty ? property : ".\(property)" }
    if object.isEmpty { return place }
    return place.isEmpty ? object : "\(place) (\(object))"
  }
}
