import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import FoundationEssentials
import ModelFiles
import StoreCodecs

/// Feeds inputs to a reader and judges what comes of them: a value that survives being saved and read again, or a typed
/// error that says where.
public final class HostileTrial {
  public let reader: HostileReader
  let scratch: String
  let models: [ManagedObjectModel]
  let people: ManagedObjectModel
  /// The files that are beside a changed file of an Arrow store.
  let arrowFiles: Result<[(name: String, bytes: [UInt8])], any Error>
  private let context: ManagedObjectContext?
  private let coordinator: PersistentStoreCoordinator

  /// - Parameter samples: The folder `SampleStores`, for models and objects.
  public init(reader: HostileReader, samples: String) throws {
    self.reader = reader
    let base =
      FileManager.default.fileExists(atPath: "/dev/shm")
      ? "/dev/shm" : FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/"
    scratch = base + "/hostile-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    models = try ["FriendInfo", "Company"].map {
      try ManagedObjectModel(ModelFile.read(at: "\(samples)/\($0)/\($0).xcdatamodeld").description)
    }
    people = try ManagedObjectModel(ModelFile.read(at: "\(samples)/People/People.xcdatamodel").description)
    arrowFiles = Result { reader == .arrowStore ? try HostileReader.arrowFiles(samples) : [] }
    coordinator = PersistentStoreCoordinator(registry: .builtIn)
    if reader == .predicate || reader == .objectURI {
      try coordinator.addPersistentStore(at: samples + "/Company/Company.plist", isReadOnly: true)
    }
    context = reader == .predicate ? ManagedObjectContext(coordinator) : nil
  }

  deinit { try? FileManager.default.removeItem(atPath: scratch) }

  /// - Throws: ``HostileFinding``.
  @discardableResult
  public func run(_ input: [UInt8]) throws -> HostileOutcome {
    // The kit knows an empty file by itself, and asks no reader.
    if input.isEmpty, reader != .predicate, reader != .objectURI { return .refused("empty") }
    do {
      switch reader {
      case .xmlStore: return try xmlStore(input)
      case .model, .modelArchive: return try model(input)
      case .binaryPropertyList: return try binaryPropertyList(input)
      case .csvStore: return try csvStore(input)
      case .coreDataBinary: return try binaryStore(input)
      case .coreDataSQLite: return try sqliteStore(input)
      case .arrowStore: return try arrowStore(input)
      case .xmlPropertyList: return try xmlPropertyList(input)
      case .predicate: return try predicate(input)
      case .objectURI: return try objectURI(input)
      }
    } catch let finding as HostileFinding {
      throw finding
    } catch {
      throw finding("an error of another type: \(type(of: error)): \(error)")
    }
  }

  func finding(_ text: String) -> HostileFinding { HostileFinding(reader: reader, text: text) }

  // MARK: Errors

  /// What only the whole file can be blamed for.
  private static let placeless: Set<PersistentStoreError.Code> = [
    .unrecognizedFormat, .unsupportedVersion, .foreignFormat, .storeTypeMismatch, .modelNeeded, .invalidModel,
    .modelMismatch, .notSupported,
    .notFound, .invalidOption, .changedOnDisk,
  ]
  /// What a hostile file can be refused as; anything else is the kit's own failure.
  private static let refusals: Set<PersistentStoreError.Code> = placeless.union([
    .malformed, .limitExceeded, .invalidValue, .danglingReference, .duplicateReference, .unsupportedByFormat,
  ])

  /// Judges an error of a file's reader.
  func judge(_ error: PersistentStoreError, file: String?) throws -> HostileOutcome {
    guard Self.refusals.contains(error.code) else { throw finding("refused as \(error.code): \(error)") }
    let place = error.location
    guard file == nil || place.file != nil else { throw finding("the error does not name the file: \(error)") }
    guard !error.message.isEmpty, error.description.utf8.count < 100_000 else {
      throw finding("a message of \(error.description.utf8.count) bytes: \(error.description.prefix(300))")
    }
    let isPlaced =
      place.line != nil || place.offset != nil || place.entity != nil || place.reference != nil || place.property != nil
    // A folder's metadata is a list whose values have names, not lines.
    let isList = place.file?.hasSuffix("metadata.plist") == true
    guard isPlaced || isList || Self.placeless.contains(error.code) else {
      throw finding("the error has no place: \(error.code): \(error)")
    }
    return .refused(error.code.description)
  }

  // MARK: Codecs

  private func xmlPropertyList(_ input: [UInt8]) throws -> HostileOutcome {
    let value: PropertyListValue
    do throws(PersistentStoreError) { value = try PropertyList.decodeXML(input.span, file: "list.plist") } catch {
      return try judge(error, file: "list.plist")
    }
    try compareXML(value)
    return .value
  }

  private func compareXML(_ value: PropertyListValue) throws {
    let bytes = try PropertyList.encodeXML(value)
    guard try PropertyList.decodeXML(bytes.span) == value else {
      throw finding("another list after XML: \(text(bytes))")
    }
  }

  private func binaryPropertyList(_ input: [UInt8]) throws -> HostileOutcome {
    let value: PropertyListValue
    do throws(PersistentStoreError) { value = try PropertyList.decodeBinary(input) } catch {
      guard error.code != .malformed || error.location.offset != nil else { throw finding("no offset: \(error)") }
      // A store of packed columns is read by parts: what is not a list as a whole may be one, as far as it is read.
      _ = try store("BinaryPropertyList", StoreSource(bytes: input, name: "store.plist"), [:], nil)
      return .refused(error.code.description)
    }
    let bytes = try PropertyList.encodeBinary(value)
    guard try PropertyList.decodeBinary(bytes) == value else { throw finding("another list after a round trip") }
    // XML cannot hold all that the binary form can: which not-a-number it is, parts of a second. What it gives must be
    // a list.
    if let text = try? PropertyList.encodeXML(value) { _ = try PropertyList.decodeXML(text.span) }
    _ = try store("BinaryPropertyList", StoreSource(bytes: input, name: "store.plist"), [:], nil)
    return .value
  }

  func text(_ bytes: [UInt8]) -> String { String(String(decoding: bytes.prefix(2000), as: UTF8.self)) }

  // MARK: Models

  private func model(_ input: [UInt8]) throws -> HostileOutcome {
    let path = scratch + "/contents"
    try Data(input).write(to: URL(filePath: path))
    var description: ModelDescription
    do throws(PersistentStoreError) { description = try ModelFile.read(at: path).description } catch {
      return try judge(error, file: path)
    }
    // A description may hold what no model can: it is reported in a list of problems.
    do { _ = try ManagedObjectModel(description) } catch {
      guard !error.errors.isEmpty else { throw finding("an invalid model without a problem") }
    }
    if reader == .modelArchive {
      // Archives hold what no model file can: the rest must get through, or be refused by its writer.
      description = ModelFile.withoutWhatFilesCannotHold(description).model
      do throws(PersistentStoreError) { _ = try ModelFile.contents(of: description) } catch {
        return try judge(error, file: nil)
      }
    }
    let contents = try ModelFile.contents(of: description)
    try Data(contents).write(to: URL(filePath: path))
    let again = try ModelFile.read(at: path).description
    guard again == description else { throw finding("another model after a round trip:\n\(text(contents))") }
    guard try ModelDescription(propertyList: description.propertyList) == description else {
      throw finding("another model after a property list:\n\(text(contents))")
    }
    return .value
  }

  // MARK: Predicates and URIs

  private func predicate(_ input: [UInt8]) throws -> HostileOutcome {
    let format = String(decoding: input, as: UTF8.self)
    let arguments: [Any?] = ["text", 5, 2.5, [1, 2], Date(timeIntervalSinceReferenceDate: 0), nil]
    let count = format.utf8.reduce(0) { $1 == UInt8(ascii: "%") ? $0 + 1 : $0 }
    let predicate: FetchPredicate
    do throws(PredicateFormatError) {
      predicate = try FetchPredicate(
        format: format, arguments: (0..<min(count, 1000)).map { arguments[$0 % arguments.count] })
    } catch {
      guard error.column >= 1, error.column <= format.unicodeScalars.count + 1, !error.message.isEmpty else {
        throw finding("an error without a place: \(error)")
      }
      return .refused("format")
    }
    let text = predicate.predicateFormat
    let again: FetchPredicate
    do throws(PredicateFormatError) { again = try FetchPredicate(format: text) } catch {
      throw finding("what is printed cannot be read: \(error)")
    }
    guard again.predicateFormat == text else { throw finding("printed as \(text)\nthen as \(again.predicateFormat)") }
    guard again == predicate else { throw finding("another predicate after it was printed as \(text)") }
    for entity in ["Employee", "Department"] {
      do {
        _ = try context?.count(for: FetchRequest<ManagedObject>(entityName: entity, predicate: predicate))
      } catch is ManagedObjectError {} catch is PredicateFormatError {} catch is PersistentStoreError {}
    }
    return .value
  }

  private func objectURI(_ input: [UInt8]) throws -> HostileOutcome {
    let text = String(decoding: input, as: UTF8.self)
    _ = coordinator.managedObjectID(forURIRepresentation: text)
    guard let id = ManagedObjectID(uriRepresentation: text) else { return .refused("no URI") }
    guard let again = ManagedObjectID(uriRepresentation: id.uriRepresentation), again == id,
      again.uriRepresentation == id.uriRepresentation
    else {
      throw finding("another ID after it was written as \(id.uriRepresentation)")
    }
    return .value
  }
}
