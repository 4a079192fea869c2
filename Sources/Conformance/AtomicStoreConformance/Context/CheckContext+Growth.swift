import FoundationEssentials

extension CheckContext {
  /// Measures what sizes take, all of them in turn in one process, and again where it seems too much.
  ///
  /// - Parameters:
  ///   - exponent: The greatest exponent of the size in the time.
  ///   - measure: The processor's time in seconds for a size, by its number.
  func expectGrowth(
    _ what: String, _ sizes: [Int], atMost exponent: Double, seconds: Int = 100,
    _ measure: (StoreSession, Int) throws -> Double
  ) throws {
    var growth = TimeGrowth(sizes)
    for _ in 0..<4 {
      // Where a size takes little, its least time takes more attempts.
      let repeats = growth.least.map { $0 == .infinity || $0 > 0.1 ? 3 : 6 }
      growth.add(
        try process("\(what): \(sizes.map(String.init).joined(separator: ", "))", seconds: seconds) {
          session -> [Double] in
          var least = TimeGrowth(sizes)
          for turn in 0..<(repeats.max() ?? 2) {
            least.add(try sizes.indices.map { turn < repeats[$0] ? try measure(session, $0) : .infinity })
          }
          return least.least
        })
      if !growth.isMeasurable || growth.exponent <= exponent { break }
    }
    let shown = growth.exponent.isFinite ? "\((growth.exponent * 100).rounded() / 100)" : "many"
    note("\(what): " + growth.least.map { "\(Int($0 * 1000))" }.joined(separator: ", ") + " ms, exponent \(shown)")
    try expect(
      !growth.isMeasurable || growth.exponent <= exponent,
      "\(what): the time grows with the size to the power of at most \(exponent)",
      "with \(shown): \(growth.least.map { "\(Int($0 * 1000)) ms" }.joined(separator: ", ")) for \(sizes.map(String.init).joined(separator: ", "))"
    )
  }
}
