import AtomicStoreSPI
import FoundationEssentials

/// A check that failed, as an error whose text is the whole story.
package struct ConformanceFailure: Error, CustomStringConvertible {
  /// The result of the check that failed.
  let result: ConformanceResult

  package var description: String { ConformanceReport.text(of: result) }
}
