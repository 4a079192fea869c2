import AtomicStoreSPI
import StoreCodecs

/// Finds the second object with a number that stands twice: whoever mends the file needs its line.
///
/// A load keeps no lines of numbers, so as to cost nothing where all is well. Once it has failed, the file is read for
/// them.
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
    entityNames = try ObjectLoader.table(entities.map(\.name), .entity, StoreLocation(file: file))
    super.init(file: file)
  }

  /// The error with the place of the second object; nil if the file, read again, has no second one.
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
      .duplicateReference, "two objects have the id z\(number): the first one is in line \(firstLine)",
      at: StoreLocation(
        file: name, line: line, entity: entity >= 0 ? entities[entity].name : nil, reference: "z\(number)"))
  }
}
