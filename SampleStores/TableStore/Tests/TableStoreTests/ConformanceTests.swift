import AtomicStoreConformance
import TableStore
import Testing

/// All that a format's tests need. It stays as it is when checks are added.
@Test(arguments: Conformance.checks(for: TableStore.self))
func conforms(_ check: ConformanceCheck) throws { try check.run() }
