import AtomicStoreSPI
import FoundationEssentials

extension Faults {
  /// A fault that writes some values as others.
  static func value(
    _ name: String, _ text: String, _ change: @escaping @Sendable (StoredValue, AttributeType) -> StoredValue
  ) -> Fault {
    Fault(name, text) { $0.savedValue = change }
  }
  /// A fault that writes texts as others.
  static func text(_ name: String, _ text: String, _ change: @escaping @Sendable (String) -> String?) -> Fault {
    value(name, text) { value, _ in
      guard case .string(let string) = value else { return value }
      return change(string).map { .string($0) } ?? .null
    }
  }
  static func scalars(_ text: String, _ change: (Unicode.Scalar) -> Unicode.Scalar?) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { if let changed = change(scalar) { result.append(changed) } }
    return String(result)
  }

  static let values: [Fault] = [
    value("intAsUnsigned", "writes negative 16-bit integers as unsigned ones, as far as they fit") { value, type in
      if case .integer(let number) = value, type == .integer16, number < 0 {
        return .integer(min(number + 65536, 32767))
      }
      return value
    },
    value("int32Clamped", "clamps 32-bit integers to 31 bits") { value, type in
      if case .integer(let number) = value, type == .integer32 {
        return .integer(max(min(number, 0x3FFF_FFFF), -0x3FFF_FFFF))
      }
      return value
    },
    value("intsViaDouble", "takes 64-bit integers through doubles") { value, type in
      if case .integer(let number) = value, type == .integer64 {
        return .integer(Int64(exactly: Double(number)) ?? .max)
      }
      return value
    },
    value("boolAsInt", "writes false as nothing") { value, _ in value == .boolean(false) ? .null : value },
    value("negativeZeroLost", "writes -0.0 as 0.0") { value, _ in
      if case .double(let number) = value, number == 0 { return .double(0) }
      return value
    },
    value("shortDoubleFormat", "writes doubles with 15 digits") { value, _ in
      guard case .double(let number) = value, number.isFinite, number != 0 else { return value }
      var unit = 1.0
      while abs(number) / unit >= 10, unit < 1e300 { unit *= 10 }
      while abs(number) / unit < 1, unit > 1e-300 { unit /= 10 }
      let step = unit / 1e14
      return .double((number / step).rounded() * step)
    },
    value("nanBecomesZero", "writes not-a-number and the infinities as 0") { value, _ in
      if case .double(let number) = value, !number.isFinite { return .double(0) }
      return value
    },
    value("floatWidened", "writes floats with fewer digits") { value, _ in
      if case .float(let number) = value, number.isFinite, abs(number) < 1e6 {
        return .float((number * 1000).rounded() / 1000)
      }
      return value
    },
    value("decimalViaDouble", "takes decimals through doubles") { value, _ in
      guard case .decimal(let number) = value, let double = Double("\(number)"), let back = DecimalNumber("\(double)")
      else { return value }
      return .decimal(back)
    },
    value("dateWholeSeconds", "writes dates in whole seconds") { value, _ in
      if case .date(let date) = value {
        return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate.rounded(.down)))
      }
      return value
    },
    value("dateMillis", "writes dates in milliseconds") { value, _ in
      guard case .date(let date) = value else { return value }
      return .date(Date(timeIntervalSinceReferenceDate: (date.timeIntervalSinceReferenceDate * 1000).rounded() / 1000))
    },
    value("dateCalendarShift", "takes dates before 1582 through another calendar") { value, _ in
      guard case .date(let date) = value, date.timeIntervalSinceReferenceDate < -13_197_000_000 else { return value }
      return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate + 864_000))
    },
    text("nilEqualsEmpty", "writes the empty text as nothing") { $0.isEmpty ? nil : $0 },
    text("typeSniffing", "writes what looks like a number as that number") { text in Int64(text).map { "\($0)" } ?? text
    },
    text("trimsWhitespace", "trims texts") { text in
      var scalars = Array(text.unicodeScalars)
      while let last = scalars.last, last.properties.isWhitespace { scalars.removeLast() }
      while let first = scalars.first, first.properties.isWhitespace { scalars.removeFirst() }
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars)
      return String(view)
    },
    text("normalizesNewlines", "writes every line end as a line feed") { text in
      var result = String.UnicodeScalarView()
      var wasReturn = false
      for scalar in text.unicodeScalars {
        if scalar == "\n", wasReturn {
          wasReturn = false
          continue
        }
        wasReturn = scalar == "\r"
        result.append(scalar == "\r" ? "\n" : scalar)
      }
      return String(result)
    },
    text("truncatesAtNUL", "writes texts up to the first U+0000") { text in
      guard let end = text.unicodeScalars.firstIndex(of: "\0") else { return text }
      return String(text.unicodeScalars[..<end])
    },
    text("dropsControls", "leaves control characters out") { text in
      scalars(text) { $0.value > 0 && $0.value < 0x20 && $0 != "\t" && $0 != "\n" && $0 != "\r" ? nil : $0 }
    },
    text("stripsBOM", "leaves U+FEFF out") { text in scalars(text) { $0.value == 0xFEFF ? nil : $0 } },
    text("bmpOnly", "writes characters above U+FFFF as U+FFFD") { text in
      scalars(text) { $0.value > 0xFFFF ? "\u{FFFD}" : $0 }
    },
    text("normalizesNFC", "composes letters and accents") { text in
      var result = String.UnicodeScalarView()
      for scalar in text.unicodeScalars {
        if scalar.value == 0x301, result.last == "e" {
          result.removeLast()
          result.append("\u{E9}")
        } else {
          result.append(scalar.value == 0x212B ? "\u{C5}" : scalar)
        }
      }
      return String(result)
    },
    text("chunkBoundarySplit", "loses the character that is across byte 65536") { text in
      guard text.utf8.count > 65536 else { return text }
      let place = text.utf8.index(text.utf8.startIndex, offsetBy: 65536)
      let isInside = text.utf8[place] & 0xC0 == 0x80
      return isInside ? scalars(text) { $0.value > 0x7F ? "\u{FFFD}" : $0 } : text
    },
    value("emptyDataBecomesNil", "writes empty data as nothing") { value, _ in value == .data(Data()) ? .null : value },
    value("base64Unpadded", "loses the bytes after the last three that make four letters") { value, _ in
      if case .data(let data) = value { return .data(Data(data.prefix(data.count / 3 * 3))) }
      return value
    },
    value("uuidLowercasedCompare", "takes a UUID of letters for another") { value, _ in
      if case .uuid(let uuid) = value, uuid.uuidString.hasPrefix("FFFF") { return .null }
      return value
    },
    text("usesValueAsFormatString", "takes per cent signs in texts for something") { text in
      scalars(text) { $0 == "%" ? nil : $0 }
    },
    value("uriReencoded", "writes URIs with their escapes undone") { value, _ in
      if case .uri(let text) = value { return .uri(text.replacing("%41", with: "A").replacing("%20", with: " ")) }
      return value
    },
  ]
}
