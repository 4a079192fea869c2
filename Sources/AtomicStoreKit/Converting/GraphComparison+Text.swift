public import AtomicStoreSPI
import FoundationEssentials

extension GraphComparison {
  /// As ``text(_:)-(StoredValue)``, with all bytes of data: for a dump, where two values may differ anywhere.
  public static func fullText(_ value: StoredValue) -> String {
    switch value {
    case .data(let data): "<" + data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() + ">"
    default: text(value)
    }
  }

  /// As ``text(_:)-(PropertyListValue)``, with all bytes of data.
  public static func fullText(_ value: PropertyListValue) -> String {
    switch value {
    case .data(let data): fullText(StoredValue.data(data))
    case .array(let values): "[" + values.map { fullText($0) }.joined(separator: ", ") + "]"
    case .dictionary(let values):
      "{" + values.map { quoted($0.key) + ": " + fullText($0.value) }.joined(separator: ", ") + "}"
    default: text(value)
    }
  }

  /// A metadata value on one line, cut where it is long.
  public static func summary(_ value: PropertyListValue) -> String {
    let whole = text(value)
    return whole.count > 200 ? whole.prefix(200) + "…" : whole
  }

  /// A metadata value for a shell: a string as it is, everything else as ``text(_:)-(PropertyListValue)``.
  public static func plain(_ value: PropertyListValue) -> String {
    if case .string(let string) = value { string } else { text(value) }
  }
}
