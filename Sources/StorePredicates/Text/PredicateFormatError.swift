/// Why a text is not a predicate: what is wrong, where, and what would be right.
public struct PredicateFormatError: Error, Sendable, CustomStringConvertible {
  /// The text.
  public let format: String
  /// Where in it, in Unicode scalars from 1; one more than it has for its end.
  public let column: Int
  /// What is wrong there.
  public let message: String
  /// What may have been meant, such as a property with a similar name.
  public var suggestion: String?

  init(_ format: String, _ column: Int, _ message: String, suggestion: String? = nil) {
    self.format = format
    self.column = column
    self.message = message
    self.suggestion = suggestion
  }

  /// The message, the text, and a mark under the place. Long texts are cut around it.
  public var description: String {
    var text = "column \(column): \(message)"
    if let suggestion { text += "; \(suggestion)" }
    let scalars = Array(format.unicodeScalars)
    let place = min(max(column - 1, 0), scalars.count)
    let start = max(0, place - 60)
    let end = min(scalars.count, place + 40)
    var line = String.UnicodeScalarView()
    // Controls would break the picture.
    for scalar in scalars[start..<end] { line.append(scalar.value < 32 || scalar.value == 127 ? " " : scalar) }
    return text + "\n  " + String(line) + "\n  " + String(repeating: " ", count: place - start) + "^"
  }
}
