package import AtomicStoreSPI
import StoreCodecs

/// Parses predicates and expressions of a model, which a compiled one holds as objects. The parser is the caller's:
/// this target does not know the language.
package struct ModelExpressionParser: Sendable {
  package var predicate: @Sendable (String) throws -> FetchPredicate
  package var expression: @Sendable (String) throws -> FetchExpression

  package init(
    predicate: @escaping @Sendable (String) throws -> FetchPredicate,
    expression: @escaping @Sendable (String) throws -> FetchExpression
  ) {
    self.predicate = predicate
    self.expression = expression
  }
}

/// Writes a compiled model: the archive of an `NSManagedObjectModel` with the classes and keys that Xcode's compiler
/// writes, which `CompiledModelReader` reads.
struct CompiledModelWriter {
  let parser: ModelExpressionParser
  private let file: String
  var archive = KeyedArchiveBuilder()
  private var texts: [ScalarString: PropertyListValue] = [:]
  private var noUserInfo: PropertyListValue?

  struct PropertyKey: Hashable {
    let entity: ScalarString
    let name: ScalarString
  }
  var entities: [ScalarString: PropertyListValue] = [:]
  var parents: [ScalarString: ScalarString] = [:]
  var properties: [PropertyKey: PropertyListValue] = [:]

  init(file: String, parser: ModelExpressionParser) {
    self.file = file
    self.parser = parser
  }

  func fail(_ text: String, entity: String? = nil, property: String? = nil) -> PersistentStoreError {
    PersistentStoreError(.notSupported, text, at: StoreLocation(file: file, entity: entity, property: property))
  }

  // MARK: Values

  mutating func text(_ text: String) -> PropertyListValue {
    if let known = texts[ScalarString(text)] { return known }
    let made = archive.text(text)
    texts[ScalarString(text)] = made
    return made
  }

  mutating func text(_ optional: String?) -> PropertyListValue {
    if let optional { text(optional) } else { KeyedArchiveBuilder.nothing }
  }

  mutating func dictionary(
    _ entries: [(String, PropertyListValue?)], isMutable: Bool = true
  ) -> PropertyListValue {
    let keys = entries.map { text($0.0) }
    return archive.dictionary(
      keys: keys, values: entries.map { $0.1 ?? KeyedArchiveBuilder.nothing }, isMutable: isMutable)
  }

  mutating func userInfo(_ entries: [UserInfoEntry]) -> PropertyListValue {
    if entries.isEmpty, let noUserInfo { return noUserInfo }
    let values = entries.map { ($0.key, Optional(text($0.value))) }
    let made = dictionary(values, isMutable: false)
    if entries.isEmpty { noUserInfo = made }
    return made
  }

  mutating func names(_ lists: [[String]]) -> PropertyListValue {
    let arrays = lists.map { list in
      let names = list.map { text($0) }
      return archive.array(names, isMutable: true)
    }
    return archive.array(arrays, isMutable: true)
  }

  // MARK: Fetch requests

  mutating func fetchRequest(
    _ request: FetchRequestDescription, _ what: String, of owner: String? = nil
  ) throws(PersistentStoreError) -> PropertyListValue {
    let nothing = KeyedArchiveBuilder.nothing
    let condition = try predicate(request.predicateString, "the predicate of \(what)", owner)
    var sorts: [PropertyListValue] = []
    for sort in request.sortOrder {
      let (key, selector) = (text(sort.keyPath), text("compare:"))
      sorts.append(
        archive.object(
          ["NSKey": key, "NSAscending": .boolean(sort.isAscending), "NSSelector": selector],
          class: ["NSSortDescriptor", "NSObject"]))
    }
    let order = sorts.isEmpty ? nothing : archive.array(sorts)
    return archive.object(
      [
        "NSEntity": entities[ScalarString(request.entityName)] ?? nothing, "NSPredicate": condition,
        "NSSortDescriptors": order, "NSFetchLimit": .integer(Int128(request.fetchLimit ?? 0)), "NSFetchOffset": 0,
        "NSBatchSize": .integer(Int128(request.fetchBatchSize ?? 0)),
        "NSResultType": .integer(Int128(request.resultType.flatMap { Int($0) } ?? 0)),
        // The options' own defaults.
        "NSFetchRequestFlags": 30, "NSHasFetchRequestFlags": true, "NSValuesToFetch": nothing,
        "NSValuesToGroupBy": nothing, "NSHavingPredicate": nothing, "NSRelationshipKeyPathsForPrefetching": nothing,
      ], class: ["NSFetchRequest", "NSPersistentStoreRequest", "NSObject"])
  }

  // MARK: Predicates

  mutating func predicate(
    _ text: String?, _ what: String, _ owner: String?
  ) throws(PersistentStoreError) -> PropertyListValue {
    guard let text else { return KeyedArchiveBuilder.nothing }
    let parsed: FetchPredicate
    do { parsed = try parser.predicate(text) } catch {
      throw fail("\(what), '\(text)', is not understood: \(error)", entity: owner)
    }
    return try predicate(parsed, what, owner)
  }

  mutating func predicate(
    _ parsed: FetchPredicate, _ what: String, _ owner: String?
  ) throws(PersistentStoreError) -> PropertyListValue {
    let made = archiving { $0.predicate(parsed) }
    guard let made else { throw fail("\(what) has a part that compiled models cannot hold", entity: owner) }
    return made
  }

  /// Lends the archive, which is not copied.
  private mutating func archiving(_ body: (inout PredicateArchiver) -> PropertyListValue?) -> PropertyListValue? {
    var archiver = PredicateArchiver()
    swap(&archiver.archive, &archive)
    defer { swap(&archiver.archive, &archive) }
    return body(&archiver)
  }

  mutating func expression(
    _ parsed: FetchExpression, _ what: String, _ owner: String
  ) throws(PersistentStoreError) -> PropertyListValue {
    let made = archiving { $0.expression(parsed) }
    guard let made else { throw fail("\(what) has a part that compiled models cannot hold", entity: owner) }
    return made
  }
}
