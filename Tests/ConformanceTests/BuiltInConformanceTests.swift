import ArrowStoreFormat
import AtomicStoreConformance
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import CSVStoreFormat
import CoreDataBinaryStoreFormat
import CoreDataSQLiteStoreFormat
import Testing
import XMLStoreFormat

/// The whole file that an author needs, three times over: it never changes when checks are added.
@Suite("The formats of the kit conform", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason))
struct BuiltInConformanceTests {
  static let all: [any AtomicStore.Type] = [XMLStore.self, BinaryPropertyListStore.self, CSVStore.self]

  @Test(arguments: Conformance.checks(for: XMLStore.self, others: all))
  func xml(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: Conformance.checks(for: BinaryPropertyListStore.self, others: all))
  func propertyList(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: Conformance.checks(for: CSVStore.self, others: all))
  func csv(_ check: ConformanceCheck) throws { try check.run() }

  // Of Core Data's own formats the quick checks alone: `Scripts/full conform` runs all of them.
  @Test(arguments: Conformance.smoke(for: CoreDataSQLiteStore.self))
  func coreDataSQLite(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: Conformance.smoke(for: ArrowStore.self))
  func arrow(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: Conformance.smoke(for: CoreDataBinaryStore.self))
  func coreDataBinary(_ check: ConformanceCheck) throws { try check.run() }
}
