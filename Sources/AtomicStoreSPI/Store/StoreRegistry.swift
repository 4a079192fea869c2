/// Store types by name: what a coordinator can open.
///
/// A value. Changing a copy changes nothing else, so tests and plug-ins do not meet in a global table.
public struct StoreRegistry: Sendable {
  private var types: [any AtomicStore.Type] = []

  /// An empty registry.
  public init() {}

  /// The registered names, in the order of their bytes.
  public var storeTypes: [String] { types.map { $0.storeType }.sorted { ScalarString($0) < ScalarString($1) } }

  /// Registers a format under its ``AtomicStore/storeType``. The same format again changes nothing.
  ///
  /// - Throws: `.storeTypeTaken` naming both formats.
  public mutating func register(_ type: any AtomicStore.Type) throws(PersistentStoreError) {
    if let holder = types.first(where: { ScalarString($0.storeType) == ScalarString(type.storeType) }) {
      if ObjectIdentifier(holder) == ObjectIdentifier(type) { return }
      throw PersistentStoreError(
        .storeTypeTaken,
        "the store type '\(type.storeType)' of \(String(reflecting: type)) is taken by \(String(reflecting: holder))")
    }
    types.append(type)
  }

  /// Takes a type out. Stores that are open stay so.
  ///
  /// - Throws: `.unknownStoreType`.
  public mutating func unregister(_ storeType: String) throws(PersistentStoreError) {
    _ = try self.storeType(named: storeType)
    types.removeAll { ScalarString($0.storeType) == ScalarString(storeType) }
  }

  /// The format registered under a name.
  ///
  /// - Throws: `.unknownStoreType`, listing what is registered, and the name that differs only in case if there is one.
  public func storeType(named name: String) throws(PersistentStoreError) -> any AtomicStore.Type {
    if let type = types.first(where: { ScalarString($0.storeType) == ScalarString(name) }) { return type }
    var message = "no store type '\(name)' is registered; there "
    message += types.isEmpty ? "is none" : "are " + storeTypes.joined(separator: ", ")
    if let near = storeTypes.first(where: { $0.lowercased() == name.lowercased() }) {
      message += ". Did you mean '\(near)'?"
    }
    throw PersistentStoreError(.unknownStoreType, message)
  }

  /// Refuses a place for a new store within the folder of another: that one would not be whole any more.
  ///
  /// - Throws: `.cannotCreate`.
  package func refuseWithinStore(_ place: StorePlace) throws(PersistentStoreError) {
    guard let folder = try? StorePlace.inspect(place.folder), folder.kind == .folder, let probe = try? folder.probe()
    else { return }
    for type in types where type.recognize(probe) == .yes {
      throw PersistentStoreError(
        .cannotCreate, "\(folder.path) is itself a store, of type \(type.storeType): nothing else may lie in it",
        at: StoreLocation(file: place.path))
    }
  }

  /// The format whose content this is: asked of all, by content first, by file name only where all are unsure.
  ///
  /// - Throws: `.ambiguousFormat` naming those who claim it, `.notSupported` for a kind that is known and not read,
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
    throw PersistentStoreError(.unrecognizedFormat, "the content is no store\(hint)", at: place)
  }

  private static func ambiguous(_ types: [any AtomicStore.Type], _ place: StoreLocation) -> PersistentStoreError {
    let names = types.map { $0.storeType }.sorted().joined(separator: " and ")
    return PersistentStoreError(.ambiguousFormat, "\(names) both claim this content: name the type", at: place)
  }

  /// The formats that use a file name extension, by name.
  public func storeTypes(forFileExtension fileExtension: String) -> [any AtomicStore.Type] {
    types.filter { $0.traits.fileExtensions.contains(fileExtension.lowercased()) }
  }
}
