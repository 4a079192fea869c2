extension RelationshipRules {
  /// The rules as options, to be listed with those of a format.
  package static let options: [StoreOption] = [
    StoreOption(
      name: "inverses",
      help:
        "If the two ends of a relationship contradict each other: refuse the store, read each end as it is stored, or which end is correct. By default, only two to-one ends are read as they are stored.",
      values: Inverses.allCases.map(\.rawValue)),
    StoreOption(
      name: "dangling",
      help:
        "References to objects that do not exist: refuse the store, remove them, or remove them and keep their text in the metadata.",
      values: DanglingReferences.allCases.map(\.rawValue)),
    StoreOption(
      name: "damaged",
      help:
        "Objects that cannot be read: refuse the store, or leave them out, together with references to objects that do not exist, and list each. Read-only; supported by XML, CSV, Core Data's SQLite and binary stores.",
      values: DamagedObjects.allCases.map(\.rawValue)),
  ]

  /// Removes the rules from the options.
  ///
  /// - Throws: `.invalidOption` for invalid values.
  package init(taking options: inout StoreOptions) throws(PersistentStoreError) {
    self.init()
    inverses = try Self.take("inverses", from: &options) ?? .toOneAsStored
    let dangling: DanglingReferences? = try Self.take("dangling", from: &options)
    damagedObjects = try Self.take("damaged", from: &options) ?? .refuse
    // What is left out is referred to by other objects.
    danglingReferences = dangling ?? (damagedObjects == .skip ? .nullify : .refuse)
    reportsRemovedReferences = dangling == nil && damagedObjects == .skip
    namesOptions = true
  }

  private static func take<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, from options: inout StoreOptions
  ) throws(PersistentStoreError) -> Choice? {
    guard let text = options.removeValue(forKey: name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw PersistentStoreError(
        .invalidOption,
        "the option '\(name)' must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")), not '\(text)'")
    }
    return choice
  }
}
