import FoundationEssentials
import Glibc

/// What a failed test's command asks for: just that check, with the same seed. Several names are separated by commas. A
/// program that tests has no arguments for this.
enum ConformanceFilter {
  static let check = "ATOMICSTORE_CONFORMANCE_ONLY"
  static let seed = "ATOMICSTORE_CONFORMANCE_SEED"

  static let all = "ATOMICSTORE_CONFORMANCE"

  /// Whether a test that runs the quick checks is to run all of them, or those that are named.
  static func wantsMoreThanSmoke(
    _ variable: (String) -> String? = { name in getenv(name).map { String(cString: $0) } }
  ) -> Bool { variable(all) == "all" || variable(check) != nil }

  static var askedSeed: UInt64? { getenv(seed).flatMap { UInt64(String(cString: $0)) } }

  /// All, if no check is asked for, or only checks that do not exist: nothing run would pass.
  static func asked(of checks: [ConformanceCheck], named name: String? = getenv(check).map { String(cString: $0) })
    -> [ConformanceCheck]
  {
    guard let name else { return checks }
    let names = Set(name.split(separator: ",").map(String.init))
    let asked = checks.filter { names.contains($0.id) }
    return asked.isEmpty ? checks : asked
  }
}
