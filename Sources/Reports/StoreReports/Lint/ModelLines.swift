import AtomicStoreSPI
import StoreCodecs

/// The lines of a model file at which entities and properties begin, for reports that editors open.
package struct ModelLines: Sendable {
  private var entities: [ScalarString: Int] = [:]
  private var properties: [ScalarString: [ScalarString: Int]] = [:]

  /// Reads the lines from Xcode's source format. For everything else there are none.
  ///
  /// - Parameter contents: The bytes of the file `contents`.
  package init(contents: [UInt8]) {
    guard let root = try? XMLElement.parse(contents.span), root.name == "model" else { return }
    for element in root.elements where element.name == "entity" {
      guard let name = element[attribute: "name"] else { continue }
      entities[ScalarString(name)] = element.location.line
      for child in element.elements {
        guard ["attribute", "relationship", "fetchedProperty"].contains(child.name),
          let property = child[attribute: "name"]
        else { continue }
        properties[ScalarString(name), default: [:]][ScalarString(property)] = child.location.line
      }
    }
  }

  /// The line of what a finding is about, from 1; nil if the file has none.
  package func line(of finding: LintFinding) -> Int? {
    guard let entity = finding.entityName.map({ ScalarString($0) }) else { return nil }
    let own = finding.propertyName.flatMap { properties[entity]?[ScalarString($0)] }
    return own ?? entities[entity]
  }
}
