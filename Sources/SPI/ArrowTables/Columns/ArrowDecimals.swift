/// Decimals as Arrow's, where their spelling comes back: otherwise as text.
package enum ArrowDecimals {
  /// The most digits of a decimal of 128 bits, and of 256.
  private static let digits = (small: 38, large: 76)
  private static let limit: UInt128 = (0..<38).reduce(1) { power, _ in power * 10 }

  /// How the numbers of a column are written.
  private enum Form {
    /// All have this number of decimal places.
    case fixed(scale: Int, bits: Int)
    /// None has more than this number of decimal places, and none ends with a zero behind the point.
    case trimmed(scale: Int)
    case text
  }

  /// A column of decimals; nil is null.
  ///
  /// If all have the same number of decimal places, that is the scale. If none has trailing zeros behind the point, the
  /// scale is that of the longest, and ``ArrowKey/decimals`` says so. Otherwise, and for not-a-number, exponents above
  /// zero and numbers that do not fit, the column has texts.
  static func column(_ field: ArrowField, _ batches: [[DecimalNumber?]]) -> ArrowColumn {
    var field = field
    switch form(batches) {
    case .fixed(let scale, let bits):
      field.type = .decimal(bits: bits, precision: bits == 128 ? digits.small : digits.large, scale: scale)
      return ArrowColumn(field) { data(batches[$0], scale: scale, bits: bits) }
    case .trimmed(let scale):
      field.type = .decimal(bits: 128, precision: digits.small, scale: scale)
      field.metadata.append(ArrowMetadataEntry(ArrowKey.decimals, "trimmed"))
      return ArrowColumn(field) { data(batches[$0], scale: scale, bits: 128) }
    case .text:
      return ArrowTexts.column(field, batches.map { $0.map { $0?.description } })
    }
  }

  private static func form(_ batches: [[DecimalNumber?]]) -> Form {
    var least = Int.max
    var most = 0
    var isTrimmed = true
    var isLarge = false
    for batch in batches {
      for case let number? in batch {
        guard !number.isNaN, number.exponent <= 0 else { return .text }
        let scale = -Int(number.exponent)
        least = min(least, scale)
        most = max(most, scale)
        if number.mantissa >= limit { isLarge = true }
        if scale > 0, number.mantissa % 10 == 0 { isTrimmed = false }
      }
    }
    // Without numbers.
    if least == .max { return .fixed(scale: 0, bits: 128) }
    if least == most {
      let bits = isLarge || most > digits.small ? 256 : 128
      return most <= digits.large ? .fixed(scale: most, bits: bits) : .text
    }
    guard isTrimmed, most <= digits.small, batches.allSatisfy({ fits($0, scale: most) }) else { return .text }
    return .trimmed(scale: most)
  }

  private static func fits(_ numbers: [DecimalNumber?], scale: Int) -> Bool {
    numbers.allSatisfy { $0.map { scaled($0, scale) != nil } ?? true }
  }

  /// The mantissa at another scale; nil if it has more than 38 digits there.
  private static func scaled(_ number: DecimalNumber, _ scale: Int) -> UInt128? {
    var mantissa = number.mantissa
    for _ in 0..<scale + Int(number.exponent) {
      let (product, overflow) = mantissa.multipliedReportingOverflow(by: 10)
      guard !overflow else { return nil }
      mantissa = product
    }
    return mantissa < limit ? mantissa : nil
  }

  private static func data(_ numbers: [DecimalNumber?], scale: Int, bits: Int) -> ArrowColumnData {
    var present = ValidityBits(count: numbers.count)
    var words: [Int64] = []
    words.reserveCapacity(numbers.count * bits / 64)
    for index in 0..<numbers.count {
      guard let number = numbers[index] else {
        words.append(contentsOf: repeatElement(0, count: bits / 64))
        continue
      }
      present.set(index)
      let mantissa = bits == 128 ? scaled(number, scale) ?? 0 : number.mantissa
      let value = number.isNegative ? 0 &- mantissa : mantissa
      words.append(Int64(truncatingIfNeeded: value))
      words.append(Int64(truncatingIfNeeded: value >> 64))
      if bits == 256 { words.append(contentsOf: repeatElement(number.isNegative ? -1 : 0, count: 2)) }
    }
    return ArrowColumnData(
      count: numbers.count, nullCount: present.nullCount, buffers: [present.buffer, .int64(words)])
  }

  /// Reads a decimal of 128 or 256 bits; nil if the kit cannot hold it.
  ///
  /// - Parameters:
  ///   - bytes: 16 or 32 bytes, little-endian, in two's complement.
  ///   - scale: The number of decimal places.
  ///   - isTrimmed: Whether trailing zeros behind the point are left out.
  package static func number(_ bytes: UnsafeRawBufferPointer, scale: Int, isTrimmed: Bool) -> DecimalNumber? {
    guard bytes.count == 16 || bytes.count == 32, let power = Int8(exactly: -scale) else { return nil }
    let low = UInt128(bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
    var value = UInt128(bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) << 64 | low
    var isNegative = Int128(truncatingIfNeeded: value) < 0
    if bytes.count == 32 {
      let third = bytes.loadUnaligned(fromByteOffset: 16, as: Int64.self)
      let fourth = bytes.loadUnaligned(fromByteOffset: 24, as: Int64.self)
      // The upper half has the sign and nothing else. The smallest number, -2^128, has no magnitude of 128 bits.
      guard third == fourth, third == 0 || third == -1, !(third == -1 && value == 0) else { return nil }
      isNegative = third == -1
    }
    if isNegative { value = 0 &- value }
    var exponent = power
    while isTrimmed, exponent < 0, value % 10 == 0 {
      value /= 10
      exponent += 1
    }
    return DecimalNumber(mantissa: value, exponent: exponent, isNegative: isNegative)
  }
}
