import AtomicStoreSPI

extension StoreOpening {
  func inspect() throws(PersistentStoreError) -> StorePath { try StorePath.inspect(path) }

  /// Reads only the metadata.
  func metadata() throws(PersistentStoreError) -> StoreMetadata {
    if let type = try registry.incrementalType(type, at: path) { return try incrementalMetadata(type) }
    if let type = registry.inProcessType(type, at: path) { return try inProcessMetadata(type) }
    return try withFormat { format, formatType, source throws(PersistentStoreError) in
      try readMetadata(&format, source, formatType)
    }
  }

  /// Reads the metadata, and the model that the store carries, or that is inferred from its data.
  func metadataAndModel() throws(PersistentStoreError) -> (StoreMetadata, ManagedObjectModel) {
    if try registry.incrementalType(type, at: path) != nil || registry.inProcessType(type, at: path) != nil {
      let metadata = try metadata()
      guard let model = metadata.model else {
        throw PersistentStoreError(.modelNeeded, "the store does not contain a model", at: StoreLocation(file: path))
      }
      return (metadata, try compiled(model))
    }
    return try withFormat { format, formatType, source throws(PersistentStoreError) in
      let metadata = try readMetadata(&format, source, formatType)
      return (metadata, try resolveModel(&format, source, metadata))
    }
  }

  /// Asks the format for something that the file has beside its objects.
  ///
  /// - Parameter body: Called with the model that was specified, or that the store carries.
  /// - Returns: Also what the format reported. Nothing for a store that is not a file.
  func beside<Result>(
    _ body: (inout any AtomicStore, StoreSource, ManagedObjectModel?) throws(PersistentStoreError) -> [Result]
  ) throws(PersistentStoreError) -> (found: [Result], notes: [LoadNote]) {
    guard registry.inProcessType(type, at: path) == nil else { return ([], []) }
    return try withFormat { format, formatType, source throws(PersistentStoreError) in
      try checkSize(of: source, try ownOptions().limits)
      let metadata = try readMetadata(&format, source, formatType)
      let model = try ownModel(metadata)
      return (try body(&format, source, model), source.notes)
    }
  }

  private func withFormat<Result>(
    _ body: (inout any AtomicStore, any AtomicStore.Type, StoreSource) throws(PersistentStoreError) -> Result
  ) throws(PersistentStoreError) -> Result {
    let place = try inspect()
    guard place.holdsContent else {
      throw PersistentStoreError(.notFound, "the store does not exist", at: StoreLocation(file: path))
    }
    let formatType = try formatType(for: place)
    var format = try make(formatType, place, for: .reading)
    do throws(PersistentStoreError) {
      return try body(&format, formatType, try StoreSource(opening: place))
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  /// Opens the store at a path, or creates one there.
  ///
  /// - Throws: `.changedOnDisk` if the file keeps being replaced; why it cannot be looked at once it was opened.
  func open(_ place: StorePath) throws(PersistentStoreError) -> OpenStore {
    try KitCopies.requireOnlyOne()
    guard place.holdsContent else { return try openOnce(place) }
    // Content, metadata and objects are read one after the other. If the file is replaced meanwhile, they do not match,
    // and everything is read again.
    var place = place
    for _ in 0..<20 {
      let result: Result<OpenStore, PersistentStoreError>
      do throws(PersistentStoreError) { result = .success(try openOnce(place)) } catch { result = .failure(error) }
      let now: StorePath
      do throws(PersistentStoreError) { now = try inspect() } catch {
        if case .success(var opened) = result { opened.close(from: nil) }
        throw error
      }
      if now.identity == place.identity { return try result.get() }
      if case .success(var opened) = result { opened.close(from: nil) }
      guard now.holdsContent else { break }
      place = now
    }
    throw PersistentStoreError(
      .changedOnDisk, "the file keeps being replaced while it is opened", at: StoreLocation(file: path))
  }

  /// Opens it whole; if something is damaged that the caller does not need, without that.
  private func openOnce(_ place: StorePath) throws(PersistentStoreError) -> OpenStore {
    do throws(PersistentStoreError) { return try openOnce(place, leavingOutDamage: false) } catch {
      guard readNeeds != nil, isReadOnly, options["damaged"] == nil, options["dangling"] == nil, error.isOfOneObject
      else { throw error }
      var lenient = self
      lenient.options["damaged"] = RelationshipRules.DamagedObjects.skip.rawValue
      // What is then wrong is wrong with what the caller needs, and was found before.
      guard let opened = try? lenient.openOnce(place, leavingOutDamage: true) else { throw error }
      return opened
    }
  }

  private func openOnce(_ place: StorePath, leavingOutDamage: Bool) throws(PersistentStoreError) -> OpenStore {
    let formatType = try formatType(for: place)
    guard isReadOnly || formatType.traits.canWrite || place.holdsContent else {
      throw PersistentStoreError(
        .notSupported, "\(formatType.storeType) stores cannot be written, only read", at: StoreLocation(file: path))
    }
    var format = try make(formatType, place, for: use ?? (isReadOnly ? .reading : .readingAndWriting))
    guard place.holdsContent else { return try begin(&format, formatType, place) }

    do throws(PersistentStoreError) {
      let source = try StoreSource(opening: place)
      let (_, limits, rules, _) = try ownOptions()
      try checkSize(of: source, limits)
      var metadata = try readMetadata(&format, source, formatType)
      let whole = try resolveModel(&format, source, metadata)
      let part = partToRead(of: whole, formatType, rules)
      let model = part ?? whole
      metadata.model = model.description
      if rules.danglingReferences == .keepAsText, !format.traits.keepsMetadata {
        throw PersistentStoreError(
          .invalidOption, "the option 'dangling' cannot be keep-as-text: the store has no metadata to keep texts in",
          at: StoreLocation(file: path))
      }
      let builder = NodeTableBuilder(model: model, file: path, limits: limits, inputBytes: try source.totalSize())
      if part != nil { builder.wholeModel = whole }
      builder.rules = rules
      if leavingOutDamage {
        guard let needed = readNeeds?(whole).objects else {
          throw PersistentStoreError(.malformed, "everything is needed", at: StoreLocation(file: path))
        }
        builder.rules.neededObjects = needed
      }
      builder.inverseHandling = .enforce
      if let similarNodes { builder.share(similarNodes) }
      do throws(PersistentStoreError) { try format.load(source, into: builder) } catch {
        throw naming(entitiesOf: &format, source, in: error)
      }
      let nodes = try builder.finish()
      let lost = source.notes.filter(\.isLoss).compactMap(\.location)
      if let needed = builder.rules.neededObjects, let place = lost.first(where: { needed.contains($0, in: model) }) {
        throw PersistentStoreError(.malformed, "what is left out is needed", at: place)
      }
      try checkDamage(builder.damage)
      metadata.entries.keep(danglingReferences: builder.keptReferences)
      try checkConfiguration(nodes)
      metadata.lastReference = max(metadata.lastReference, nodes.greatestIntegerReference)
      var opening = self
      opening.similarNodes = nil
      opening.readNeeds = nil
      return OpenStore(
        format: format, version: NodeVersion(nodes), metadata: metadata, storedLastReference: metadata.lastReference,
        storedMetadata: metadata, fileIdentity: place.identity,
        unrelatedFiles: source.unrelatedFiles, readNotes: builder.notes,
        notes: source.notes + builder.observations + builder.damage, opening: opening)
    } catch {
      format.willRemove(from: nil)
      throw error.located(StoreLocation(file: path))
    }
  }

  /// The model of the properties that are read; nil for all. A store that is read in part is never written, and has
  /// its own model: others must match it as a whole.
  private func partToRead(
    of whole: ManagedObjectModel, _ formatType: any AtomicStore.Type, _ rules: RelationshipRules
  ) -> ManagedObjectModel? {
    guard let readNeeds, formatType.traits.leavesOutProperties, isReadOnly, model == nil, similarNodes == nil,
      rules.damagedObjects == .refuse
    else { return nil }
    return readNeeds(whole).properties.flatMap { whole.part(withPropertiesNamed: $0) }
  }

  /// Creates a new store: nothing is written except, if there is no file, an empty file that reserves the path.
  private func begin(
    _ format: inout any AtomicStore, _ formatType: any AtomicStore.Type, _ place: StorePath
  ) throws(PersistentStoreError) -> OpenStore {
    guard !isReadOnly else {
      let reason = "a new store cannot be opened read-only"
      throw place.kind == .nothing
        ? PersistentStoreError(.notFound, "the store does not exist, and \(reason)", at: StoreLocation(file: path))
        : PersistentStoreError(.malformed, "the file is empty, and \(reason)", at: StoreLocation(file: path))
    }
    guard let model else {
      throw PersistentStoreError(.modelNeeded, "a new store needs a model", at: StoreLocation(file: path))
    }
    guard model.entities(forConfiguration: configurationName) != nil else { throw unknownConfiguration(model) }
    if place.kind == .emptyFolder, format.layout == .file {
      throw PersistentStoreError(
        .unsupportedFileKind, "this is a directory, but a \(formatType.storeType) store is a file",
        at: StoreLocation(file: path))
    }
    if place.kind == .nothing { try registry.refuseWithinStore(place) }
    let reservation = try Reservation.make(at: place)
    return OpenStore(
      format: format, version: NodeVersion(NodeTable(model: model)),
      metadata: StoreMetadata(storeType: formatType.storeType, model: model.description),
      fileIdentity: try StorePath.inspect(path).identity, reservation: reservation, opening: self)
  }

  /// What was left out cannot be kept by a save.
  private func checkDamage(_ damage: [LoadNote]) throws(PersistentStoreError) {
    if !isReadOnly { try refuse(damage: damage) }
  }

  func refuse(damage: [LoadNote]) throws(PersistentStoreError) {
    guard let first = damage.first else { return }
    throw PersistentStoreError(
      .malformed,
      "saving would drop damaged objects (\(damage.count) in all; the first: \(first)): open the store read-only and write a copy, as 'atomicstore check STORE --fix damaged=skip-object -o COPY' does",
      at: StoreLocation(file: path))
  }

  // MARK: Whose it is

  func formatType(for place: StorePath) throws(PersistentStoreError) -> any AtomicStore.Type {
    guard place.holdsContent else {
      if let type { return try registry.storeType(named: type) }
      let byName = registry.storeTypes(forFileExtension: place.fileExtension)
      if byName.count == 1 { return byName[0] }
      throw PersistentStoreError(
        .unrecognizedFormat,
        registry.absence(fileExtension: place.fileExtension)
          ?? "a new store needs a type: the extension '\(place.fileExtension)' names "
          + (byName.isEmpty ? "none" : byName.map { $0.storeType }.sorted().joined(separator: " and ")),
        at: StoreLocation(file: path))
    }
    let probe = try place.probe()
    guard let type else { return try registry.recognize(probe) }
    let asked = try registry.storeType(named: type)
    switch registry.recognition(of: probe, by: asked) {
    case .yes, .unsure: return asked
    case .known(let what): throw PersistentStoreError(.notSupported, what, at: StoreLocation(file: path))
    case .no: break
    }
    do throws(PersistentStoreError) {
      let other = try registry.recognize(probe)
      throw PersistentStoreError(
        .foreignFormat, "the store is of type \(other.storeType), not \(type)", at: StoreLocation(file: path))
    } catch {
      if error.code == .foreignFormat || error.code == .notSupported { throw error }
      throw PersistentStoreError(.foreignFormat, "the content is not a \(type) store", at: StoreLocation(file: path))
    }
  }

  private func make(
    _ formatType: any AtomicStore.Type, _ place: StorePath, for use: StoreOption.Use
  ) throws(PersistentStoreError) -> any AtomicStore {
    let (own, limits, rules, _) = try ownOptions()
    try formatType.traits.check(own, of: formatType.storeType, for: use)
    var configuration = StoreConfiguration(
      path: place.resolvedPath, configurationName: configurationName, options: own, isReadOnly: isReadOnly,
      limits: limits)
    configuration.skipsDamagedObjects = rules.damagedObjects == .skip
    do {
      return try formatType.init(configuration)
    } catch {
      throw error.located(StoreLocation(file: path))
    }
  }

  /// The format's own options, and those among them that belong to the kit.
  func ownOptions() throws(PersistentStoreError) -> (
    own: StoreOptions, limits: StoreLimits, rules: RelationshipRules, ignoresVersionHashes: Bool
  ) {
    var own = options
    let limits = try StoreLimits(taking: &own)
    let rules = try RelationshipRules(taking: &own)
    let ignoresVersionHashes = try Self.takeIgnoresVersionHashes(from: &own)
    return (own, limits, rules, ignoresVersionHashes)
  }

  private func checkSize(of source: StoreSource, _ limits: StoreLimits) throws(PersistentStoreError) {
    guard limits.bytes < .max else { return }
    let size = try source.totalSize()
    try limits.check(size: size, at: StoreLocation(file: path))
  }

  // MARK: What it says

  private func readMetadata(
    _ format: inout any AtomicStore, _ source: StoreSource, _ formatType: any AtomicStore.Type
  ) throws(PersistentStoreError) -> StoreMetadata {
    let metadata: StoreMetadata
    do { metadata = try format.metadata(in: source) } catch { throw error.located(StoreLocation(file: path)) }
    guard ScalarString(metadata.storeType) == ScalarString(formatType.storeType) else {
      throw PersistentStoreError(
        .storeTypeMismatch,
        "the metadata specifies the type '\(metadata.storeType)', but the store is '\(formatType.storeType)'",
        at: StoreLocation(file: path))
    }
    return metadata
  }

  private func resolveModel(
    _ format: inout any AtomicStore, _ source: StoreSource, _ metadata: StoreMetadata
  ) throws(PersistentStoreError) -> ManagedObjectModel {
    if let known = try ownModel(metadata) { return known }
    return try compiled(try format.inferModel(from: source))
  }

  /// The model that was specified, if it is the store's, or the one that the store carries; nil if there is neither.
  private func ownModel(_ metadata: StoreMetadata) throws(PersistentStoreError) -> ManagedObjectModel? {
    if let model {
      guard model.entities(forConfiguration: configurationName) != nil else { throw unknownConfiguration(model) }
      do { try check(model, metadata) } catch { throw error.located(StoreLocation(file: path)) }
      return model
    }
    return try metadata.model.map { description throws(PersistentStoreError) in try compiled(description) }
  }

  /// The store's own model.
  private func compiled(_ description: ModelDescription) throws(PersistentStoreError) -> ManagedObjectModel {
    // Most stores that are compared have the same model: it is compiled once.
    if let known = similarNodes?.model, description.isIdentical(to: known.description) { return known }
    do {
      return try ManagedObjectModel(description)
    } catch {
      if let limit = error.problems.first(where: \.isLimit) {
        throw PersistentStoreError(
          .limitExceeded, "the store's own model: \(limit.message)",
          at: StoreLocation(file: path, entity: limit.entityName),
          underlying: error)
      }
      throw PersistentStoreError(
        .invalidModel, "the store's own model is not valid", at: StoreLocation(file: path), underlying: error)
    }
  }

  func unknownConfiguration(_ model: ManagedObjectModel) -> PersistentStoreError {
    let names = model.configurations.isEmpty ? "none" : model.configurations.joined(separator: ", ")
    return PersistentStoreError(
      .invalidModel, "the model does not have the configuration '\(configurationName ?? "")'; it has \(names)",
      at: StoreLocation(file: path))
  }

  /// A store opened with a configuration may contain only objects of its entities.
  func checkConfiguration(_ nodes: NodeTable) throws(PersistentStoreError) {
    guard let configurationName, let allowed = nodes.model.entities(forConfiguration: configurationName) else { return }
    let numbers = Set(allowed.map(\.index))
    for entity in nodes.model.entities where nodes.count(of: entity.index) > 0 && !numbers.contains(entity.index) {
      throw PersistentStoreError(
        .modelMismatch,
        "the store holds objects of \(entity.name), which is not in the configuration "
          + "'\(configurationName)'", at: StoreLocation(file: path, entity: entity.name))
    }
  }
}

extension PropertyListDictionary {
  /// Adds the texts of removed references to those already kept.
  package mutating func keep(danglingReferences references: [String: [String]]) {
    guard !references.isEmpty else { return }
    var kept = self[RelationshipRules.danglingReferencesKey]?.dictionaryValue ?? PropertyListDictionary()
    for (owner, texts) in references.sorted(by: { $0.key < $1.key }) {
      let known = kept[owner]?.arrayValue ?? []
      let new = texts.map { PropertyListValue.string($0) }.filter { !known.contains($0) }
      kept[owner] = .array(known + new)
    }
    self[RelationshipRules.danglingReferencesKey] = .dictionary(kept)
  }
}
