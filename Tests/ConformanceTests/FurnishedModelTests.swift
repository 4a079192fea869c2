import AtomicStoreSPI
import Testing

@testable import AtomicStoreConformance

/// SCH-16 asks of a store what is in the furnished model: all that a model can say.
@Suite("The furnished model") struct FurnishedModelTests {
  /// Of each type with properties, the value in which none is set.
  private static let plain: [String: any Sendable] = {
    let request = FetchRequestDescription(name: "", entityName: "")
    let values: [any Sendable] = [
      ModelDescription(), EntityDescription(name: ""), AttributeDescription(name: "", type: .integer16),
      RelationshipDescription(name: "", destinationEntityName: ""),
      FetchedPropertyDescription(name: "", fetchRequest: request), request, FetchRequestDescription.Sort(""),
      FetchIndexDescription(name: "", elements: []), FetchIndexDescription.Element(propertyName: nil),
      ConfigurationDescription(name: "", entityNames: []), CompositeDescription(name: "", attributes: []),
      UserInfoEntry(key: "", value: ""),
    ]
    return Dictionary(values.map { ("\(type(of: $0))", $0) }) { first, _ in first }
  }()

  /// Finds what is set in a value and in all that it holds.
  private static func look(_ value: Any, _ found: inout [String: Set<String>]) {
    let mirror = Mirror(reflecting: value)
    let name = "\(type(of: value))"
    if let plain = plain[name] {
      found[name, default: []].formUnion(
        zip(mirror.children, Mirror(reflecting: plain).children).filter { "\($0.0.value)" != "\($0.1.value)" }
          .compactMap(\.0.label))
    } else if mirror.displayStyle == .struct, "\(type(of: value))".contains("Description") {
      found["not known: \(name)"] = []
    }
    for child in mirror.children { look(child.value, &found) }
  }

  @Test("each stored property of each description is set somewhere")
  func complete() {
    var found: [String: Set<String>] = [:]
    Self.look(Models.furnished(StoreTraits(summary: "", fileExtensions: [])), &found)
    #expect(Set(found.keys) == Set(Self.plain.keys))
    for (name, plain) in Self.plain {
      // A format infers a model where it carries none.
      let missing = Set(Mirror(reflecting: plain).children.compactMap(\.label)).subtracting(found[name] ?? [])
        .subtracting(["isInferred", "inferredFrom"])
      #expect(missing.isEmpty, "\(name): \(missing.sorted())")
    }
  }
}
