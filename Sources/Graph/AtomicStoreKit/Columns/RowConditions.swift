import AtomicStoreSPI
import FoundationEssentials
import StorePredicates

/// The conditions of a search that are not compiled: they are evaluated row by row, on the values in the columns.
final class RowConditions {
  private let version: NodeVersion
  private let budget: StepBudget
  private let stepsBefore: Int
  private lazy var rows = RowEvaluator(version.nodes, store: store, budget: budget)
  private let store: UUID
  /// Whether one is an error for a row. Objects are evaluated then, whose error is reported.
  private(set) var haveFailed = false

  init(_ version: NodeVersion, store: UUID, budget: StepBudget) {
    self.version = version
    self.store = store
    self.budget = budget
    stepsBefore = budget.left
  }

  func holds(_ predicate: FetchPredicate, _ node: NodeHandle) -> Bool {
    guard !haveFailed else { return false }
    do throws(PredicateEvaluationError) { return try rows.at(node).evaluate(predicate) } catch {
      fail()
      return false
    }
  }

  /// Notes that one is an error, also for an object with unsaved changes: the first error of all objects is reported.
  func fail() {
    haveFailed = true
    budget.giveBack(to: stepsBefore)
  }

  var entityCount: Int { version.model.entityCount }
  func isDeferred(_ predicate: FetchPredicate) -> Bool { FetchTree.predicate(predicate).readsDeferredValues(version) }
}
