import AtomicStoreSPI
import StoreCoordination

extension StoredValue {
  /// For messages: short, on one line, and dates as people write them.
  var shownText: String {
    if case .date = self { return GraphComparison.text(self) }
    return displayText
  }
}
