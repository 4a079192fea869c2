import FoundationEssentials

/// A small picture for a web page or README that shows what a format may claim.
package struct ConformanceBadge: Sendable {
  /// How good what the badge shows is, which decides its color.
  package enum Level: Sendable {
    /// All profiles that were run are claimed in full.
    case full
    /// No check speaks against the format, but something is not claimed.
    case partial
    /// A check speaks against the format.
    case failing
    /// Nothing is claimed.
    case none
  }

  /// The text on the left: the format's name.
  package let label: String
  /// The text on the right.
  package let message: String
  /// How good it is.
  package let level: Level

  /// Creates the badge of a record.
  package init(_ record: ConformanceRecord) {
    label = "\(record.storeType) conformance"
    let claims = ConformanceCheck.Profile.reported.map { ($0, record.claim($0)) }
    let full = claims.filter { $0.1 == .full }.map(\.0.rawValue)
    let failures = record.failures.count
    if failures > 0 {
      (level, message) = (.failing, "\(failures) of \(record.entries.count) checks failed")
    } else if full.isEmpty {
      let hasPart = claims.contains { !["full", "not claimed"].contains($0.1.word) }
      (level, message) = hasPart ? (.partial, "partial") : (.none, "not claimed")
    } else {
      // Neither a profile of which no check applies, all of them run, nor one about another kind of store takes
      // anything away.
      let isWhole = claims.allSatisfy { profile, claim in
        claim == .full || !record.concerns(profile)
          || (claim == .none && (record.totals[profile] ?? 0) == record.entries.count { $0.profile == profile })
      }
      (level, message) = isWhole ? (.full, "full") : (.partial, full.joined(separator: ", "))
    }
  }

  /// The badge as SVG, with white text on dark colors: it is legible on light and dark pages.
  package var svg: String {
    let (left, right) = (Self.width(label), Self.width(message))
    let (first, second) = (left + 12, right + 12)
    let (label, message) = (ConformanceReport.escaped(label), ConformanceReport.escaped(message))
    return """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(first + second)" height="20" role="img" aria-label="\(label): \(message)">
      <title>\(label): \(message)</title>
      <clipPath id="r"><rect width="\(first + second)" height="20" rx="3"/></clipPath>
      <g clip-path="url(#r)"><rect width="\(first)" height="20" fill="#444444"/>
      <rect x="\(first)" width="\(second)" height="20" fill="\(color)"/></g>
      <g fill="#ffffff" font-family="Verdana, DejaVu Sans, sans-serif" font-size="11">
      <text x="6" y="14" textLength="\(left)" lengthAdjust="spacingAndGlyphs">\(label)</text>
      <text x="\(first + 6)" y="14" textLength="\(right)" lengthAdjust="spacingAndGlyphs">\(message)</text></g>
      </svg>

      """
  }

  /// White has a contrast of at least 4.5 to 1 with each of them.
  private var color: String {
    switch level {
    case .full: "#1b5e20"
    case .partial: "#8f3d00"
    case .failing: "#a31515"
    case .none: "#565656"
    }
  }

  /// About the width of a text in pixels. The picture says the same, so that every font fits.
  private static func width(_ text: String) -> Int {
    let tenths = text.unicodeScalars.reduce(0) { sum, scalar in
      switch scalar {
      case "i", "j", "l", "t", "f", "r", "I", ".", ",", " ", "(", ")": sum + 42
      case "m", "w", "M", "W": sum + 100
      case "A"..."Z": sum + 78
      default: sum + (scalar.value < 0x2E80 ? 67 : 115)
      }
    }
    return max(8, (tenths + 9) / 10)
  }
}
