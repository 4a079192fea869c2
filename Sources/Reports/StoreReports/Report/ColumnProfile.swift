import AtomicStoreSPI
import FoundationEssentials

/// How the values of a column are distributed: what a small picture of bars shows.
struct ColumnProfile {
  /// How many values are in each of equally wide ranges.
  var bars: [Int] = []
  /// What the bars count, for a tooltip.
  var title = ""

  static let barCount = 20

  /// Counts the values of a slot of one entity: numbers and dates by their value, texts and data by their length,
  /// to-manys by the number of objects.
  init(_ reader: EntityReader, _ slot: Slot) {
    switch slot.kind {
    case .toOne: return
    case .toMany: fill(reader, "numbers of objects") { Double(reader.toMany(slot: slot.index, row: $0).count) }
    case .attribute(let type):
      switch type.valueKind {
      case .boolean: countBooleans(reader, slot.index)
      case .integer:
        fill(reader, "values") {
          reader.isNull(slot: slot.index, row: $0) ? nil : Double(reader.integer(slot: slot.index, row: $0))
        }
      case .double, .date:
        fill(reader, type.valueKind == .date ? "dates" : "values") {
          reader.isNull(slot: slot.index, row: $0) ? nil : reader.double(slot: slot.index, row: $0)
        }
      case .float:
        fill(reader, "values") {
          reader.isNull(slot: slot.index, row: $0) ? nil : Double(reader.float(slot: slot.index, row: $0))
        }
      case .decimal:
        fill(reader, "values") {
          if case .decimal(let number) = reader.value(slot: slot.index, row: $0) { number.doubleValue } else { nil }
        }
      case .string, .uri, .data:
        fill(reader, "lengths in bytes") {
          reader.isNull(slot: slot.index, row: $0) ? nil : Double(reader.bytes(slot: slot.index, row: $0).count)
        }
      default: return
      }
    }
  }

  private mutating func countBooleans(_ reader: EntityReader, _ slot: Int) {
    bars = [0, 0]
    for row in 0..<reader.count where !reader.isDeleted(row: row) && !reader.isNull(slot: slot, row: row) {
      bars[reader.boolean(slot: slot, row: row) ? 1 : 0] += 1
    }
    title = "false \(Markup.grouped(bars[0])), true \(Markup.grouped(bars[1]))"
    if bars == [0, 0] { bars = [] }
  }

  /// Two passes, so that no list of values is made.
  private mutating func fill(_ reader: EntityReader, _ noun: String, _ value: (Int) -> Double?) {
    var (least, greatest, count) = (Double.infinity, -Double.infinity, 0)
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      guard let number = value(row), number.isFinite else { continue }
      least = min(least, number)
      greatest = max(greatest, number)
      count += 1
    }
    guard count > 0 else { return }
    bars = Array(repeating: 0, count: Self.barCount)
    // Halves, so that the difference of the largest doubles is finite.
    let width = greatest / 2 - least / 2
    for row in 0..<reader.count where !reader.isDeleted(row: row) {
      guard let number = value(row), number.isFinite else { continue }
      let place = width > 0 ? (number / 2 - least / 2) / width * Double(Self.barCount) : Double(Self.barCount) / 2
      bars[min(Self.barCount - 1, max(0, Int(place)))] += 1
    }
    title = "\(Markup.count(count, "object")) by \(noun)"
  }

  /// The bars as a small picture; empty if there is nothing to show.
  var svg: String {
    guard let most = bars.max(), most > 0 else { return "" }
    let step = 100 / bars.count
    var course = ""
    for (index, count) in bars.enumerated() where count > 0 {
      // Whatever is there is visible.
      let height = max(1, (count * 18 + most / 2) / most)
      course += "M\(index * step) 20v-\(height)h\(step - 1)v\(height)z"
    }
    return "<svg class=\"spark\" width=\"100\" height=\"20\" viewBox=\"0 0 100 20\" role=\"img\"><title>"
      + "\(Markup.escaped(title))</title><path d=\"\(course)\"/></svg>"
  }
}
