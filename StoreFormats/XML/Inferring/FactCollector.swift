import AtomicStoreSPI
import StoreCodecs

/// Collects what the objects of a document reveal about their model.
///
/// Most elements repeat what an earlier object revealed, so bytes are compared before anything is created from them.
final class FactCollector: DocumentReader {
  /// A property as its element specifies it, and the parsed form.
  struct Known {
    var name: [UInt8]
    var type: [UInt8]
    var destination: [UInt8]
    var isAttribute: Bool
    /// The number of the destination.
    var target = -1
  }
  struct KnownEntity {
    var name: [UInt8]
    var properties: [Known] = []
    /// The properties by a hash of their elements, for those that do not occur in the expected order.
    var byHash: [Int: [Int]] = [:]
    /// The index of the last one found: the next one probably follows it.
    var next = 0
  }

  var collected = StoreFacts()
  var known: [KnownEntity] = []
  var current = -1
  private var entityByName: [[UInt8]: Int] = [:]
  private var foldedNames: Set<ScalarString> = []
  /// Destinations by number.
  var targets: [ScalarString] = []
  var numbers = EntityByIdentifier()
  /// References to objects that follow later in the file: their entities are resolved at the end.
  var pending: [(target: Int, number: Int64)] = []
  var pendingTexts: [(target: Int, text: [UInt8])] = []
  var met: Set<Pair> = []
  struct Pair: Hashable {
    var target: Int
    var entity: Int
  }

  /// More than any real model has.
  private static let maximumEntities = 2048
  private static let maximumProperties = 16_384
  private static let tooMany = PersistentStoreError(
    .limitExceeded,
    "there are more than \(maximumEntities) entities, or \(maximumProperties) properties of one, so the model cannot be inferred: specify one"
  )

  // MARK: Events

  /// What was read of the object stays known. The loader reports that the object is left out.
  override func skipObject(because error: PersistentStoreError, hasBegun: Bool) throws(PersistentStoreError) {
    guard error.code == .malformed || error.code == .invalidValue else { throw error }
  }

  override func beginObject(type: Bytes, identifier: Bytes) throws(PersistentStoreError) {
    try enter(type)
    if let number = ObjectIdentifierText.number(identifier) {
      numbers.add(number, entity: current)
    } else {
      guard ObjectIdentifierText.parse(identifier) != nil else {
        throw malformed("'\(String(decoding: identifier.prefix(60), as: UTF8.self))' is not an object identifier")
      }
      numbers.add(Array(identifier), entity: current)
    }
  }

  /// Makes the entity of that name the current one.
  func enter(_ type: Bytes) throws(PersistentStoreError) {
    if current < 0 || !Self.equal(known[current].name, type) {
      if let found = entityByName[Array(type)] {
        current = found
      } else {
        guard known.count < Self.maximumEntities else { throw Self.tooMany }
        let name = NameFolding.entity.fold(try name(type))
        guard foldedNames.insert(ScalarString(name)).inserted else {
          throw malformed("the names of some entities differ only in case: specify a model to distinguish them")
        }
        current = known.count
        known.append(KnownEntity(name: Array(type)))
        entityByName[Array(type)] = current
        collected.entities.append(StoreFacts.Entity(name: name))
      }
    }
    known[current].next = 0
  }

  override func beginAttribute(name: Bytes, type: Bytes, valueType: Bytes?) throws(PersistentStoreError) {
    _ = try note(name: name, type: type, destination: Bytes(start: nil, count: 0), isAttribute: true)
  }

  override func relationship(
    name: Bytes, type: Bytes, destination: Bytes, references: Bytes
  ) throws(PersistentStoreError) {
    let target = try note(name: name, type: type, destination: destination, isAttribute: false)
    var start = 0
    while start < references.count {
      while start < references.count, references[start] == UInt8(ascii: " ") { start += 1 }
      var end = start
      while end < references.count, references[end] != UInt8(ascii: " ") { end += 1 }
      guard end > start else { return }
      let identifier = Bytes(rebasing: references[start..<end])
      start = end
      if let number = ObjectIdentifierText.number(identifier) {
        if let entity = numbers[number] {
          met.insert(Pair(target: target, entity: entity))
        } else {
          pending.append((target, number))
        }
      } else {
        pendingTexts.append((target, Array(identifier)))
      }
    }
  }

  /// What the document revealed, after reading it.
  func facts() -> StoreFacts {
    for (target, number) in pending {
      // Dangling references are refused by the load, with their location.
      if let entity = numbers[number] { met.insert(Pair(target: target, entity: entity)) }
    }
    for (target, text) in pendingTexts {
      if let entity = numbers[text] { met.insert(Pair(target: target, entity: entity)) }
    }
    var facts = collected
    for pair in met {
      let entity = ScalarString(collected.entities[pair.entity].name)
      if entity != targets[pair.target] {
        facts.kinships.insert(StoreFacts.Kinship(entity: entity, ancestor: targets[pair.target]))
      }
    }
    facts.names = StoreFacts.names(in: header?.entries ?? PropertyListDictionary())
    return facts
  }

  // MARK: Properties

  /// Records a property and returns its destination.
  func note(
    name: Bytes, type: Bytes, destination: Bytes, isAttribute: Bool
  ) throws(PersistentStoreError) -> Int {
    let count = known[current].properties.count
    let next = known[current].next
    if next < count, matches(known[current].properties[next], name, type, destination, isAttribute) {
      known[current].next = next + 1
      return known[current].properties[next].target
    }
    let hash = Self.hash(name, type, destination)
    for index in known[current].byHash[hash] ?? []
    where matches(known[current].properties[index], name, type, destination, isAttribute) {
      known[current].next = index + 1
      return known[current].properties[index].target
    }
    guard count < Self.maximumProperties else { throw Self.tooMany }
    var new = Known(
      name: Array(name), type: Array(type), destination: Array(destination), isAttribute: isAttribute)
    let key = ScalarString(NameFolding.property.fold(try self.name(name)))
    if isAttribute {
      guard let type = StoreTypeName.type(named: type) else {
        throw malformed(
          "'\(String(decoding: type.prefix(60), as: UTF8.self))' is not a known attribute type")
      }
      try collected.add(.attribute(type), named: key, to: current)
    } else {
      let (minimum, maximum) = try counts(type)
      let text = NameFolding.entity.fold(try self.name(destination))
      try collected.add(
        .relationship(.init(destination: text, minimumCount: minimum, maximumCount: maximum)), named: key, to: current)
      let target = ScalarString(text)
      new.target = targets.firstIndex(of: target) ?? targets.count
      if new.target == targets.count { targets.append(target) }
    }
    known[current].next = count + 1
    known[current].byHash[hash, default: []].append(count)
    known[current].properties.append(new)
    return new.target
  }

  private static func hash(_ name: Bytes, _ type: Bytes, _ destination: Bytes) -> Int {
    var hasher = Hasher()
    for part in [name, type, destination] {
      hasher.combine(bytes: UnsafeRawBufferPointer(part))
      hasher.combine(part.count)
    }
    return hasher.finalize()
  }

  private func matches(
    _ known: Known, _ name: Bytes, _ type: Bytes, _ destination: Bytes, _ isAttribute: Bool
  ) -> Bool {
    known.isAttribute == isAttribute && Self.equal(known.name, name) && Self.equal(known.type, type)
      && Self.equal(known.destination, destination)
  }

  private static func equal(_ known: [UInt8], _ bytes: Bytes) -> Bool {
    guard known.count == bytes.count else { return false }
    return known.withUnsafeBufferPointer { known in
      for index in 0..<bytes.count where known[index] != bytes[index] { return false }
      return true
    }
  }

  private func name(_ bytes: Bytes) throws(PersistentStoreError) -> String {
    guard let name = NameText.decode(bytes), !name.isEmpty else {
      throw malformed("'\(String(decoding: bytes.prefix(60), as: UTF8.self))' is not a valid name")
    }
    return name
  }

  /// Parses bounds such as `0/1`.
  private func counts(_ text: Bytes) throws(PersistentStoreError) -> (Int, Int) {
    let parts = String(decoding: text, as: UTF8.self).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 2, let minimum = Int(parts[0]), let maximum = Int(parts[1]), minimum >= 0, maximum >= 0 else {
      throw malformed("'\(String(decoding: text.prefix(60), as: UTF8.self))' is not a pair of relationship bounds")
    }
    return (minimum, maximum)
  }
}
