/// An error at the store boundary, with the location in the file.
///
/// ```swift
/// do {
///   try coordinator.addPersistentStore(at: "library.xml")
/// } catch where error.code == .modelMismatch {
///   print("another version of the model: \(error)")
/// }
/// ```
///
/// Match on ``code``; show ``description``, which starts with the location.
public struct PersistentStoreError: Error, Sendable {
  /// The kind of failure, to match on.
  ///
  /// ```swift
  /// if error.code == .changedOnDisk { print("another program has saved the store") }
  /// ```
  public var code: Code
  /// One sentence that names the object, property or file concerned.
  ///
  /// ```swift
  /// print(error.message, "at", error.location)
  /// ```
  public var message: String
  /// The location, as far as it is known.
  ///
  /// ```swift
  /// if let line = error.location.line { print("line \(line)") }
  /// ```
  public var location: StoreLocation
  /// The underlying error, if any.
  public var underlying: (any Error)?
  /// What the caller can choose so that the call succeeds, if something is known that helps.
  public var remedy: Remedy?
  /// Whether a format's program ended, or did what its protocol does not allow: for the conformance checks, to which
  /// that is what a crash is in a format in Swift.
  package var isProgramFailure = false

  /// Creates an error.
  ///
  /// ```swift
  /// throw PersistentStoreError(.malformed, "the header is cut", at: StoreLocation(file: "people.tabbed", line: 1))
  /// ```
  public init(
    _ code: Code, _ message: String, at location: StoreLocation = StoreLocation(), underlying: (any Error)? = nil,
    remedy: Remedy? = nil
  ) {
    self.code = code
    self.message = message
    self.location = location
    self.underlying = underlying
    self.remedy = remedy
  }

  /// Creates an error from one that a library threw. One of the kit's keeps its code and message, and gets the missing
  /// parts of its location.
  ///
  /// - Parameters:
  ///   - error: The error; another one than the kit's becomes ``underlying``, and its text the message.
  ///   - code: The kind of failure, for another error than the kit's.
  ///   - location: Where the library was when it failed.
  public init(wrapping error: any Error, as code: Code = .malformed, at location: StoreLocation) {
    if let error = error as? PersistentStoreError {
      self = error.located(location)
    } else {
      self.init(code, "\(error)", at: location, underlying: error)
    }
  }

  /// Returns the error with missing parts of its location filled in from `outer`.
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
      case unavailable, retry, timedOut, notAuthorized
    }
    private let kind: Kind
    public var description: String { kind.rawValue }

    /// The bytes do not match the format's grammar.
    ///
    /// ```swift
    /// throw PersistentStoreError(.malformed, "a closing quote is missing", at: StoreLocation(line: 3, column: 9))
    /// ```
    public static let malformed = Code(kind: .malformed)
    /// A size, depth or count exceeds the limit.
    ///
    /// ```swift
    /// if count > 1_000_000 {
    ///   throw PersistentStoreError(.limitExceeded, "the table has more than 1,000,000 rows", at: StoreLocation(line: 1))
    /// }
    /// ```
    public static let limitExceeded = Code(kind: .limitExceeded)
    /// Written by a newer version of the format than this one reads.
    public static let unsupportedVersion = Code(kind: .unsupportedVersion)
    /// A store, but of another type than specified.
    public static let foreignFormat = Code(kind: .foreignFormat)
    /// Two or more registered types recognize the content.
    public static let ambiguousFormat = Code(kind: .ambiguousFormat)
    /// No registered type recognizes the content.
    public static let unrecognizedFormat = Code(kind: .unrecognizedFormat)
    /// A type name that is not registered.
    public static let unknownStoreType = Code(kind: .unknownStoreType)
    /// A type name that another format already uses.
    public static let storeTypeTaken = Code(kind: .storeTypeTaken)
    /// The metadata specifies another type than the store's.
    public static let storeTypeMismatch = Code(kind: .storeTypeMismatch)
    /// There is nothing at the path.
    public static let notFound = Code(kind: .notFound)
    /// The system refuses access.
    public static let permissionDenied = Code(kind: .permissionDenied)
    /// The file or directory cannot be created.
    public static let cannotCreate = Code(kind: .cannotCreate)
    /// There already is something at the path of the result.
    public static let alreadyExists = Code(kind: .alreadyExists)
    /// The system reported an error in reading or writing.
    public static let inputOutput = Code(kind: .inputOutput)
    /// The disk or quota is full.
    public static let noSpace = Code(kind: .noSpace)
    /// A relationship names an object that does not exist.
    public static let danglingReference = Code(kind: .danglingReference)
    /// Two objects of one hierarchy have the same reference object.
    public static let duplicateReference = Code(kind: .duplicateReference)
    /// A value that its attribute cannot hold.
    ///
    /// ```swift
    /// throw PersistentStoreError(.invalidValue, "'x' is not a number", at: StoreLocation(entity: "Person", property: "age"))
    /// ```
    public static let invalidValue = Code(kind: .invalidValue)
    /// A value or property that the format cannot store, as it declares.
    public static let unsupportedByFormat = Code(kind: .unsupportedByFormat)
    /// The store was written with another model.
    public static let modelMismatch = Code(kind: .modelMismatch)
    /// The model is contradictory, or its file cannot be read.
    public static let invalidModel = Code(kind: .invalidModel)
    /// The store is not self-describing, and no model was specified.
    public static let modelNeeded = Code(kind: .modelNeeded)
    /// The store was opened read-only.
    public static let readOnly = Code(kind: .readOnly)
    /// An option that the format does not have, or an invalid value for it.
    public static let invalidOption = Code(kind: .invalidOption)
    /// The store with this path or UUID is already open in the coordinator.
    public static let storeAlreadyAdded = Code(kind: .storeAlreadyAdded)
    /// The store is not open in the coordinator.
    public static let storeNotAdded = Code(kind: .storeNotAdded)
    /// The file is no longer the one that was loaded.
    public static let changedOnDisk = Code(kind: .changedOnDisk)
    /// A device, socket or other file that cannot be a store.
    public static let unsupportedFileKind = Code(kind: .unsupportedFileKind)
    /// The caller asked to stop.
    public static let cancelled = Code(kind: .cancelled)
    /// A format violated the contract of the SPI.
    public static let internalInconsistency = Code(kind: .internalInconsistency)
    /// An object that the store does not contain.
    public static let missingObject = Code(kind: .missingObject)
    /// The two ends of a relationship contradict each other.
    public static let inverseMismatch = Code(kind: .inverseMismatch)
    /// Recognized, but not supported by this version.
    public static let notSupported = Code(kind: .notSupported)
    /// Another program is saving the store and does not finish. The message names the lock file.
    public static let locked = Code(kind: .locked)
    /// A save failed, and what it had replaced could not be restored. The message names the paths of the new version
    /// and the old one.
    public static let notRolledBack = Code(kind: .notRolledBack)
    /// The server or file of an incremental store cannot be reached, or the connection was lost.
    public static let unavailable = Code(kind: .unavailable)
    /// Nothing was changed, and the same call may succeed if it is repeated.
    public static let retry = Code(kind: .retry)
    /// The store did not answer in time.
    public static let timedOut = Code(kind: .timedOut)
    /// The store refused the user, or what the user asked for.
    public static let notAuthorized = Code(kind: .notAuthorized)
  }
}

extension PersistentStoreError: CustomStringConvertible {
  public var description: String {
    var text = ""
    let place = location.description
    if !place.isEmpty { text += place + ": " }
    text += message
    if let remedy = remedy?.description, !remedy.isEmpty { text += "; " + remedy }
    // A wrapped error's text is the message.
    if let underlying {
      let cause = "\(underlying)"
      if cause != message { text += " (\(cause))" }
    }
    return text
  }
}

/// A location in a store, as far as it is known.
///
/// ```swift
/// print(StoreLocation(file: "people.xml", line: 12, entity: "Person", property: "name"))  // people.xml:12 (Person.name)
/// ```
public struct StoreLocation: Sendable, Hashable, CustomStringConvertible {
  /// The file's path, or its name within a store that is a directory.
  public var file: String?
  /// The line, starting at 1.
  public var line: Int?
  /// The column in bytes, starting at 1.
  public var column: Int?
  /// The offset in the file in bytes, starting at 0.
  public var offset: Int?
  /// The name of the entity.
  public var entity: String?
  /// The reference object's text.
  public var reference: String?
  /// The name of the property.
  public var property: String?

  /// Creates a location from the known parts.
  ///
  /// ```swift
  /// let place = StoreLocation(file: "people.binary", offset: 96, entity: "Person", reference: "7")
  /// ```
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

  /// Returns this location with missing parts taken from `outer`.
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

extension PersistentStoreError {
  /// What a caller can choose so that a call succeeds. Programs that have other names for it, such as the flags of the
  /// command, show those; ``description`` has the names of the library.
  ///
  /// ```swift
  /// throw PersistentStoreError(
  ///   .changedOnDisk, "the file was changed since the store was saved",
  ///   remedy: .readOption("edited=accept", effect: "reads it anyway"))
  /// ```
  public struct Remedy: Hashable, Sendable, CustomStringConvertible {
    package enum Choice: Hashable, Sendable {
      case readOption, writeOption
      /// What is at the path may be replaced.
      case replacement
      /// The result is another store than the source.
      case newStore
      /// The type of the result is named.
      case storeType
      /// Objects outside of a subset are included, or references to them removed.
      case relatedObjects
    }
    package let choice: Choice
    /// The options, as `name=value`.
    package let options: [String]
    /// What the choice does, as the end of a sentence.
    package let effect: String

    package init(_ choice: Choice, _ options: [String] = [], _ effect: String = "") {
      self.choice = choice
      self.options = options
      self.effect = effect
    }

    /// An option for reading.
    ///
    /// - Parameters:
    ///   - option: Name and value, as `rows=skip`.
    ///   - others: More of them, of which any does it.
    ///   - effect: What it does, as the end of a sentence: `leaves such rows out`.
    public static func readOption(_ option: String, or others: [String] = [], effect: String) -> Remedy {
      Remedy(.readOption, [option] + others, effect)
    }

    /// An option for writing, as ``readOption(_:or:effect:)``.
    public static func writeOption(_ option: String, or others: [String] = [], effect: String) -> Remedy {
      Remedy(.writeOption, [option] + others, effect)
    }

    /// `the option rows=skip leaves such rows out`; empty for a choice that has no name in the library.
    public var description: String {
      options.isEmpty ? "" : "the option \(options.joined(separator: " or ")) \(effect)"
    }
  }
}
