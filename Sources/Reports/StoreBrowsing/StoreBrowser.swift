import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
package import StoreCoordination
package import StoreJSON
import StoreMaintenance
import StorePredicates
package import StoreReports

/// Answers what a page in a browser asks about an open store. It changes nothing.
///
/// An actor, because the context in it belongs to one task at a time.
package actor StoreBrowser {
  /// How many objects an answer has at most.
  package static let rowLimit = 1_000
  /// How many objects a search finds at most.
  package static let searchLimit = 200
  /// How many objects of a to-many are in the answer about its object, at most.
  package static let memberLimit = 1_000

  /// The page, which asks for objects where it came from.
  package nonisolated let page: String

  private let coordinator: PersistentStoreCoordinator
  let context: ManagedObjectContext
  let report: StoreReport
  let nodes: NodeTable
  let firsts: [Int]
  private let storeIdentifier: UUID
  /// What the last table counted: sorting and turning pages ask for the same objects.
  private var lastCount: (entity: Int, predicate: String, total: Int)?

  /// - Parameters:
  ///   - coordinator: The coordinator that has the store and no other one.
  ///   - report: What is known about the store.
  /// - Throws: What prevents the page from being written.
  package init(_ coordinator: PersistentStoreCoordinator, report: StoreReport) throws(PersistentStoreError) {
    self.coordinator = coordinator
    self.report = report
    context = ManagedObjectContext(coordinator)
    nodes = report.objects
    firsts = report.firstNumbers
    storeIdentifier = report.storeIdentifier
    page = try report.pageWithoutObjects(script: BrowserScript.source)
  }

  /// - Throws: What is wrong with the question: an entity or object that does not exist, a predicate that is not one,
  ///   or that takes too long.
  package func answer(_ question: BrowserQuestion) throws(BrowserQuestion.Problem) -> JSONValue {
    defer { context.reset() }
    return switch question {
    case .rows(let rows): try answer(rows)
    case .facet(let rows, let column): try facet(rows, column)
    case .groups(let groups): try self.groups(groups)
    case .object(let number): try object(number)
    case .search(let text): try search(text)
    }
  }

  // MARK: Rows

  /// The request for all objects that a question is about.
  func request(
    _ question: BrowserQuestion.RowQuestion, _ entity: Entity
  ) throws(BrowserQuestion.Problem) -> FetchRequest<ManagedObject> {
    var request = FetchRequest<ManagedObject>(entityName: entity.name)
    request.includesSubentities = false
    do {
      if !question.predicate.isEmpty { request.predicate = try FetchPredicate(format: question.predicate, for: entity) }
    } catch { throw Self.problem(error) }
    return request
  }

  private func answer(_ question: BrowserQuestion.RowQuestion) throws(BrowserQuestion.Problem) -> JSONValue {
    let entity = try entity(question.entity)
    var request = try request(question, entity)
    do {
      if let name = question.sortedBy {
        guard let keys = entity.slot(named: name).flatMap({ StoreReport.key(entity.slots[$0]).keys }) else {
          throw BrowserQuestion.Problem(text: "\(entity.name) has no property '\(name)'")
        }
        request.sortKeys = [SortKey(FetchExpression.text(ofKeys: keys), isAscending: !question.isDescending)]
      }
      let (total, nodes) = try objects(request, question)
      return .object([
        ("total", .integer(total)), ("offset", .integer(question.offset)),
        ("rows", .array(nodes.map { row($0, entity) })),
      ])
    } catch { throw Self.problem(error) }
  }

  /// The number of objects that match, and those that are wanted. A predicate is evaluated once, unless the objects are
  /// sorted: those that are wanted are found faster than the order of all.
  private func objects(
    _ asked: FetchRequest<ManagedObject>, _ question: BrowserQuestion.RowQuestion
  ) throws -> (total: Int, nodes: [NodeHandle]) {
    var request = asked
    let limit = min(question.limit, Self.rowLimit)
    guard question.predicate.isEmpty || question.sortedBy != nil else {
      request.propertiesToFetch = [FetchColumn("object", .evaluatedObject)]
      var found: [NodeHandle] = []
      var index = -1
      func isWanted() -> Bool {
        index += 1
        return index >= question.offset && found.count < limit
      }
      func take(_ value: FetchedRow.Value) {
        if case .object(let id) = value, let node = handle(of: id) { found.append(node) }
      }
      let rows = try context.fetchedRows(request)
      switch rows {
      case .columns(let rows): rows.forEachRow { row in if isWanted() { take(row[0]) } }
      case .computed(let rows): for row in rows where isWanted() { take(row.values[0]) }
      }
      keepCount(rows.count, question)
      return (rows.count, found)
    }
    let known = lastCount.flatMap {
      $0.entity == question.entity && $0.predicate == question.predicate ? $0.total : nil
    }
    let total = try known ?? context.count(for: request)
    keepCount(total, question)
    request.fetchOffset = question.offset
    request.fetchLimit = limit
    // A limit of 0 is none.
    let found = limit == 0 ? [] : try context.fetch(request)
    return (total, found.compactMap { handle(of: $0.objectID) })
  }

  /// Keeps a count, except that of a predicate with `now()`, which changes.
  private func keepCount(_ total: Int, _ question: BrowserQuestion.RowQuestion) {
    let isTimed = question.predicate.lowercased().filter { !$0.isWhitespace }.contains("now(")
    lastCount = isTimed ? nil : (entity: question.entity, predicate: question.predicate, total: total)
  }

  func entity(_ index: Int) throws(BrowserQuestion.Problem) -> Entity {
    guard nodes.model.entities.indices.contains(index), !nodes.model.entity(at: index).isAbstract else {
      throw BrowserQuestion.Problem(text: "there is no entity with the number \(index)")
    }
    return nodes.model.entity(at: index)
  }

  func handle(of id: ManagedObjectID) -> NodeHandle? {
    guard let reference = id.reference else { return nil }
    return nodes.handle(for: ObjectReference(entityName: id.entityName, reference: reference))
  }

  private func row(_ node: NodeHandle, _ entity: Entity) -> JSONValue {
    .object([
      ("number", .integer(firsts[node.entity] + node.row)),
      ("reference", .string(report.shownText(nodes.reference(of: node).description))),
      ("values", .array(entity.slots.map { value($0, of: node, memberLimit: 50) })),
    ])
  }

  private func value(_ slot: Slot, of node: NodeHandle, memberLimit: Int) -> JSONValue {
    let reader = nodes.reader(of: node.entity)
    switch slot.kind {
    case .toOne: return reader.toOne(slot: slot.index, row: node.row).map { link($0) } ?? .null
    case .toMany:
      let members = reader.toMany(slot: slot.index, row: node.row)
      guard !members.isEmpty else { return .null }
      var list: [JSONValue] = []
      for index in members.indices.prefix(memberLimit) { list.append(link(members[index])) }
      return .object([("total", .integer(members.count)), ("members", .array(list))])
    case .attribute:
      return report.shownText(reader.value(slot: slot.index, row: node.row)).map { .string($0) } ?? .null
    }
  }

  /// An object as others name it: its number, its reference, what people call it, and its URI.
  func link(_ node: NodeHandle) -> JSONValue { .object(linked(node)) }

  func linked(_ node: NodeHandle) -> [(String, JSONValue)] {
    let reference = nodes.objectReference(of: node)
    let shown = report.shownText(reference.description)
    let id = ManagedObjectID(
      storeIdentifier: storeIdentifier, entityName: reference.entityName, reference: reference.reference)
    return [
      ("number", .integer(firsts[node.entity] + node.row)), ("reference", .string(shown)),
      ("label", .string(label(of: node) ?? shown)), ("uri", .string(id.uriRepresentation)),
    ]
  }

  private func label(of node: NodeHandle) -> String? {
    let reader = nodes.reader(of: node.entity)
    for slot in StoreReport.labels(of: nodes.model.entity(at: node.entity)) {
      if let text = report.shownText(reader.value(slot: slot.index, row: node.row)), !text.isEmpty { return text }
    }
    return nil
  }

  // MARK: Values of a column

  /// How many values an answer has, those that most objects have.
  private static let facetLimit = 20
  /// How many numbers and dates an answer has at most; of more, the page shows no distribution.
  private static let numberLimit = 250_000

  /// How often which values are in a column, and for numbers and dates all of them.
  private func facet(
    _ question: BrowserQuestion.RowQuestion, _ column: Int
  ) throws(BrowserQuestion.Problem) -> JSONValue {
    let entity = try entity(question.entity)
    guard entity.slots.indices.contains(column) else {
      throw BrowserQuestion.Problem(text: "\(entity.name) has no column with the number \(column)")
    }
    let slot = entity.slots[column]
    let kind = StoreReport.columnKind(slot)
    var request = try request(question, entity)
    request.propertiesToFetch = [FetchColumn(slot.name, StoreReport.key(slot))]
    var counts: [FetchedRow.Value: Int] = [:]
    var none = 0
    var numbers: [Double] = []
    do {
      try context.fetchedRows(request).forEachRow { row in
        switch row[0] {
        case .list(let members):
          if members.isEmpty { none += 1 }
          for member in members { counts[member, default: 0] += 1 }
        case let value where value.isNull: none += 1
        case let value where kind != "bytes":
          let number = if case .value(let stored) = value { CountedValue.number(stored) } else { Double?.none }
          // No predicate finds not-a-number by its value.
          if number?.isNaN ?? false { break }
          counts[value, default: 0] += 1
          if let number, number.isFinite { numbers.append(number) }
        default: break
        }
      }
    } catch { throw Self.problem(error) }
    let (values, total) = frequent(counts)
    return .object([
      (
        "values",
        .array(
          values.map { .object(shown($0.value).map { ($0.key, $0.value) } + [("count", .integer($0.count))]) })
      ),
      ("rest", .integer(total - values.count)), ("none", .integer(none)),
      ("numbers", .array(numbers.count > Self.numberLimit ? [] : numbers.map { .number($0) })),
    ])
  }

  /// The most frequent values in order, and how many there are of all.
  private func frequent(_ counts: [FetchedRow.Value: Int]) -> (values: [CountedValue], total: Int) {
    var list: [CountedValue] = []
    var total = 0
    for (value, count) in counts {
      // What is rarer than the last is not shown: its text is not made.
      let isRare = list.count == Self.facetLimit && list.last.map { $0.count > count } ?? false
      if isRare, case .value = value {
        total += 1
        continue
      }
      guard let counted = counted(value, count) else { continue }
      total += 1
      let place = list.firstIndex { counted.isBefore($0) } ?? list.count
      guard place < Self.facetLimit else { continue }
      list.insert(counted, at: place)
      if list.count > Self.facetLimit { list.removeLast() }
    }
    return (list, total)
  }

  private func counted(_ value: FetchedRow.Value, _ count: Int) -> CountedValue? {
    switch value {
    case .object(let id):
      guard let node = handle(of: id) else { return nil }
      return CountedValue(value: value, count: count, number: Double(firsts[node.entity] + node.row), text: "")
    case .value(let stored):
      guard let text = report.shownText(stored) else { return nil }
      return CountedValue(value: value, count: count, number: CountedValue.number(stored) ?? 0, text: text)
    case .list: return nil
    }
  }

  /// A value as the page filters by it.
  private func shown(_ value: FetchedRow.Value) -> [(key: String, value: JSONValue)] {
    switch value {
    case .object(let id): handle(of: id).map { linked($0).map { ($0.0, $0.1) } } ?? []
    case .value(let stored):
      [
        ("text", report.shownText(stored).map { .string($0) } ?? .null),
        ("literal", .string(FetchExpression.constant(stored).description)),
      ]
    case .list: []
    }
  }

  /// How many groups an answer has at most.
  private static let groupLimit = 50

  private func groups(_ question: BrowserQuestion.GroupQuestion) throws(BrowserQuestion.Problem) -> JSONValue {
    let entity = try entity(question.rows.entity)
    var request = try request(question.rows, entity)
    let columns = try question.columns(of: entity)
    request.propertiesToGroupBy = [columns.group]
    request.propertiesToFetch = [columns.group, columns.value]
    let isByDate = !question.unit.isEmpty
    request.rowSortKeys = [SortKey(isByDate ? "group" : "value", isAscending: isByDate)]
    do {
      let rows = try context.fetchRows(request)
      let groups = rows.prefix(Self.groupLimit).map { row in
        let number = shown(row.values[1]).first { $0.key == "text" }?.value ?? .null
        return JSONValue.object(shown(row.values[0]).map { ($0.key, $0.value) } + [("value", number)])
      }
      return .object([("total", .integer(rows.count)), ("groups", .array(groups))])
    } catch { throw Self.problem(error) }
  }

  // MARK: One object

  private func object(_ number: Int) throws(BrowserQuestion.Problem) -> JSONValue {
    guard let index = firsts.indices.last(where: { firsts[$0] <= number && nodes.count(of: $0) > 0 }),
      number - firsts[index] < nodes.count(of: index)
    else { throw BrowserQuestion.Problem(text: "there is no object with the number \(number)") }
    let entity = nodes.model.entity(at: index)
    let node = NodeHandle(entity: index, row: number - firsts[index])
    return .object([
      ("entity", .integer(index)), ("object", link(node)),
      ("values", .array(entity.slots.map { value($0, of: node, memberLimit: Self.memberLimit) })),
      ("contents", .array(report.contents(of: node))),
      ("incoming", .array(incoming(node))),
    ])
  }

  /// How many objects refer to an object by relationships without inverse, which no property of the object shows.
  private func incoming(_ node: NodeHandle) -> [JSONValue] {
    var list: [JSONValue] = []
    for entity in nodes.model.entities {
      let reader = nodes.reader(of: entity.index)
      for slot in entity.slots where slot.destination != nil && slot.inverseSlot == nil {
        let count = (0..<reader.count).count { row in
          if case .toOne = slot.kind { return reader.toOne(slot: slot.index, row: row) == node }
          let members = reader.toMany(slot: slot.index, row: row)
          return members.indices.contains { members[$0] == node }
        }
        if count > 0 {
          list.append(
            .object([
              ("entity", .integer(entity.index)), ("column", .integer(slot.index)), ("count", .integer(count)),
            ]))
        }
      }
    }
    return list
  }

  // MARK: Search

  private func search(_ text: String) throws(BrowserQuestion.Problem) -> JSONValue {
    var hits: [JSONValue] = []
    // An object is found once, by the first of its properties that has the text.
    var seen: Set<NodeHandle> = []
    guard !text.isEmpty else { return .object([("hits", .array([])), ("isComplete", .boolean(true))]) }
    if let node = referenced(by: text) {
      seen.insert(node)
      hits.append(hit(node, nil))
    }
    for entity in nodes.model.entities where !entity.isAbstract {
      for slot in entity.slots where slot.attributeType == .string && hits.count < Self.searchLimit {
        var request = FetchRequest<ManagedObject>(entityName: entity.name)
        request.includesSubentities = false
        request.fetchLimit = Self.searchLimit - hits.count
        request.predicate = .comparison(
          FetchPredicate.Comparison(
            StoreReport.key(slot), .contains, .constant(.string(text)),
            options: [.caseInsensitive, .diacriticInsensitive]))
        do {
          for node in try context.fetch(request).compactMap({ handle(of: $0.objectID) })
          where seen.insert(node).inserted {
            hits.append(hit(node, slot))
          }
        } catch { throw Self.problem(error) }
      }
    }
    return .object([("hits", .array(hits)), ("isComplete", .boolean(hits.count < Self.searchLimit))])
  }

  /// The object whose reference is `Entity/reference`.
  private func referenced(by text: String) -> NodeHandle? {
    guard let slash = text.firstIndex(of: "/"), let entity = nodes.model.entity(named: String(text[..<slash])) else {
      return nil
    }
    let rest = String(text[text.index(after: slash)...])
    let number = Int64(rest).flatMap { nodes.handle(for: .integer($0), entity: entity.index) }
    return number ?? nodes.handle(for: .string(rest), entity: entity.index)
  }

  private func hit(_ node: NodeHandle, _ slot: Slot?) -> JSONValue {
    .object([
      ("object", link(node)), ("property", slot.map { .string(report.shownText($0.name)) } ?? .null),
      ("value", slot.map { value($0, of: node, memberLimit: 0) } ?? .null),
    ])
  }

  static func problem(_ error: any Error) -> BrowserQuestion.Problem {
    error as? BrowserQuestion.Problem ?? BrowserQuestion.Problem(text: "\(error)")
  }
}
