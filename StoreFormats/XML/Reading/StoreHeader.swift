import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Bytes that are valid during the call to which they are passed.
typealias Bytes = UnsafeBufferPointer<UInt8>

/// The elements of a `<databaseInfo>` besides the metadata; each occurs once.
enum InfoItem: String, CaseIterable {
  case version
  case uuid = "UUID"
  case nextObjectID
}

/// The content of a store's head.
struct StoreHeader {
  /// The version number of both of Core Data's atomic formats.
  static let version = 134_481_920

  var declaration = XMLDeclaration.standaloneYes
  var uuid: UUID?
  var lastReference: Int64 = 0
  /// The line that the head ends on.
  var endLine = 0
  /// All entries, including those of this format.
  var entries = PropertyListDictionary()

  /// Reads an element from its text.
  ///
  /// - Throws: `.malformed`, located in the file with that name; `.unsupportedVersion`.
  mutating func set(_ item: InfoItem, _ text: Bytes, file: String) throws(PersistentStoreError) {
    func malformed(_ what: String) -> PersistentStoreError {
      PersistentStoreError(.malformed, what, at: StoreLocation(file: file))
    }
    let value = Span(_unsafeElements: text)
    let shown = String(decoding: text.prefix(60), as: UTF8.self)
    switch item {
    case .version:
      guard let number = ExactText.integer(value) else { throw malformed("the version '\(shown)' is not a number") }
      guard number == Self.version else {
        throw PersistentStoreError(
          .unsupportedVersion, "the version is \(number), but that of Core Data's stores is \(Self.version)")
      }
    case .uuid:
      guard let found = ExactText.uuid(value) else { throw malformed("'\(shown)' is not a UUID") }
      uuid = found
    case .nextObjectID:
      guard let number = ExactText.integer(value), number >= 0 else {
        throw malformed("the nextObjectID '\(shown)' is not a number")
      }
      lastReference = number
    }
  }
}
