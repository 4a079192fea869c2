import AtomicStoreKit
import AtomicStoreSPI
import CommandSupport
import Testing

@testable import AtomicStoreCommand

@Suite("Errors of databases") struct DatabaseErrorTests {
  @Test(
    "a database that fails while objects are read has the exit code that it has when it is opened",
    arguments: [(.unavailable, 69), (.retry, 74), (.notAuthorised, 77), (.malformed, 65)]
      as [(PersistentStoreError.Code, Int32)])
  func exitCodes(_ code: PersistentStoreError.Code, _ exitCode: Int32) throws {
    for kind in [ManagedObjectError.Code.persistentStoreOperation, .persistentStoreSave] {
      let error = ManagedObjectError(kind, "it failed", underlying: PersistentStoreError(code, "why"))
      #expect(CommandFailure(error, json: false).exitCode == exitCode)
    }
  }
}
