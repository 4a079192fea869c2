import AtomicStoreConformance
import JSONLinesStore
import Testing

/// All that a format's tests need. It stays as it is when checks are added. `swift test` runs the two dozen checks that
/// take a few seconds, `ATOMICSTORE_CONFORMANCE=all swift test` all of them.
@Test(arguments: Conformance.smoke(for: JSONLinesStore.self))
func conforms(_ check: ConformanceCheck) throws { try check.run() }
