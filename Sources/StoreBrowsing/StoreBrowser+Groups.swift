import AtomicStoreKit
import AtomicStoreSPI
import StoreJSON
import StorePredicates
import StoreReports

/// Objects in groups, with a number for each: what `fetch --group` prints.
extension StoreBrowser {
  /// How many groups an answer has at most.
  private static let groupLimit = 50

  func groups(_ question: BrowserQuestion.GroupQuestion) throws(BrowserQuestion.Problem) -> JSONValue {
    let entity = try entity(question.rows.entity)
    var request = try request(question.rows, entity)
    let key = try group(question, entity)
    request.propertiesToGroupBy = [FetchColumn("group", key)]
    request.propertiesToFetch = [FetchColumn("group", key), FetchColumn("value", try number(question, entity))]
    let isByDate = !question.unit.isEmpty
    request.rowSortKeys = [SortKey(isByDate ? "group" : "value", isAscending: isByDate)]
    do {
      let rows = try context.fetchRows(request)
      return .object([
        ("total", .integer(rows.count)),
        (
          "groups",
          .array(rows.prefix(Self.groupLimit).map { .object(shown($0.values[0]) + [("value", number($0.values[1]))]) })
        ),
      ])
    } catch { throw Self.problem(error) }
  }

  private func slot(_ index: Int, _ entity: Entity) throws(BrowserQuestion.Problem) -> Slot {
    guard entity.slots.indices.contains(index) else {
      throw BrowserQuestion.Problem(text: "\(entity.name) has no column with the number \(index)")
    }
    return entity.slots[index]
  }

  private func group(
    _ question: BrowserQuestion.GroupQuestion, _ entity: Entity
  ) throws(BrowserQuestion.Problem) -> FetchExpression {
    let key = StoreReport.key(try slot(question.column, entity))
    return question.unit.isEmpty ? key : .function("startOf:", [key, .constant(.string(question.unit))])
  }

  private func number(
    _ question: BrowserQuestion.GroupQuestion, _ entity: Entity
  ) throws(BrowserQuestion.Problem) -> FetchExpression {
    guard let measure = question.measure else { return .keyPath(["@count"]) }
    return .function(measure.function + ":", [StoreReport.key(try slot(measure.column, entity))])
  }

  private func number(_ value: FetchedRow.Value) -> JSONValue {
    guard case .value(let stored) = value else { return .null }
    return report.shownText(stored).map { .string($0) } ?? .null
  }
}
