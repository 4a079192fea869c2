package import AtomicStoreSPI

/// Compares two models as data: everything that they say, to the bit and the Unicode scalar, whether or not it counts
/// in version hashes.
///
/// A store carries its model as it carries its objects: configurations, fetch requests, user info, indexes, defaults
/// and bounds are kept, and a copy has the same.
package enum ModelComparison {
  /// One thing that two models say differently.
  package struct Difference: Sendable, Hashable, CustomStringConvertible {
    /// What differs, such as `entities.Person.properties.name.default`.
    package var path: String
    /// In the first model, as text; nil where it has none.
    package var old: String?
    /// In the second model, as text; nil where it has none.
    package var new: String?

    package var description: String { "\(path): \(old ?? "(none)") → \(new ?? "(none)")" }
  }

  /// All differences, in the order of the models' property lists.
  ///
  /// - Parameter comparesOrder: Whether entities, properties and other things that have names must come in the same
  ///   order.
  package static func differences(
    _ first: ModelDescription, _ second: ModelDescription, comparesOrder: Bool = true
  ) -> [Difference] {
    // Most models that are compared are equal, and a model of hundreds of entities makes a large property list.
    guard !first.isIdentical(to: second) else { return [] }
    var comparison = Walk(comparesOrder: comparesOrder)
    comparison.compare(first.propertyList, second.propertyList, at: "")
    return comparison.found
  }

  private struct Walk {
    let comparesOrder: Bool
    var found: [Difference] = []

    mutating func compare(_ one: PropertyListValue?, _ other: PropertyListValue?, at path: String) {
      guard one != other else { return }
      switch (one, other) {
      case (.dictionary(let one)?, .dictionary(let other)?):
        for key in Set((one.keys + other.keys).map { ScalarString($0) }).sorted() {
          compare(one[key.string], other[key.string], at: path.isEmpty ? key.string : "\(path).\(key.string)")
        }
      case (.array(let one)?, .array(let other)?): compare(one, other, at: path)
      default:
        found.append(
          Difference(
            path: path, old: one.map { GraphComparison.text($0) }, new: other.map { GraphComparison.text($0) }))
      }
    }

    private mutating func compare(_ one: [PropertyListValue], _ other: [PropertyListValue], at path: String) {
      guard let names = itemNames(of: one), let others = itemNames(of: other), !(one.isEmpty && other.isEmpty) else {
        for position in 0..<max(one.count, other.count) {
          compare(
            position < one.count ? one[position] : nil, position < other.count ? other[position] : nil,
            at: "\(path).\(position)")
        }
        return
      }
      let positions = Dictionary(zip(others, other.indices), uniquingKeysWith: { first, _ in first })
      let known = Set(names)
      for (name, value) in zip(names, one) {
        compare(value, positions[name].map { other[$0] }, at: "\(path).\(name.string)")
      }
      for (name, value) in zip(others, other) where !known.contains(name) {
        compare(nil, value, at: "\(path).\(name.string)")
      }
      let inBoth = names.filter { positions[$0] != nil }
      let inOther = others.filter { known.contains($0) }
      if comparesOrder, inBoth != inOther {
        found.append(
          Difference(
            path: "\(path), order", old: inBoth.map(\.string).joined(separator: ", "),
            new: inOther.map(\.string).joined(separator: ", ")))
      }
    }

    /// The names of things that all have one, no two the same; nil for other lists.
    private func itemNames(of list: [PropertyListValue]) -> [ScalarString]? {
      var names: [ScalarString] = []
      for value in list {
        guard let name = value.dictionaryValue?["name"]?.stringValue else { return nil }
        names.append(ScalarString(name))
      }
      return Set(names).count == names.count ? names : nil
    }
  }
}
