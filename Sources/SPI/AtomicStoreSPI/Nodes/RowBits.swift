/// A bit for each row of a table; rows beyond the end have none.
struct RowBits: Sendable {
  private var words: [UInt64] = []

  subscript(row: Int) -> Bool {
    get {
      let word = row >> 6
      return word < words.count && words[word] & (1 << UInt64(row & 63)) != 0
    }
    set {
      let word = row >> 6
      if word >= words.count {
        guard newValue else { return }
        words += [UInt64](repeating: 0, count: word + 1 - words.count)
      }
      if newValue { words[word] |= 1 << UInt64(row & 63) } else { words[word] &= ~(1 << UInt64(row & 63)) }
    }
  }
}
