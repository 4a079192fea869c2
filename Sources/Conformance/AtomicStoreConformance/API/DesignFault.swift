/// A mistake that a format of another design than the kit's can be told to make: a fault that is in the format's own
/// code, not round it.
package struct DesignFault: Sendable {
  package var name: String
  /// What the format does, as a sentence without its subject.
  package var text: String
  /// The IDs of the checks that must find it.
  package var foundBy: [String]

  package init(name: String, text: String, foundBy: [String]) {
    self.name = name
    self.text = text
    self.foundBy = foundBy
  }
}
