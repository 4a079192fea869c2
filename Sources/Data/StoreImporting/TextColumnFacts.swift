import AtomicStoreSPI
import StoreCodecs

/// Why a column of an inferred model is text: most of its values are dates, numbers or truth values, and some are not.
struct TextColumnFacts {
  /// What most values of a column may be.
  enum Candidate: String, CaseIterable {
    case dates
    case numbers
    case commaNumbers = "numbers with a decimal comma"
    case truthValues = "truth values"
  }
  private struct Fit {
    var count = 0
    /// The first value that does not fit.
    var misfit: (line: Int, text: String)?
    /// Whether all that do not fit are the same text.
    var isOneMisfit = true
  }
  /// How many records are looked at to find the columns that all records are looked at for.
  static let sampleSize = 1_000
  private static let candidates = Candidate.allCases
  /// By candidate.
  private var fits = candidates.map { _ in Fit() }
  private var count = 0
  private var hasComma = false
  private var hasPoint = false

  /// - Parameter commas: Reads numbers with a decimal comma; nil where the conventions say how numbers are written.
  mutating func add(
    _ text: Span<UInt8>, _ field: ImportField, _ values: ValueReader, _ commas: ValueReader?
  ) {
    if values.isNull(text, field.kind, .integer) { return }
    count += 1
    for (index, candidate) in Self.candidates.enumerated() {
      if isFit(text, field.kind, candidate, values, commas) {
        fits[index].count += 1
      } else if fits[index].isOneMisfit {
        let shown = String(ValueReader.text(text).prefix(60))
        if let misfit = fits[index].misfit {
          fits[index].isOneMisfit = misfit.text == shown
        } else {
          fits[index].misfit = (field.line, shown)
        }
      }
    }
  }

  private mutating func isFit(
    _ text: Span<UInt8>, _ kind: ImportField.Kind, _ candidate: Candidate, _ values: ValueReader, _ commas: ValueReader?
  ) -> Bool {
    if kind == .list || kind == .object { return false }
    if kind == .yes || kind == .no { return candidate == .truthValues }
    let bytes = ValueReader.trimmed(text)
    guard !bytes.isEmpty else { return false }
    switch candidate {
    case .dates: return ColumnFacts.isDate(bytes, values)
    case .numbers:
      return !ValueReader.hasLeadingZero(bytes) && !values.value(text, kind, .double, format: nil).isNull
    case .commaNumbers:
      guard let commas, kind != .number, !commas.value(text, kind, .decimal, format: nil).isNull else { return false }
      hasComma = hasComma || ColumnFacts.has(bytes, UInt8(ascii: ","))
      hasPoint = hasPoint || ColumnFacts.has(bytes, UInt8(ascii: "."))
      return true
    case .truthValues: return ColumnFacts.isTruthValue(text, kind, values)
    }
  }

  /// What more than half of the values are; nil if there is nothing to say.
  var candidate: Candidate? {
    let found = zip(Self.candidates, fits).filter { candidate, fit in
      fit.count * 2 > count && (candidate != .commaNumbers || hasComma)
    }
    return found.max { $0.1.count < $1.1.count }?.0
  }

  /// The note about a column, for the user.
  func note(subject: String, file: String) -> SelectionNote? {
    guard let candidate, let index = Self.candidates.firstIndex(of: candidate) else { return nil }
    let fit = fits[index]
    var text = "kept as text: "
    if let misfit = fit.misfit {
      text += "\(fit.count) of \(count) are \(candidate.rawValue), \(file):\(misfit.line) is not: '\(misfit.text)'"
      if candidate == .commaNumbers { text += "; " + commaHint }
      if fit.isOneMisfit { text += "; that may be a word for no value (--null)" }
    } else {
      switch candidate {
      case .commaNumbers: text += "its numbers have a decimal comma: " + commaHint
      case .dates: text += "its dates are written in several ways"
      case .numbers, .truthValues: return nil
      }
    }
    return SelectionNote(subject: subject, count: fit.misfit == nil ? count : count - fit.count, text: text)
  }

  private var commaHint: String { "--decimal comma" + (hasPoint ? " --thousands point" : "") + " reads them" }
}
