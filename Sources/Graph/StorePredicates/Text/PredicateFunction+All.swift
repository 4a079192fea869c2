/// The table of all functions.
extension PredicateFunction {
  static let all = statistics + arithmetic + texts + dates + contents + lists

  /// What other languages call functions, for suggestions.
  static let otherNames = [
    "avg": "average:", "mean": "average:", "upper": "uppercase:", "lower": "lowercase:", "len": "length:",
    "ceil": "ceiling:", "pow": "raise:toPower:", "mod": "modulus:by:", "total": "sum:", "ifnull": "coalesce:",
    "nvl": "coalesce:", "quantile": "percentile:", "date_trunc": "startOf:", "substr": "substring:",
    "strip": "trim:", "mimetype": "kind:", "ungzip": "gunzip:",
  ]

  private static let byName: [String: PredicateFunction] = {
    var table: [String: PredicateFunction] = [:]
    for function in all where table[function.name.lowercased()] == nil { table[function.name.lowercased()] = function }
    for function in all where table[function.shortName.lowercased()] == nil {
      table[function.shortName.lowercased()] = function
    }
    return table
  }()

  private static let byExactName = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// The function with exactly this selector, as trees contain it.
  static func exactly(_ name: String) -> PredicateFunction? { byExactName[name] }

  /// Finds a function by its selector, or by the first part of it alone; case-insensitive.
  static func named(_ name: String) -> PredicateFunction? { byName[name.lowercased()] }

  static func named(_ name: String, argumentCount: Int) -> PredicateFunction? {
    for name in [name, name + ":"] {
      if let function = named(name), argumentCount >= function.minimum, argumentCount <= function.maximum {
        return function
      }
    }
    return nil
  }
}
