package import AtomicStoreSPI
import StoreCoordination

extension StoreReport {
  /// A text on one line, shortened, without characters that deceive the reader.
  package func shownText(_ text: String) -> String {
    Markup.visible(Markup.shortened(text, to: max(1, maximumValueLength)))
  }

  /// An attribute's value as people read it; nil for null.
  package func shownText(_ value: StoredValue) -> String? {
    switch value {
    case .null: nil
    case .string(let text), .uri(let text): shownText(text)
    case .data(let data): Markup.count(data.count, "byte")
    default: shownText(GraphComparison.text(value))
    }
  }
}
