import StoreCodecs

/// Estimates how wide text is, so that a picture has the same layout on every machine: at least as wide as in the
/// widest font that browsers commonly use for `sans-serif`, DejaVu Sans.
enum TextWidth {
  /// Thousandths of the font size, for U+0020 to U+007E.
  private static let ascii: [UInt16] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
  ]

  /// The width of a text in pixels, rounded up.
  static func pixels(_ text: String, fontSize: Double, isBold: Bool = false) -> Double {
    var thousandths = 0
    for scalar in text.unicodeScalars { thousandths += width(scalar) }
    return (Double(thousandths) * fontSize * (isBold ? 0.00113 : 0.00102)).rounded(.up)
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    if ("\u{20}"..."~").contains(scalar) { return Int(ascii[Int(scalar.value - Unicode.Scalar(" ").value)]) }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    // East Asian characters are as wide as they are high, emoji wider; most others not wider than a capital letter.
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFFE6,
      0x20000...0x3FFFD:
      return 1050
    case 0x1F000...0x1FAFF: return 1400
    case 0x2000...0x20FF: return 900
    default: return scalar.value < 0x250 ? 750 : 1000
    }
  }
}
