package import AtomicStoreSPI
package import FoundationEssentials

/// Evaluates predicates and expressions on the rows of a node table one after the other: what cannot be compiled to run
/// over columns. One subject serves for all rows.
package struct RowEvaluator {
  package let nodes: NodeTable
  private let subject: NodeSubject
  private let evaluator: PredicateEvaluator

  /// - Parameters:
  ///   - store: The UUID of the store that the nodes are of.
  ///   - now: The time for all rows.
  ///   - variable: A variable whose value is the object of the row.
  ///   - budget: The steps for all rows together; nil for a budget of each row.
  package init(
    _ nodes: NodeTable, store: UUID, now: Date = Date(), variable: String? = nil, budget: StepBudget? = nil
  ) {
    self.nodes = nodes
    let subject = NodeSubject(nodes, NodeHandle(entity: 0, row: 0), store: store, budget: budget)
    self.subject = subject
    evaluator = PredicateEvaluator(subject, variables: variable.map { [$0: .object(subject)] } ?? [:], now: now)
  }

  /// The evaluator of a row. The row's object in its values is another one as soon as the next row is asked for.
  package func at(_ node: NodeHandle) -> PredicateEvaluator {
    subject.move(to: node)
    guard subject.stepBudget == nil else { return evaluator }
    return PredicateEvaluator(subject, variables: evaluator.variables, now: evaluator.now)
  }
}
