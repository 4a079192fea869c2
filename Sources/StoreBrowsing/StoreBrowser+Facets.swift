import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials
import StoreCoordination
import StoreJSON
import StorePredicates
import StoreReports

extension StoreBrowser {
  /// How many values an answer has, those that most objects have.
  private static let facetLimit = 20
  /// How many numbers and dates an answer has at most; of more, the page shows no distribution.
  private static let numberLimit = 250_000

  /// How often which values are in a column, and for numbers and dates all of them.
  func facet(
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
      for row in try context.fetchRows(request) {
        switch row.values[0] {
        case .list(let members):
          if members.isEmpty { none += 1 }
          for member in members { counts[member, default: 0] += 1 }
        case let value where value.isNull: none += 1
        case let value where kind != "bytes":
          counts[value, default: 0] += 1
          if case .value(let stored) = value, let number = Self.number(stored), number.isFinite {
            numbers.append(number)
          }
        default: break
        }
      }
    } catch { throw Self.problem(error) }
    let values = ordered(counts)
    return .object([
      ("values", .array(values.prefix(Self.facetLimit).map { .object($0.shown + [("count", .integer($0.count))]) })),
      ("rest", .integer(max(0, values.count - Self.facetLimit))), ("none", .integer(none)),
      ("numbers", .array(numbers.count > Self.numberLimit ? [] : numbers.map { .number($0) })),
    ])
  }

  private struct Counted {
    let count: Int
    let number: Double
    let text: String
    let shown: [(String, JSONValue)]
  }

  /// The values by their counts, those of equal count in their own order.
  private func ordered(_ counts: [FetchedRow.Value: Int]) -> [Counted] {
    var list: [Counted] = []
    for (value, count) in counts {
      switch value {
      case .object(let id):
        guard let node = handle(of: id) else { continue }
        list.append(
          Counted(count: count, number: Double(firsts[node.entity] + node.row), text: "", shown: linked(node)))
      case .value(let stored):
        guard let text = report.shownText(stored) else { continue }
        list.append(
          Counted(
            count: count, number: Self.number(stored).map { $0.isNaN ? -.infinity : $0 } ?? 0, text: text,
            shown: [("text", .string(text)), ("literal", .string(FetchExpression.constant(stored).description))]))
      case .list: continue
      }
    }
    return list.sorted {
      if ($0.count, $0.number) != ($1.count, $1.number) { return ($1.count, $0.number) < ($0.count, $1.number) }
      return $0.text.unicodeScalars.lexicographicallyPrecedes($1.text.unicodeScalars)
    }
  }

  /// A number, or a date in seconds since 1970.
  private static func number(_ value: StoredValue) -> Double? {
    switch value {
    case .integer(let number): Double(number)
    case .double(let number): number
    // The number that is shown: what follows it is not precise.
    case .float(let number): Double(number.description) ?? Double(number)
    case .decimal(let number): number.doubleValue
    case .date(let date): date.timeIntervalSince1970
    default: nil
    }
  }
}
