import AtomicStoreSPI
import FoundationEssentials

/// A check that failed, as an error whose text is the whole story.
public struct ConformanceFailure: Error, CustomStringConvertible {
  /// The result of the check that failed.
  let result: ConformanceResult

  public var description: String { ConformanceReport.text(of: result) }
}
