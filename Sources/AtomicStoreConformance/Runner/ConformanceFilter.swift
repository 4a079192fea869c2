import FoundationEssentials
import Glibc

/// What a failed test's command asks for: just that check, with the same seed. A program that tests has no arguments of
/// its own.
enum ConformanceFilter {
  static let check = "ATOMICSTORE_CONFORMANCE_ONLY"
  static let seed = "ATOMICSTORE_CONFORMANCE_SEED"

  static var askedSeed: UInt64? { getenv(seed).flatMap { UInt64(String(cString: $0)) } }

  /// All, where no check is asked for, or one that is not there: nothing run would pass.
  static func asked(of checks: [ConformanceCheck], named name: String? = getenv(check).map { String(cString: $0) })
    -> [ConformanceCheck]
  {
    guard let name else { return checks }
    let asked = checks.filter { $0.id == name }
    return asked.isEmpty ? checks : asked
  }
}
