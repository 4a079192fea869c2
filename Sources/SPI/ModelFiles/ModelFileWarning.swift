/// A doubtful part of a model file.
package struct ModelFileWarning: Sendable, Hashable, CustomStringConvertible {
  /// The line number, starting at 1.
  package var line: Int?
  /// What is doubtful, for the user.
  package var text: String
  /// Creates a warning.
  init(line: Int?, text: String) {
    self.line = line
    self.text = text
  }
  package var description: String { line.map { "line \($0): \(text)" } ?? text }
}
