import AtomicStoreSPI
import StoreCodecs

/// Finds the second object with a duplicate number, whose line is needed to repair the file.
///
/// A load does not store the lines of numbers, to avoid the cost in the normal case. If it fails, the file is read
/// again for them.
final class DuplicateFinder: DocumentReader {
  private let name: String
  private let number: Int64
  private let entities: [Entity]
  private let entityNames: NameTable
  private var firstLine: Int?
  private var found: PersistentStoreError?

  private init(_ number: Int64, _ model: ManagedObjectModel, file: String) throws(PersistentStoreError) {
    name = file
    self.number = number
    entities = model.entities
    entityNames = try ObjectLoader.table(entities.map(\.name), .entity, StoreLocation(file: file)).table
    super.init(file: file)
  }

  /// Returns the error with the location of the second object; nil if the file, read again, does not have one.
  static func error(
    for number: Int64, in source: StoreSource, of model: ManagedObjectModel, chunk: Int
  ) throws(PersistentStoreError) -> PersistentStoreError? {
    let finder = try DuplicateFinder(number, model, file: source.name)
    try finder.read(source, chunk: chunk)
    return finder.found
  }

  override func beginObject(type: Bytes, identifier: Bytes) throws(PersistentStoreError) {
    guard found == nil, let parsed = ObjectIdentifierText.parse(identifier), parsed.root == nil,
      parsed.reference == .integer(number)
    else { return }
    guard let firstLine else {
      firstLine = line
      return
    }
    let entity = entityNames.index(of: type, after: -1)
    found = PersistentStoreError(
      .duplicateReference, "two objects have the id z\(number): the first one is on line \(firstLine)",
      at: StoreLocation(
        file: name, line: line, entity: entity >= 0 ? entities[entity].name : nil, reference: "z\(number)"))
  }
}
