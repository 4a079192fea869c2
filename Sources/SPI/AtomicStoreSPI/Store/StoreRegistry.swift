/// The store types that a coordinator can open, by name.
///
/// ```swift
/// let registry = StoreRegistry.builtIn
/// print(registry.storeTypes)
/// ```
///
/// It is a value: changing a copy does not affect the original, so tests and plug-ins do not share a global table.
public struct StoreRegistry: Sendable {
  var types: [any AtomicStore.Type] = []
  /// The incremental types that were registered, in the order of registration.
  var registeredIncrementalTypes: [any IncrementalStore.Type] = []
  /// More types, which are found when a lookup needs them.
  var later: LaterStoreTypes?

  /// Types that this build leaves out, for messages.
  package var absent: [AbsentStoreTypes] = []

  /// Called when a store was opened by a coordinator with this registry, with each note about what could not be read or
  /// may be misleading. A program that shows stores prints them; the path is that of the store.
  package var noteHandler: (@Sendable (_ note: LoadNote, _ path: String) -> Void)?

  /// Whether a type may be asked what it makes of some content. A program that loads plug-ins has tried them before.
  package var mayAsk: (@Sendable (_ storeType: String, StoreProbe) -> Bool)?

  /// Creates an empty registry.
  public init() {}

  /// The registered names, in the order of their bytes.
  public var storeTypes: [String] { known.map { $0.storeType }.sorted { ScalarString($0) < ScalarString($1) } }

  /// The names and traits of all registered types, those of incremental stores included, in the order of the names.
  package var allTraits: [(storeType: String, traits: StoreTraits)] {
    let all = known.map { ($0.storeType, $0.traits) } + incrementalTypes.map { ($0.storeType, $0.traits) }
    return all.sorted { ScalarString($0.0) < ScalarString($1.0) }
  }

  /// Registers a format under its ``AtomicStore/storeType``. Registering the same format again has no effect.
  ///
  /// Names are compared without regard to case: one would be taken for the other.
  ///
  /// - Throws: `.storeTypeTaken` with both formats.
  public mutating func register(_ type: any AtomicStore.Type) throws(PersistentStoreError) {
    if types.contains(where: { ObjectIdentifier($0) == ObjectIdentifier(type) }) { return }
    try requireFree(type.storeType, for: String(reflecting: type))
    types.append(type)
  }

  /// Adds types that are found when a lookup needs them: one for a name, a file name extension or content that no
  /// registered format has. Formats that are registered come first. ``storeTypes`` has the others once they were found.
  ///
  /// - Parameter find: Called once at most, for this value and all its copies. It must not look up types in them.
  package mutating func findLater(_ find: @escaping @Sendable () -> [AnyStoreType]) {
    later = LaterStoreTypes(find)
  }

  /// Looks for the types of ``findLater(_:)`` now, so that ``storeTypes`` has them.
  package func findNow() { _ = all() }

  /// All types, including those that were not looked for so far.
  private func all() -> [any AtomicStore.Type] { later.map { withTypes($0.found()) } ?? types }
  /// The types that are known without looking for more.
  private var known: [any AtomicStore.Type] { later.map { withTypes($0.known) } ?? types }
  private func withTypes(_ others: [AnyStoreType]) -> [any AtomicStore.Type] {
    types
      + others.compactMap(\.atomic).filter { other in
        !types.contains { ObjectIdentifier($0) == ObjectIdentifier(other) }
      }
  }

  /// Removes a type. Open stores stay open.
  ///
  /// - Throws: `.unknownStoreType`.
  public mutating func unregister(_ storeType: String) throws(PersistentStoreError) {
    if incrementalType(named: storeType) == nil { _ = try self.storeType(named: storeType) }
    let others = incrementalTypes.filter { ScalarString($0.storeType) != ScalarString(storeType) }
    types = known.filter { ScalarString($0.storeType) != ScalarString(storeType) }
    registeredIncrementalTypes = others
    later = nil
  }

  /// Returns the format that is registered under a name.
  ///
  /// - Throws: `.unknownStoreType`, with a list of the registered names, and the name that differs only in case if
  ///   there is one.
  package func storeType(named name: String) throws(PersistentStoreError) -> any AtomicStore.Type {
    func match(_ type: any AtomicStore.Type) -> Bool { ScalarString(type.storeType) == ScalarString(name) }
    if let type = types.first(where: match) ?? all().first(where: match) { return type }
    let names = storeTypes + incrementalTypes.map { $0.storeType }
    guard !incrementalTypes.contains(where: { ScalarString($0.storeType) == ScalarString(name) }) else {
      throw PersistentStoreError(
        .unsupportedByFormat, "a store of type '\(name)' is a database: it is neither loaded nor written as a whole")
    }
    if let absence = absence(storeType: name) { throw PersistentStoreError(.unknownStoreType, absence) }
    throw PersistentStoreError(
      .unknownStoreType,
      names.isEmpty
        ? "unknown store type '\(name)'; none is registered"
        : Suggestion.unknown("store type", name, among: names))
  }

  /// Refuses to create a store inside the directory of another store, which would then be invalid. More types are
  /// looked for only if the directory's name has a file name extension: other directories are rarely stores, and most
  /// files are created in them.
  ///
  /// - Throws: `.cannotCreate`.
  package func refuseWithinStore(_ place: StorePath) throws(PersistentStoreError) {
    // Most directories hold other files, perhaps a great many, which need not be inspected.
    let folder = place.folder
    guard let probe = StoreProbe(namesIn: folder) else { return }
    let types = probe.fileExtension.isEmpty ? known : all()
    for type in types where recognition(of: probe, by: type) == .yes {
      throw PersistentStoreError(
        .cannotCreate, "\(folder) is itself a store, of type \(type.storeType): nothing else may be in it",
        at: StoreLocation(file: place.path))
    }
  }

  /// Returns the format of some content: all formats are asked, and the file name decides only if all of them are
  /// unsure.
  ///
  /// - Throws: `.ambiguousFormat` with the formats that claim it, `.notSupported` for a known kind that cannot be read,
  ///   `.unrecognizedFormat`.
  package func recognize(_ probe: StoreProbe) throws(PersistentStoreError) -> any AtomicStore.Type {
    let sure = types.filter { recognition(of: probe, by: $0) == .yes }
    // Others may recognize the content too, but looking for them is not worth the ambiguity.
    if sure.count == 1 { return sure[0] }
    do throws(PersistentStoreError) { return try recognize(probe, all()) } catch {
      if error.code == .unrecognizedFormat { try refuseAbsent(probe) }
      throw error
    }
  }

  /// What a type makes of some content.
  package func recognition(of probe: StoreProbe, by type: any AtomicStore.Type) -> Recognition {
    mayAsk?(type.storeType, probe) ?? true ? type.recognize(probe) : .no
  }

  private func recognize(
    _ probe: StoreProbe, _ types: [any AtomicStore.Type]
  ) throws(PersistentStoreError) -> any AtomicStore.Type {
    var sure: [any AtomicStore.Type] = []
    var unsure: [any AtomicStore.Type] = []
    var known: [String] = []
    for type in types {
      switch recognition(of: probe, by: type) {
      case .yes: sure.append(type)
      case .unsure: unsure.append(type)
      case .known(let what): known.append(what)
      case .no: break
      }
    }
    let place = StoreLocation(file: probe.name)
    if sure.count == 1 { return sure[0] }
    if sure.count > 1 { throw Self.ambiguous(sure, place) }
    if let what = known.first { throw PersistentStoreError(.notSupported, what, at: place) }
    let named = unsure.filter { $0.traits.fileExtensions.contains(probe.fileExtension) }
    if named.count == 1 { return named[0] }
    if named.count > 1 { throw Self.ambiguous(named, place) }
    let names = types.filter { !$0.traits.isInProcess }.map { $0.storeType }.sorted {
      ScalarString($0) < ScalarString($1)
    }
    let hint = names.isEmpty ? "" : " of the types " + names.joined(separator: ", ")
    throw PersistentStoreError(.unrecognizedFormat, "the content is not a store\(hint)", at: place)
  }

  private static func ambiguous(_ types: [any AtomicStore.Type], _ place: StoreLocation) -> PersistentStoreError {
    let names = types.filter { !$0.traits.isInProcess }.map { $0.storeType }.sorted().joined(separator: " and ")
    return PersistentStoreError(.ambiguousFormat, "\(names) both recognize this content: specify the type", at: place)
  }

  /// Returns the formats that use a file name extension, by name.
  package func storeTypes(forFileExtension fileExtension: String) -> [any AtomicStore.Type] {
    let wanted = fileExtension.lowercased()
    guard !wanted.isEmpty else { return [] }
    func match(_ type: any AtomicStore.Type) -> Bool { type.traits.fileExtensions.contains(wanted) }
    let named = types.filter(match)
    return named.isEmpty ? all().filter(match) : named
  }
}

// MARK: Incremental stores

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
