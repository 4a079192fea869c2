import AtomicStoreKit
import AtomicStoreSPI
import CommandSupport
import Foundation
import Testing

@testable import AtomicStoreCommand

@Suite("Errors of databases") struct DatabaseErrorTests {
  @Test(
    "a database that fails while objects are read has the exit code that it has when it is opened",
    arguments: [(.unavailable, 69), (.retry, 74), (.notAuthorized, 77), (.malformed, 65)]
      as [(PersistentStoreError.Code, Int32)])
  func exitCodes(_ code: PersistentStoreError.Code, _ exitCode: Int32) throws {
    for kind in [ManagedObjectError.Code.persistentStoreOperation, .persistentStoreSave] {
      let error = ManagedObjectError(kind, "it failed", underlying: PersistentStoreError(code, "why"))
      #expect(CommandFailure(error, json: false).exitCode == exitCode)
    }
  }

  @Test("with --json, the error of a store that could not be changed is the store's, with its place")
  func causes() {
    for kind in [ManagedObjectError.Code.persistentStoreOperation, .persistentStoreSave] {
      let place = StoreLocation(file: "s.xml", line: 3, entity: "Book", reference: "1", property: "title")
      let cause = PersistentStoreError(.invalidValue, "why", at: place)
      let failure = CommandFailure(ManagedObjectError(kind, "it failed", underlying: cause), json: true)
      #expect(failure.details?.text == CommandFailure(cause, json: true).details?.text)
      #expect(failure.details?.text.contains("s.xml") == true)
    }
  }

  @Test(
    "a database that another program has locked is an error after ten seconds, and is not tried again",
    .enabled(if: SQLiteProgram.path != nil, "needs the sqlite3 program"))
  func locked() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, "s.sqlgraph", in: folder.path).code == 0)
    // The lock lasts until the command has ended.
    let result = try Command.shell(
      """
      mkfifo end; (echo 'BEGIN IMMEDIATE;'; echo '.shell touch held'; cat end) | sqlite3 s.sqlgraph &
      while [ ! -e held ]; do sleep 0.1; done
      "$0" insert s.sqlgraph --entity Department --json; code=$?; echo > end; wait; exit $code
      """, in: folder.path)
    #expect(result.code == 74 && result.errors.contains(#""code": "locked""#), "\(result)")
  }

  @Test("a conflict with another program's save has one exit code, whether an object or the whole store is concerned")
  func conflicts() {
    for error in [
      ManagedObjectError(.managedObjectMerge, "changed by both"),
      ManagedObjectError(.persistentStoreSave, "others saved a hundred times"),
      PersistentStoreError(.changedOnDisk, "modified since"), PersistentStoreError(.retry, "saved since"),
    ] as [any Error] {
      #expect(CommandFailure(error, json: false).exitCode == 74, "\(error)")
    }
  }

  @Test(
    "check ends with the exit code that dump has where a store cannot be reached or read, and finds nothing in it",
    arguments: [("postgresql://127.0.0.1:1/none", 69), ("unreadable.sqlgraph", 73)] as [(String, Int32)])
  func checking(_ store: String, _ exitCode: Int32) throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, "unreadable.sqlgraph", in: folder.path).code == 0)
    // The log of a database has to be a file.
    try FileManager.default.createDirectory(
      atPath: folder("unreadable.sqlgraph-wal"), withIntermediateDirectories: false)
    for command in ["dump", "check"] {
      let result = try Command.run(command, store, in: folder.path)
      #expect(result.code == exitCode && result.output.isEmpty, "\(command) \(result.output) \(result.errors)")
    }
  }

  /// Whether this user can mount a file system of a given size.
  private static let canMount =
    (try? Command.shell("unshare -rm sh -c 'mount -t tmpfs -o size=64k none /mnt'").code) == 0

  @Test(
    "a database that does not fit on its file system is an error of input and output, whatever did not fit",
    .enabled(if: canMount, "no file system can be mounted"))
  func fullFileSystem() throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("mounted"), withIntermediateDirectories: false)
    let result = try Command.shell(
      """
      unshare -rm sh -c 'for size in 60 120 180 220 260; do
        mount -t tmpfs -o size=${size}k none "$2"
        "$0" convert "$1" "$2/c.sqlgraph" 2>> errors; echo $? $(ls -A "$2" | wc -l)
        umount "$2"
      done' "$0" "$1" "$2"
      """, Command.company, folder("mounted"), in: folder.path)
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 5 && lines.allSatisfy { ["74 0", "0 1"].contains($0) }, "\(result.output) \(result.errors)")
    #expect(lines.first == "74 0")
  }
}
