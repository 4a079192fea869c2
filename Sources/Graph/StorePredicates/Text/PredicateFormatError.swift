/// The error if a text cannot be parsed as a predicate: what is wrong, where, and what was expected.
public struct PredicateFormatError: Error, Sendable, CustomStringConvertible {
  /// The text.
  public let format: String
  /// The position in Unicode scalars, starting at 1; at the end of the text, one more than its length.
  public let column: Int
  /// What is wrong at that position.
  public let message: String
  /// A correction, such as a property with a similar name.
  public var suggestion: String?

  init(_ format: String, _ column: Int, _ message: String, suggestion: String? = nil) {
    self.format = format
    self.column = column
    self.message = message
    self.suggestion = suggestion
  }

  /// The message, the text, and a mark below the position. Long texts are shortened around it.
  public var description: String {
    var text = "column \(column): \(message)"
    if let suggestion { text += "; \(suggestion)" }
    let scalars = Array(format.unicodeScalars)
    let place = min(max(column - 1, 0), scalars.count)
    let start = max(0, place - 60)
    let end = min(scalars.count, place + 40)
    var line = String.UnicodeScalarView()
    // Control characters would break the layout.
    for scalar in scalars[start..<end] { line.append(scalar.value < 32 || scalar.value == 127 ? " " : scalar) }
    return text + "\n  " + String(line) + "\n  " + String(repeating: " ", count: place - start) + "^"
  }
}
