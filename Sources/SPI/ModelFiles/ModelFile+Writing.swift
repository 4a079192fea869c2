public import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension ModelFile {
  /// The model without what `contents(of:)` cannot write, and a description of what was omitted.
  ///
  /// Nothing that is omitted is part of version hashes: defaults and bounds that cannot be text in a model file,
  /// further version identifiers, the sort order of fetch requests.
  package static func withoutWhatFilesCannotHold(_ model: ModelDescription) -> (model: ModelDescription, lost: [String])
  {
    var kept = model
    var lost: [String] = []
    if model.versionIdentifiers.count > 1 {
      lost.append(
        "only the first of the version identifiers \(model.versionIdentifiers.joined(separator: ", ")) is written")
      kept.versionIdentifiers = [model.versionIdentifiers[0]]
    }
    kept.entities = kept.entities.map { reduced($0, &lost) }
    for index in kept.composites.indices {
      let owner = kept.composites[index].name
      kept.composites[index].attributes = kept.composites[index].attributes.map { reduced($0, owner, &lost) }
    }
    for index in kept.fetchRequestTemplates.indices { reduce(&kept.fetchRequestTemplates[index], &lost) }
    return (kept, lost)
  }

  /// What a compiled model does not keep, a line for each: the bits of fetch requests' options are not known.
  package static func lostInCompiledModel(_ model: ModelDescription) -> [String] {
    model.fetchRequestTemplates.filter { request in
      [
        request.includesSubentities, request.includesPropertyValues, request.includesPendingChanges,
        request.returnsObjectsAsFaults,
      ].contains(false) || request.returnsDistinctResults == true
    }.map { "the fetch request '\($0.name)' is written without its options, such as includesSubentities" }
  }

  /// The bytes of a compiled model, `.mom`.
  ///
  /// - Parameter file: The name for errors.
  /// - Throws: `.notSupported` for composite attributes, and for predicates and derivations that are not understood.
  package static func compiled(
    _ model: ModelDescription, file: String, parser: ModelExpressionParser
  ) throws(PersistentStoreError) -> [UInt8] {
    var writer = CompiledModelWriter(file: file, parser: parser)
    return try writer.bytes(of: model)
  }

  // The recursion is as deep as entities are nested, which the model limits.
  private static func reduced(_ entity: EntityDescription, _ lost: inout [String]) -> EntityDescription {
    var entity = entity
    entity.properties = entity.properties.map { property in
      switch property {
      case .attribute(let attribute): return .attribute(reduced(attribute, entity.name, &lost))
      case .fetchedProperty(var fetched):
        reduce(&fetched.fetchRequest, &lost)
        return .fetchedProperty(fetched)
      case .relationship: return property
      }
    }
    entity.subentities = entity.subentities.map { reduced($0, &lost) }
    return entity
  }

  private static func reduced(_ attribute: AttributeDescription, _ owner: String, _ lost: inout [String])
    -> AttributeDescription
  {
    var attribute = attribute
    func isWritable(_ value: StoredValue?) -> Bool {
      guard let value, !value.isNull else { return true }
      if case .data = value { return false }
      if case .string(let text) = value, !XMLText.canHold(text) { return false }
      return attribute.type != .undefined && attribute.type.accepts(value)
    }
    func drop(_ what: String) {
      lost.append("the \(what) of \(owner).\(attribute.name) cannot be written to a model file; it is omitted")
    }
    if !isWritable(attribute.defaultValue) {
      attribute.defaultValue = nil
      drop("default")
    }
    if !isWritable(attribute.minimum) || attribute.type == .string && attribute.minimum != nil {
      attribute.minimum = nil
      drop("minimum value")
    }
    if !isWritable(attribute.maximum) || attribute.type == .string && attribute.maximum != nil {
      attribute.maximum = nil
      drop("maximum value")
    }
    return attribute
  }

  private static func reduce(_ request: inout FetchRequestDescription, _ lost: inout [String]) {
    guard !request.sortOrder.isEmpty else { return }
    request.sortOrder = []
    lost.append(
      "the sort order of the fetch request '\(request.name)' cannot be written to a model file; it is omitted")
  }

  /// Writes models as the versions of a `.xcdatamodeld` directory.
  ///
  /// - Parameters:
  ///   - versions: Their names, without extension, and the models.
  ///   - current: The name of the current version.
  ///   - path: The path of the directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As `contents(of:)`; `.alreadyExists`, also for a directory that contains anything but versions of a
  ///   model; `.invalidValue` for a name that a file cannot have.
  public static func write(
    versions: [(name: String, model: ModelDescription)], current: String, to path: String, overwrite: Bool = false
  ) throws(PersistentStoreError) {
    let unit = Publication()
    try unit.add(versions: versions, current: current, at: path, overwrite: overwrite)
    try unit.commit()
  }

  /// Refuses a place where a model in Xcode's format cannot be written, as ``write(_:to:overwrite:)`` does.
  package static func checkTarget(_ path: String, overwrite: Bool) throws(PersistentStoreError) {
    let place = try StorePath.inspect(path)
    guard place.kind != .nothing, place.kind != .emptyFolder else { return }
    guard overwrite else {
      Publication.undoInterrupted(beside: path)
      guard try StorePath.inspect(path).kind == .nothing else { throw taken(path) }
      return
    }
    try checkReplaced(place.resolvedPath, path, overwrite: true)
  }

  /// Refuses to replace what has more in it than a model of the kind that the path names, or anything at all if nothing
  /// may be replaced.
  ///
  /// - Parameters:
  ///   - old: Where it is.
  ///   - path: The path of the result.
  static func checkReplaced(_ old: String, _ path: String, overwrite: Bool) throws(PersistentStoreError) {
    let place = try StorePath.inspect(old)
    guard place.kind == .folder || place.kind == .emptyFolder else { throw isFile(path) }
    let kind = try StorePath.inspect(path).fileExtension
    for name in try place.allNames() where name != ".DS_Store" && !Publication.isTemporaryName(name) {
      let isOfModel =
        switch kind {
        case "xcdatamodeld": name.hasSuffix(".xcdatamodel") || name == ".xccurrentversion"
        case "momd": name.hasSuffix(".mom") || name.hasSuffix(".omo") || name == "VersionInfo.plist"
        // One version, as Xcode keeps it.
        default: ["contents", "elements", "layout"].contains(name)
        }
      guard overwrite, isOfModel else {
        throw PersistentStoreError(
          .alreadyExists, "the directory contains '\(name)', which is not part of a model",
          at: StoreLocation(file: path))
      }
    }
  }

  private static func taken(_ path: String) -> PersistentStoreError {
    PersistentStoreError(
      .alreadyExists, "a file or directory already exists at this path", at: StoreLocation(file: path),
      remedy: .init(.replacement))
  }

  private static func isFile(_ path: String) -> PersistentStoreError {
    PersistentStoreError(
      .alreadyExists, "this is a file, not a model's directory", at: StoreLocation(file: path))
  }
}
