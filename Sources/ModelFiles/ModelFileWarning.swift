/// A doubtful part of a model file.
public struct ModelFileWarning: Sendable, Hashable, CustomStringConvertible {
  /// The line number, starting at 1.
  public var line: Int?
  /// What is doubtful, for the user.
  public var text: String
  /// Creates a warning.
  public init(line: Int?, text: String) {
    self.line = line
    self.text = text
  }
  public var description: String { line.map { "line \($0): \(text)" } ?? text }
}
