import AtomicStoreSPI

/// The rows of one table that were left out since they belong to no object, by entity number.
struct StrayRowNotes {
  /// How many for each reason, and the first one's key.
  private var notes: [(reason: String, count: Int, first: Int64)] = []
  private var indexes: [Int64?: Int] = [:]

  /// Why rows of an entity number do not belong to an object.
  static func reason(_ number: Int64?, _ model: ManagedObjectModel, _ layout: DatabaseLayout) -> String {
    guard let number else { return "has no entity number" }
    guard let owner = model.entities.first(where: { layout.numbers[$0.index] == number }) else {
      return "is of the entity number \(number), which the model does not have"
    }
    return owner.isAbstract
      ? "is of \(owner.name), which is abstract" : "is of \(owner.name), whose objects are in another table"
  }

  var isEmpty: Bool { notes.isEmpty }

  /// Counts a row, where one of that number was added before; returns whether there was one.
  mutating func count(_ number: Int64?) -> Bool {
    guard let index = indexes[number] else { return false }
    notes[index].count += 1
    return true
  }

  /// Adds the first row of an entity number.
  mutating func add(_ number: Int64?, _ reason: String, _ key: Int64) {
    indexes[number] = notes.count
    notes.append((reason, 1, key))
  }

  func report(_ table: String, areLosses: Bool, to source: StoreSource) {
    for note in notes {
      source.report(
        LoadNote(
          subject: table, count: note.count, text: "left out: a row that \(note.reason)", example: "Z_PK \(note.first)",
          isLoss: areLosses,
          location: areLosses ? StoreLocation(file: source.name, entity: table) : nil)
      )
    }
  }
}
