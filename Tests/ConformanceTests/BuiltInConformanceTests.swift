import AtomicStoreConformance
import BuiltInStoreFormats
import Testing

@Suite("The formats of the kit conform") struct BuiltInConformanceTests {
  @Test(arguments: Conformance.checks(for: XMLStore.self))
  func xml(_ check: ConformanceCheck) throws { try check.run() }
}
