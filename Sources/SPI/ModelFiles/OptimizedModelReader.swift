import AtomicStoreSPI
import FoundationEssentials

/// Reads an optimized compiled model (`.omo`), the memory dump that Xcode writes beside the `.mom`.
///
/// The layout is not documented. What is read here was found by comparing files with the `.mom` beside them: entities,
/// their parents, and their attributes and relationships. The file has the version hash of each entity, which is
/// computed again from what was read: an entity whose hash differs has something that was not read, and is refused.
/// What version hashes do not cover, such as rules and indexes, is not read, which a warning says.
///
/// All numbers are big-endian words of 32 bits.
struct OptimizedModelReader {
  let file: String
  private let bytes: [UInt8]
  private(set) var warnings: [ModelFileWarning] = []
  private var texts: [String] = []
  private var names: [String] = []
  private var blobs: [[UInt8]] = []

  /// What `.omo` files begin with, and the versions of the layout that follow it.
  static let signature = "momv2$"
  private static let signatureLength = 64
  private static let versions = ["srsrao": 5, "[]77y2": 4]
  /// The words around each entity, and those that fill space between lists.
  private static let entityMark = 0xDAED_FEEB
  private static let wordLength = 4

  init(file: String, bytes: [UInt8]) {
    self.file = file
    self.bytes = bytes
  }

  // MARK: Words

  private func unknown(_ text: String, entity: String? = nil, property: String? = nil) -> PersistentStoreError {
    PersistentStoreError(
      .notSupported,
      "\(text): the layout of an optimized compiled model (.omo) is known only in part; use the .mom beside it",
      at: StoreLocation(file: file, entity: entity, property: property))
  }

  private func malformed(_ text: String, at offset: Int) -> PersistentStoreError {
    PersistentStoreError(
      .malformed, "\(text) at byte \(offset) of the optimized compiled model", at: StoreLocation(file: file))
  }

  private func word(_ offset: Int) throws(PersistentStoreError) -> Int {
    guard offset >= 0, offset <= bytes.count - Self.wordLength else {
      throw malformed("the file ends before the number", at: offset)
    }
    return bytes[offset..<offset + Self.wordLength].reduce(0) { $0 << 8 | Int($1) }
  }

  private func slice(_ offset: Int, _ count: Int) throws(PersistentStoreError) -> ArraySlice<UInt8> {
    guard offset >= 0, offset <= bytes.count, count <= bytes.count - offset else {
      throw malformed("the file ends before the value", at: offset)
    }
    return bytes[offset..<offset + count]
  }

  private static func aligned(_ offset: Int, to step: Int) -> Int { (offset + step - 1) / step * step }

  private func text(_ number: Int, at offset: Int) throws(PersistentStoreError) -> String {
    guard texts.indices.contains(number) else { throw malformed("text \(number) does not exist", at: offset) }
    return texts[number]
  }

  // MARK: Lists

  /// Where the parts of the file are.
  private struct Header {
    var entities: (offset: Int, count: Int)
    var properties: (offset: Int, count: Int)
    /// The numbers of properties of each kind: attributes first, relationships third from the end.
    var kinds: [Int]
    var blobs: (offset: Int, count: Int)
    var names: (offset: Int, count: Int)
    var texts: (offset: Int, count: Int)
  }

  private func header() throws(PersistentStoreError) -> Header {
    let version = String(decoding: try slice(Self.signature.utf8.count, 6), as: UTF8.self)
    guard let kindCount = Self.versions[version] else { throw unknown("this version of the layout is not known") }
    var words: [Int] = []
    for index in 0..<kindCount + 18 { words.append(try word(Self.signatureLength + index * Self.wordLength)) }
    let rest = 5 + kindCount
    // Of the files that the layout was found with, none has anything there.
    guard words[(rest + 9)...].allSatisfy({ $0 == 0 }) else {
      throw unknown("the model has a list of an unknown kind, such as fetch requests")
    }
    return Header(
      entities: (words[1], words[2]), properties: (words[3], words[4]), kinds: Array(words[5..<rest]),
      blobs: (words[rest + 2], words[rest + 3]), names: (words[rest + 4], words[rest + 5]),
      texts: (words[rest + 6], words[rest + 7]))
  }

  /// Reads the lists of texts, of names in UTF-16, and of bytes.
  private mutating func readValues(_ header: Header) throws(PersistentStoreError) {
    // Texts and bytes are objects: a header that begins at a multiple of 8, with the length, then the content.
    var place = header.texts.offset + Self.wordLength
    for _ in 0..<header.texts.count {
      place = Self.aligned(place, to: 8)
      let count = try word(place + 12)
      let content = try slice(place + 24, count)
      guard let text = String(validating: content, as: UTF8.self) else {
        throw malformed("a text is not UTF-8", at: place)
      }
      texts.append(text)
      place += 24 + count + 1
    }
    place = Self.aligned(header.blobs.offset, to: Self.wordLength) + Self.wordLength
    for _ in 0..<header.blobs.count {
      place = Self.aligned(place, to: 8)
      let count = try word(place + 16)
      blobs.append(Array(try slice(place + 24, count)))
      place += 24 + count
    }
    place = Self.aligned(header.names.offset, to: Self.wordLength) + Self.wordLength
    for _ in 0..<header.names.count {
      let count = try word(place)
      let content = Array(try slice(place + 8, count))
      let units = stride(from: 0, to: count - 1, by: 2).map { UInt16(content[$0]) | UInt16(content[$0 + 1]) << 8 }
      names.append(String(decoding: units, as: UTF16.self))
      place = Self.aligned(place + 8 + count, to: Self.wordLength)
    }
  }

  // MARK: The model

  mutating func model() throws(PersistentStoreError) -> ModelDescription {
    let header = try header()
    try readValues(header)
    var found = try entities(header.entities)
    try readProperties(header, into: &found)
    let nesting = found.map { entry in
      EntityNesting.Found(
        entity: entry.entity, parent: entry.parent.map { found[$0].entity.name })
    }
    var model = ModelDescription()
    model.entities = try EntityNesting.nested(nesting, file: file)
    try markAbstract(found, &model)
    warnings.append(
      ModelFileWarning(
        line: nil,
        text: "of an optimized compiled model (.omo) only what version hashes prove is read: not defaults, rules, "
          + "indexes, renaming identifiers, user info, fetch requests and configurations; use the .mom beside it"))
    return model
  }

  private struct FoundEntity {
    var entity: EntityDescription
    var parent: Int?
    var hash: [UInt8]
  }

  private func entities(_ list: (offset: Int, count: Int)) throws(PersistentStoreError) -> [FoundEntity] {
    var result: [FoundEntity] = []
    guard try word(list.offset) == list.count else { throw malformed("two counts of entities differ", at: list.offset) }
    var place = list.offset + Self.wordLength
    let numbers = Dictionary(
      names.enumerated().map { (ScalarString($0.element), $0.offset) }, uniquingKeysWith: { first, _ in first })
    for _ in 0..<list.count {
      let size = try word(place + Self.wordLength)
      guard try word(place) == Self.entityMark, size >= 10 * Self.wordLength, try word(place + size) == Self.entityMark
      else { throw malformed("an entity is expected", at: place) }
      var words: [Int] = []
      for index in 0..<size / Self.wordLength - 2 { words.append(try word(place + (2 + index) * Self.wordLength)) }
      let name = try text(words[2], at: place)
      guard !name.isEmpty, blobs.indices.contains(words[1]), blobs[words[1]].count == 32 else {
        throw malformed("an entity does not have a name and a version hash", at: place)
      }
      var entity = EntityDescription(name: name)
      let className = try text(words[3], at: place)
      entity.managedObjectClassName = className.isEmpty || className == "NSManagedObject" ? nil : className
      if let number = numbers[ScalarString(name)] { entity.uniquenessConstraints = constraints(words, number) }
      let hasParent = words[4] != 0
      if hasParent, words[5] >= list.count { throw malformed("the parent of \(name) does not exist", at: place) }
      result.append(FoundEntity(entity: entity, parent: hasParent ? words[5] : nil, hash: blobs[words[1]]))
      place += size + Self.wordLength
    }
    return result
  }

  /// The uniqueness constraints of an entity, as far as they are found: others show in the version hash.
  ///
  /// They follow the number of the entity's name among those in UTF-16, which follows 18 zeros.
  private func constraints(_ words: [Int], _ number: Int) -> [[String]] {
    let (gap, header) = (18, 5)
    func isZero(_ range: Range<Int>) -> Bool { range.upperBound <= words.count && words[range].allSatisfy { $0 == 0 } }
    let mark = words.indices.first {
      words[$0] == number && $0 >= gap && isZero($0 - gap..<$0) && isZero($0 + 1..<$0 + 1 + header)
    }
    guard let mark, mark + 1 + header < words.count else { return [] }
    var result: [[String]] = []
    var place = mark + 2 + header
    for _ in 0..<words[mark + 1 + header] {
      guard isZero(place..<place + header), place + header < words.count else { return [] }
      let count = words[place + header]
      place += header + 1
      guard count > 0, count <= (words.count - place) / 2 else { return [] }
      let numbers = (0..<count).map { words[place + $0 * 2 + 1] }
      guard numbers.allSatisfy({ texts.indices.contains($0) }) else { return [] }
      result.append(numbers.map { texts[$0] })
      place += count * 2
    }
    return result
  }

  /// The words of a property that all kinds have.
  private enum Word {
    static let kind = 1
    static let flags = 2
    static let entity = 5
    static let name = 6
    /// Zero in all files that the layout was found with.
    static let unknown = [3, 7, 8, 9]
    static let attributeTransformer = 11
    static let attributeType = 12
    static let attributeClass = 13
    static let destination = 11
    static let hasInverse = 12
    static let inverse = 13
    static let maximumCount = 14
    static let minimumCount = 15
    static let deleteRule = 16
  }
  private enum Kind {
    static let attribute = 2
    static let relationship = 4
  }
  private enum Storage {
    static let external = 4
    static let preservedOnDeletion = 16
  }
  private enum Flag {
    static let transient = 2
    static let optional = 4
    static let preservedOnDeletion = 0x1000
    static let known = transient | optional | preservedOnDeletion
  }

  private mutating func readProperties(_ header: Header, into found: inout [FoundEntity]) throws(PersistentStoreError) {
    var kinds = header.kinds
    (kinds[0], kinds[kinds.count - 3]) = (0, 0)
    guard kinds.allSatisfy({ $0 == 0 }) else {
      throw unknown("the model has properties of an unknown kind, such as fetched properties or derived attributes")
    }
    var place = header.properties.offset + header.kinds.count * Self.wordLength
    var properties: [[Int]] = []
    for _ in 0..<header.properties.count {
      let size = try word(place)
      guard size >= 16 * Self.wordLength, size <= 64 * Self.wordLength, size % Self.wordLength == 0 else {
        throw malformed("a property is expected", at: place)
      }
      var words: [Int] = []
      for index in 0..<size / Self.wordLength { words.append(try word(place + index * Self.wordLength)) }
      guard found.indices.contains(words[Word.entity]) else {
        throw malformed("the entity of a property does not exist", at: place)
      }
      properties.append(words)
      place += size
    }
    for words in properties {
      let owner = found[words[Word.entity]].entity.name
      let name = try text(words[Word.name], at: header.properties.offset)
      guard Word.unknown.allSatisfy({ words[$0] == 0 }), words[Word.flags] & ~Flag.known == 0 else {
        throw unknown("the property has something of an unknown kind", entity: owner, property: name)
      }
      let property: PropertyDescription
      switch words[Word.kind] {
      case Kind.attribute: property = .attribute(try attribute(words, name, owner))
      case Kind.relationship where words.count == 17:
        property = .relationship(try relationship(words, name, properties, found))
      default: throw unknown("the property is of an unknown kind", entity: owner, property: name)
      }
      found[words[Word.entity]].entity.properties.append(property)
    }
    for index in found.indices {
      found[index].entity.properties.sort { CompiledModelReader.rank($0) < CompiledModelReader.rank($1) }
    }
  }

  private mutating func attribute(
    _ words: [Int], _ name: String, _ owner: String
  ) throws(PersistentStoreError) -> AttributeDescription {
    guard let type = AttributeType(versionHashNumber: words[Word.attributeType]), type != .composite("") else {
      throw unknown("unknown attribute type number \(words[Word.attributeType])", entity: owner, property: name)
    }
    var attribute = AttributeDescription(name: name, type: type)
    attribute.isOptional = words[Word.flags] & Flag.optional != 0
    attribute.isTransient = words[Word.flags] & Flag.transient != 0
    // The last word, after the default value, is as in a .mom.
    let storage = words[words.count - 1]
    attribute.allowsExternalBinaryDataStorage = storage & Storage.external != 0
    guard storage & ~(Storage.external | Storage.preservedOnDeletion) == 0 else {
      throw unknown("the attribute has unknown flags (\(storage))", entity: owner, property: name)
    }
    if words[Word.flags] & Flag.preservedOnDeletion != 0 {
      attribute.extras.append(.attribute(name: "preserveAfterDeletion", value: "YES"))
    }
    if type == .transformable {
      let transformer = words[Word.attributeTransformer]
      guard names.indices.contains(transformer) else {
        throw malformed("the name of a transformer does not exist", at: 0)
      }
      attribute.valueTransformerName = names[transformer].isEmpty ? nil : names[transformer]
      let className = try text(words[Word.attributeClass], at: 0)
      attribute.attributeValueClassName = className.isEmpty ? nil : className
    }
    return attribute
  }

  private func relationship(
    _ words: [Int], _ name: String, _ properties: [[Int]], _ found: [FoundEntity]
  ) throws(PersistentStoreError) -> RelationshipDescription {
    let owner = found[words[Word.entity]].entity.name
    guard found.indices.contains(words[Word.destination]) else {
      throw malformed("the destination of \(owner).\(name) does not exist", at: 0)
    }
    var inverse: String?
    if words[Word.hasInverse] != 0 {
      guard properties.indices.contains(words[Word.inverse]) else {
        throw malformed("the inverse of \(owner).\(name) does not exist", at: 0)
      }
      inverse = try text(properties[words[Word.inverse]][Word.name], at: 0)
    }
    let rules: [Int: DeleteRule] = [0: .noAction, 1: .nullify, 2: .cascade, 3: .deny]
    guard let rule = rules[words[Word.deleteRule]] else {
      throw unknown("unknown delete rule \(words[Word.deleteRule])", entity: owner, property: name)
    }
    var relationship = RelationshipDescription(
      name: name, destinationEntityName: found[words[Word.destination]].entity.name, inverseName: inverse,
      isOptional: words[Word.flags] & Flag.optional != 0, maximumCount: words[Word.maximumCount])
    relationship.minimumCount = words[Word.minimumCount]
    relationship.deleteRule = rule
    relationship.isTransient = words[Word.flags] & Flag.transient != 0
    return relationship
  }

  // MARK: Proof

  /// Compares the version hashes, and finds out by them which entities are abstract.
  private func markAbstract(_ found: [FoundEntity], _ model: inout ModelDescription) throws(PersistentStoreError) {
    let expected = Dictionary(
      found.map { (ScalarString($0.entity.name), $0.hash) }, uniquingKeysWith: { first, _ in first })
    func mark(_ entities: inout [EntityDescription], _ names: Set<ScalarString>) {
      for index in entities.indices {
        if names.contains(ScalarString(entities[index].name)) { entities[index].isAbstract = true }
        mark(&entities[index].subentities, names)
      }
    }
    func differing() -> [String] {
      ManagedObjectModel(unchecked: model).versionHashes.entries.filter {
        expected[ScalarString($0.entityName)] != Array($0.hash)
      }.map(\.entityName)
    }
    // The hash of an entity covers its parents: those that differ at the top first.
    var rest = differing()
    while !rest.isEmpty {
      let parents = Dictionary(
        found.map { (ScalarString($0.entity.name), $0.parent) }, uniquingKeysWith: { first, _ in first })
      let isRest = Set(rest.map { ScalarString($0) })
      let tops = rest.filter { name in
        !(parents[ScalarString(name)].flatMap { $0 }.map { isRest.contains(ScalarString(found[$0].entity.name)) }
          ?? false)
      }
      mark(&model.entities, Set(tops.map { ScalarString($0) }))
      let after = differing()
      if let wrong = after.first(where: { name in tops.contains { ScalarString($0) == ScalarString(name) } }) {
        throw unknown(
          "the version hash of the entity is another one, so that it has something that is not read, such as an "
            + "ordered relationship or a hash modifier", entity: wrong)
      }
      rest = after
    }
  }
}
