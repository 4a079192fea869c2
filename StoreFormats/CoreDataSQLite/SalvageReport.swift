import AtomicStoreSPI

/// What could be read of a damaged database, and what could not.
struct SalvageReport {
  /// A table that is damaged.
  struct Table {
    let name: String
    var readCount = 0
    /// Rows that cannot be read, each for itself.
    var lostRows = 0
    /// Keys of rows that may have been on pages that cannot be read: no two have a key in common.
    var gaps: [ClosedRange<Int64>] = []
    /// The number of rows that were read of these.
    var readInGaps = 0
    private(set) var details: [String] = []
    private var detailCount = 0
    /// The greatest key that the store gave out, if that is known.
    var greatestKey: Int64?
    /// Whether the rows that are missing cannot be counted.
    var isCountUnknown = false

    private static let shownDetails = 8
    private static let mostGaps = 4096

    init(_ name: String) { self.name = name }

    mutating func add(_ detail: String) {
      detailCount += 1
      if details.count < Self.shownDetails { details.append(detail) }
    }

    /// Adds the pages of a tree that cannot be read.
    mutating func add(_ found: [TreeContent.Gap]) {
      guard !found.isEmpty else { return }
      for gap in found { add("page \(gap.page)\(Self.shown(gap.keys)): \(gap.reason)") }
      var merged: [ClosedRange<Int64>] = []
      for range in (gaps + found.map(\.keys)).sorted(by: { $0.lowerBound < $1.lowerBound }) {
        if let last = merged.last, range.lowerBound <= last.upperBound {
          merged[merged.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
        } else {
          merged.append(range)
        }
      }
      // Of very many, only that there are some counts.
      if merged.count > Self.mostGaps, let first = merged.first, let last = merged.last {
        merged = [first.lowerBound...last.upperBound]
      }
      gaps = merged
    }

    /// Whether a row with this key may have been on a page that cannot be read.
    func isInGap(_ key: Int64) -> Bool {
      var low = 0
      var high = gaps.count
      while low < high {
        let middle = (low + high) / 2
        if gaps[middle].upperBound < key { low = middle + 1 } else { high = middle }
      }
      return low < gaps.count && gaps[low].contains(key)
    }

    /// The keys of the rows below a page.
    private static func shown(_ keys: ClosedRange<Int64>) -> String {
      switch (keys.lowerBound, keys.upperBound) {
      case (.min, .max): ""
      case (.min, let last): ", with the rows up to \(last)"
      case (let first, .max): ", with the rows from \(first) on"
      case (let first, let last): first == last ? ", with the row \(first)" : ", with the rows \(first) to \(last)"
      }
    }

    /// The greatest number of rows that may be missing; nil if that is not known.
    var mostLost: Int? {
      guard !isCountUnknown else { return nil }
      var count = lostRows - readInGaps
      for gap in gaps {
        // Core Data gives out keys from 1 on.
        let first = max(gap.lowerBound, 1)
        let last = gap.upperBound == .max ? greatestKey : gap.upperBound
        guard let last else { return nil }
        let (width, overflow) = max(last, first - 1).subtractingReportingOverflow(first - 1)
        guard !overflow, width < Int64(1) << 40 else { return nil }
        count += Int(width)
      }
      return max(count, lostRows)
    }

    var text: String {
      let lost =
        mostLost.map { most in
          most == 0 ? "none lost" : gaps.isEmpty ? "\(most) lost" : "at most \(most) lost"
        } ?? "an unknown number lost"
      let more = detailCount > details.count ? "; and \(detailCount - details.count) more" : ""
      return "the table \(name) is damaged: \(readCount) rows read, \(lost); \(details.joined(separator: "; "))\(more)"
    }
  }

  /// The damaged tables by their names, in capitals.
  var tables: [String: Table] = [:]
  /// What concerns the whole database.
  private(set) var damage: [String] = []
  private var damageCount = 0
  /// Whether a model could bring tables back.
  var needsModel = false
  /// Whether it is known what the store's entities are.
  var hasEntities = true

  private static let shownDamage = 32

  mutating func add(_ text: String) {
    damageCount += 1
    if damage.count < Self.shownDamage { damage.append(text) }
  }

  /// Reports what concerns the whole database.
  func report(to source: StoreSource) {
    // Where all of it may be missing, nothing is known to be complete: the location has no entity.
    for text in damage {
      source.report(
        LoadNote(subject: "database", text: text, isLoss: true, location: StoreLocation(file: source.name)))
    }
    if damageCount > damage.count {
      source.report(
        LoadNote(
          subject: "database", count: damageCount - damage.count, text: "more of the same", isLoss: true,
          location: StoreLocation(file: source.name)))
    }
  }
}
