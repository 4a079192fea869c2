import AtomicStoreSPI
import StoreCodecs

/// The objects of a binary store as the archive has them: a node for each primary key.
struct BinaryMap {
  struct Node {
    let key: Int64
    let entityName: String
    let values: [KeyedArchive.Value]
    /// Relationships by name, with the keys that they name, and whether their list can grow, as that of a to-many can.
    let related: [(name: String, keys: [Int64], isMutable: Bool)]
    let object: KeyedArchive.Value
  }

  /// In the order of their keys.
  let nodes: [Node]
  /// Why objects were left out that cannot be read.
  let damage: [PersistentStoreError]

  /// - Parameter skipsDamage: Whether objects that cannot be read are left out.
  /// - Throws: `.malformed` with the object in the archive; `.duplicateReference` for a key that is there twice.
  init(_ archive: KeyedArchive, skippingDamage skipsDamage: Bool = false) throws(PersistentStoreError) {
    guard let top = archive.top.first(where: { $0.key == "mapData" })?.value else {
      throw PersistentStoreError(
        .malformed, "the archive of the objects has no 'mapData'", at: StoreLocation(offset: BinaryHeader.size))
    }
    var nodes: [Node] = []
    var damage: [PersistentStoreError] = []
    do throws(PersistentStoreError) {
      for (key, object) in try top.entries() {
        do throws(PersistentStoreError) { nodes.append(try Self.node(key, object)) } catch {
          guard skipsDamage else { throw error }
          damage.append(error)
        }
      }
    } catch {
      throw error.located(StoreLocation(offset: BinaryHeader.size))
    }
    nodes.sort { $0.key < $1.key }
    var kept: [Node] = []
    kept.reserveCapacity(nodes.count)
    for node in nodes {
      guard kept.last?.key == node.key else {
        kept.append(node)
        continue
      }
      let error = PersistentStoreError(
        .duplicateReference, "two objects have the key \(node.key)",
        at: StoreLocation(entity: node.entityName, reference: String(node.key)))
      guard skipsDamage else { throw error }
      damage.append(error)
    }
    self.nodes = kept
    self.damage = damage
  }

  private static func node(_ text: String, _ object: KeyedArchive.Value) throws(PersistentStoreError) -> Node {
    let object = try object.expect(class: "NSDictionaryMapNode", "NSStoreMapNode")
    guard let key = Int64(text) else { throw object.malformed("'\(text)' is not a primary key") }
    guard let own = try object.integer("NSPrimaryKey64"), Int64(own) == key else {
      throw object.malformed("the object under the key \(key) says that it has another one")
    }
    let name = try object.requiredString("NSEntityName")
    guard let values = try object.list("NSAttributeValues") else {
      throw object.malformed("the key 'NSAttributeValues' is missing")
    }
    var related: [(name: String, keys: [Int64], isMutable: Bool)] = []
    for (relationship, list) in try object.dictionary("NSRelatedNodes") ?? [] {
      var keys: [Int64] = []
      for element in try list.elements() {
        guard let number = element.integerValue else { throw element.malformed("a primary key is expected") }
        keys.append(Int64(number))
      }
      related.append((relationship, keys, list.className.map { $0.hasPrefix("NSMutable") } ?? false))
    }
    return Node(key: key, entityName: name, values: values, related: related, object: object)
  }
}
