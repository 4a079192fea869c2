/// Something in a model file that a person may want to look at.
public struct ModelFileWarning: Sendable, Hashable, CustomStringConvertible {
  /// 1-based.
  public var line: Int?
  public var text: String
  public init(line: Int?, text: String) {
    self.line = line
    self.text = text
  }
  public var description: String { line.map { "line \($0): \(text)" } ?? text }
}
