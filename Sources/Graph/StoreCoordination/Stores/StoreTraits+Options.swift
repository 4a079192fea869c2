package import AtomicStoreSPI

extension StoreOption {
  /// What options are used for. An option in both lists of ``StoreTraits`` is valid for both.
  package enum Use: Sendable, Hashable {
    /// A store that is only read.
    case reading
    /// A store that is only written, such as a conversion's target.
    case writing
    /// A store that is open for changes: it is read and written with the same options.
    case readingAndWriting
  }
}

extension StoreTraits {
  /// Checks the options of a format.
  ///
  /// - Parameter use: What they are used for: an option for the other direction would have no effect.
  /// - Throws: `.invalidOption` for a name that the format does not have, for an option for the other direction, and
  ///   for an invalid value.
  package func check(
    _ options: StoreOptions, of storeType: String, for use: StoreOption.Use = .readingAndWriting
  ) throws(PersistentStoreError) {
    for (name, value) in options.sorted(by: { $0.key < $1.key }) {
      let option = try option(name, of: storeType, for: use)
      if let values = option.values, !values.contains(value) {
        throw PersistentStoreError(
          .invalidOption, "the option '\(name)' must be one of \(values.joined(separator: ", ")), not '\(value)'")
      }
    }
  }

  private func option(
    _ name: String, of storeType: String, for use: StoreOption.Use
  ) throws(PersistentStoreError) -> StoreOption {
    let reading = readOptions.first { $0.name == name }
    let writing = writeOptions.first { $0.name == name }
    let found =
      switch use {
      case .reading: reading
      case .writing: writing
      case .readingAndWriting: reading ?? writing
      }
    if let found { return found }
    let ofEveryFormat = StoreLimits.options + RelationshipRules.options + [StoreOpening.ignoreVersionHashesOption]
    if use == .reading, writing != nil {
      throw PersistentStoreError(
        .invalidOption, "the option '\(name)' of \(storeType) stores is for writing, and has no effect on reading")
    }
    if use == .writing, reading != nil || ofEveryFormat.contains(where: { $0.name == name }) {
      throw PersistentStoreError(
        .invalidOption, "the option '\(name)' of \(storeType) stores is for reading, and has no effect on writing")
    }
    let known = Set((use == .writing ? [] : readOptions) + (use == .reading ? [] : writeOptions)).map(\.name)
    let names = Set(known).sorted().joined(separator: ", ")
    let near = Suggestion.text(for: name, among: known + (use == .writing ? [] : ofEveryFormat.map(\.name)))
    throw PersistentStoreError(
      .invalidOption,
      "\(storeType) stores do not have the option '\(name)'; they have \(names.isEmpty ? "none" : names)\(near)")
  }
}

extension StoreOpening {
  /// The coordinator's own option with that name.
  static let ignoreVersionHashesOption = StoreOption(
    name: "ignoreVersionHashes", help: "Whether a store is read with a model that has other version hashes.",
    values: ["yes", "no"])
}
