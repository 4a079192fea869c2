import AtomicStoreConformance
import Testing
import YAMLStore

/// All that a format's tests need. It stays as it is when checks are added.
@Test(arguments: Conformance.checks(for: YAMLStore.self))
func conforms(_ check: ConformanceCheck) throws { try check.run() }
