extension StoreRegistry {
  /// The incremental types that are known: the registered ones, in the order of registration, and then those of
  /// plug-ins that were looked for so far.
  package var incrementalTypes: [any IncrementalStore.Type] { withIncrementalTypes(later?.known ?? []) }

  /// Registers an incremental store under its ``IncrementalStore/storeType``. Registering the same type again has no
  /// effect.
  ///
  /// - Throws: `.storeTypeTaken` if another type has the name, compared without regard to case.
  public mutating func register(_ type: any IncrementalStore.Type) throws(PersistentStoreError) {
    if registeredIncrementalTypes.contains(where: { ObjectIdentifier($0) == ObjectIdentifier(type) }) { return }
    try requireFree(type.storeType, for: String(reflecting: type))
    registeredIncrementalTypes.append(type)
  }

  /// Registers a type of either kind.
  ///
  /// - Throws: `.storeTypeTaken` if another type has the name, compared without regard to case.
  package mutating func register(_ type: AnyStoreType) throws(PersistentStoreError) {
    switch type {
    case .whole(let type): try register(type)
    case .inParts(let type): try register(type)
    }
  }

  /// - Throws: `.storeTypeTaken` if a registered type of either kind has the name, compared without regard to case.
  func requireFree(_ storeType: String, for type: String) throws(PersistentStoreError) {
    let registered =
      types.map { ($0.storeType, String(reflecting: $0)) }
      + registeredIncrementalTypes.map { ($0.storeType, String(reflecting: $0)) }
    guard let (name, holder) = registered.first(where: { Self.isSame($0.0, storeType) }) else { return }
    let isNear = ScalarString(name) != ScalarString(storeType)
    throw PersistentStoreError(
      .storeTypeTaken,
      "the store type '\(storeType)' of \(type) " + (isNear ? "differs from '\(name)' of" : "is already used by")
        + " \(holder)\(isNear ? " in case only" : "")")
  }

  private static func isSame(_ name: String, _ other: String) -> Bool {
    ScalarString(name.lowercased()) == ScalarString(other.lowercased())
  }

  private func withIncrementalTypes(_ others: [AnyStoreType]) -> [any IncrementalStore.Type] {
    registeredIncrementalTypes
      + others.compactMap(\.incremental).filter { other in
        !registeredIncrementalTypes.contains { ObjectIdentifier($0) == ObjectIdentifier(other) }
      }
  }

  // MARK: Lookups

  /// The incremental type of that name. More types are looked for only if none that is registered has the name.
  package func incrementalType(named name: String) -> (any IncrementalStore.Type)? {
    func matches(_ storeType: String) -> Bool { ScalarString(storeType) == ScalarString(name) }
    return lookUp(isKnownOtherwise: { types.contains { matches($0.storeType) } }) { matches($0.storeType) }
  }

  /// The incremental type that recognizes some content. More types are looked for only if none that is registered, of
  /// either kind, recognizes it.
  package func incrementalType(recognizing probe: StoreProbe) -> (any IncrementalStore.Type)? {
    lookUp(isKnownOtherwise: { types.contains { recognition(of: probe, by: $0) == .yes } }) { type in
      mayAsk?(type.storeType, probe) ?? true && type.recognize(probe) == .yes
    }
  }

  /// The incremental type that uses a file name extension, in lower case.
  package func incrementalType(forFileExtension fileExtension: String) -> (any IncrementalStore.Type)? {
    guard !fileExtension.isEmpty else { return nil }
    return lookUp(isKnownOtherwise: { types.contains { $0.traits.fileExtensions.contains(fileExtension) } }) {
      $0.traits.fileExtensions.contains(fileExtension)
    }
  }

  /// The incremental type that a URL's scheme names.
  ///
  /// - Parameters:
  ///   - scheme: In lower case.
  ///   - isCertain: Whether the text cannot be a path, so that it is worth looking for more types.
  package func incrementalType(urlScheme scheme: String, isCertain: Bool) -> (any IncrementalStore.Type)? {
    lookUp(isKnownOtherwise: { !isCertain }) { $0.urlSchemes.contains(scheme) }
  }

  /// - Parameter isKnownOtherwise: Whether no more types need to be looked for if no registered one matches.
  private func lookUp(
    isKnownOtherwise: () -> Bool, _ match: (any IncrementalStore.Type) -> Bool
  ) -> (any IncrementalStore.Type)? {
    if let found = registeredIncrementalTypes.first(where: match) { return found }
    guard let later, !isKnownOtherwise() else { return nil }
    return withIncrementalTypes(later.found()).first(where: match)
  }
}
