import ArrowStoreFormat
import AtomicStoreConformance
import AtomicStoreSPI
import BinaryPropertyListStoreFormat
import CSVStoreFormat
import CoreDataBinaryStoreFormat
import CoreDataSQLiteStoreFormat
import TestSupport
import Testing
import XMLStoreFormat

/// What an author's test file does, for each built-in format.
@Suite("The formats of the kit conform", .enabled(if: Harness.canRunChecks, Harness.sanitizerReason))
struct BuiltInConformanceTests {
  static let all: [any AtomicStore.Type] = [XMLStore.self, BinaryPropertyListStore.self, CSVStore.self]

  /// The quick checks, and this run's share of the others.
  private static func checks(for type: any AtomicStore.Type) -> [ConformanceCheck] {
    Conformance.checks(for: type, others: all).share(of: type.storeType, always: \.isSmoke, name: \.id)
  }

  @Test(arguments: checks(for: XMLStore.self))
  func xml(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: checks(for: BinaryPropertyListStore.self))
  func propertyList(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: checks(for: CSVStore.self))
  func csv(_ check: ConformanceCheck) throws { try check.run() }

  // Of Core Data's own formats the quick checks alone: `Scripts/full conform` runs all of them.
  @Test(arguments: Conformance.smoke(for: CoreDataSQLiteStore.self))
  func coreDataSQLite(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: Conformance.smoke(for: ArrowStore.self))
  func arrow(_ check: ConformanceCheck) throws { try check.run() }

  @Test(arguments: Conformance.smoke(for: CoreDataBinaryStore.self))
  func coreDataBinary(_ check: ConformanceCheck) throws { try check.run() }
}
