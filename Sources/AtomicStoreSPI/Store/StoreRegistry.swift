/// The store types that a coordinator can open, by name.
///
/// It is a value: changing a copy does not affect the original, so tests and plug-ins do not share a global table.
public struct StoreRegistry: Sendable {
  private var types: [any AtomicStore.Type] = []

  /// Creates an empty registry.
  public init() {}

  /// The registered names, in the order of their bytes.
  public var storeTypes: [String] { types.map { $0.storeType }.sorted { ScalarString($0) < ScalarString($1) } }

  /// Registers a format under its ``AtomicStore/storeType``. Registering the same format again has no effect.
  ///
  /// - Throws: `.storeTypeTaken` with both formats.
  public mutating func register(_ type: any AtomicStore.Type) throws(PersistentStoreError) {
    if let holder = types.first(where: { ScalarString($0.storeType) == ScalarString(type.storeType) }) {
      if ObjectIdentifier(holder) == ObjectIdentifier(type) { return }
      throw PersistentStoreError(
        .storeTypeTaken,
        "the store type '\(type.storeType)' of \(String(reflecting: type)) is already used by \(String(reflecting: holder))"
      )
    }
    types.append(type)
  }

  /// Removes a type. Open stores stay open.
  ///
  /// - Throws: `.unknownStoreType`.
  public mutating func unregister(_ storeType: String) throws(PersistentStoreError) {
    _ = try self.storeType(named: storeType)
    types.removeAll { ScalarString($0.storeType) == ScalarString(storeType) }
  }

  /// Returns the format that is registered under a name.
  ///
  /// - Throws: `.unknownStoreType`, with a list of the registered names, and the name that differs only in case if
  ///   there is one.
  public func storeType(named name: String) throws(PersistentStoreError) -> any AtomicStore.Type {
    if let type = types.first(where: { ScalarString($0.storeType) == ScalarString(name) }) { return type }
    var message = "no store type '\(name)' is registered; there "
    message += types.isEmpty ? "is none" : "are " + storeTypes.joined(separator: ", ")
    if let near = storeTypes.first(where: { $0.lowercased() == name.lowercased() }) {
      message += ". Did you mean '\(near)'?"
    }
    throw PersistentStoreError(.unknownStoreType, message)
  }

  /// Refuses to create a store inside the directory of another store, which would then be invalid.
  ///
  /// - Throws: `.cannotCreate`.
  package func refuseWithinStore(_ place: StorePath) throws(PersistentStoreError) {
    guard let folder = try? StorePath.inspect(place.folder), folder.kind == .folder, let probe = try? folder.probe()
    else { return }
    for type in types where type.recognize(probe) == .yes {
      throw PersistentStoreError(
        .cannotCreate, "\(folder.path) is itself a store, of type \(type.storeType): nothing else may be in it",
        at: StoreLocation(file: place.path))
    }
  }

  /// Returns the format of some content: all formats are asked, and the file name decides only if all of them are
  /// unsure.
  ///
  /// - Throws: `.ambiguousFormat` with the formats that claim it, `.notSupported` for a known kind that cannot be read,
  ///   `.unrecognizedFormat`.
  public func recognize(_ probe: StoreProbe) throws(PersistentStoreError) -> any AtomicStore.Type {
    var sure: [any AtomicStore.Type] = []
    var unsure: [any AtomicStore.Type] = []
    var known: [String] = []
    for type in types {
      switch type.recognize(probe) {
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
    let hint = storeTypes.isEmpty ? "" : " of the types " + storeTypes.joined(separator: ", ")
    throw PersistentStoreError(.unrecognizedFormat, "the content is not a store\(hint)", at: place)
  }

  private static func ambiguous(_ types: [any AtomicStore.Type], _ place: StoreLocation) -> PersistentStoreError {
    let names = types.map { $0.storeType }.sorted().joined(separator: " and ")
    return PersistentStoreError(.ambiguousFormat, "\(names) both recognise this content: specify the type", at: place)
  }

  /// Returns the formats that use a file name extension, by name.
  public func storeTypes(forFileExtension fileExtension: String) -> [any AtomicStore.Type] {
    types.filter { $0.traits.fileExtensions.contains(fileExtension.lowercased()) }
  }
}
