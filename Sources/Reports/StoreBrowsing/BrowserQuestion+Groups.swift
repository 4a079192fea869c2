import AtomicStoreKit
import AtomicStoreSPI
import StorePredicates
import StoreReports

extension BrowserQuestion.GroupQuestion {
  /// What objects of an entity are grouped by, and what is shown of each group: as with `fetch --group`.
  func columns(of entity: Entity) throws(BrowserQuestion.Problem) -> (group: FetchColumn, value: FetchColumn) {
    let key = StoreReport.key(try slot(column, entity))
    let group = unit.isEmpty ? key : FetchExpression.function("startOf:", [key, .constant(.string(unit))])
    guard let measure else { return (FetchColumn("group", group), FetchColumn("value", .keyPath(["@count"]))) }
    let number = StoreReport.key(try slot(measure.column, entity))
    return (FetchColumn("group", group), FetchColumn("value", .function(measure.function + ":", [number])))
  }

  private func slot(_ index: Int, _ entity: Entity) throws(BrowserQuestion.Problem) -> Slot {
    guard entity.slots.indices.contains(index) else {
      throw BrowserQuestion.Problem(text: "\(entity.name) has no column with the number \(index)")
    }
    return entity.slots[index]
  }
}
