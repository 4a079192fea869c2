/// Something in a model file that a person may want to look at.
public struct ModelFileWarning: Sendable, Hashable, CustomStringConvertible {
  /// 1-based.
  public var line: Int?
  /// What is questionable, for a person.
  public var text: String
  /// Creates a warning.
  public init(line: Int?, text: String) {
    self.line = line
    self.text = text
  }
  public var description: String { line.map { "line \($0): \(text)" } ?? text }
}
