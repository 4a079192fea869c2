import ArgumentParser
import AtomicStoreConformance
import Foundation
import Testing

@testable import AtomicStoreCommand

@Suite("The products") struct ProductTests {
  /// What the harness replaces, and what someone could think of replacing.
  static let systemCalls: Set<String> = [
    "open", "open64", "openat", "openat64", "creat", "close", "read", "pread", "pread64", "write", "pwrite", "pwrite64",
    "writev", "fsync",
    "fdatasync", "ftruncate", "ftruncate64", "rename", "renameat", "renameat2", "unlink", "unlinkat", "rmdir", "mkdir",
    "mkdirat", "link",
    "linkat", "symlink", "fchmod", "chmod", "chown", "stat", "stat64", "lstat", "lstat64", "fstat", "fstatat",
    "opendir", "readdir",
    "connect", "socket", "send", "recv", "fork", "execve", "mmap", "munmap", "fcntl", "flock", "dup", "dup2", "malloc",
    "free",
  ]

  /// glibc as this process has it.
  private static func systemLibrary() throws -> DefinedFunctions {
    // To its end: the system does not say how long it is.
    let file = try #require(FileHandle(forReadingAtPath: "/proc/self/maps"))
    let map = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
    let line = try #require(map.split(separator: "\n").first { $0.hasSuffix("/libc.so.6") }, "libc.so.6 is not loaded")
    return try DefinedFunctions(of: String(line[try #require(line.firstIndex(of: "/"))...]))
  }

  @Test(
    "the libraries do not define functions of the C library, and the command only those that end a program",
    arguments: ["libAtomicStoreKitDynamic.so", "atomicstore"])
  func definesNoSystemCall(_ product: String) throws {
    let own = try DefinedFunctions(of: try #require(Command.built(product), "\(product) was not built"))
    // It is this product's table, and whole: the kit's functions are in it.
    #expect(own.names.filter { $0.hasPrefix("$s14AtomicStoreKit") }.count > 500)
    #expect(own.names.isDisjoint(with: Self.systemCalls))
    // `_init` and `_fini` are every file's own.
    let taken = own.names.intersection(try Self.systemLibrary().names).subtracting(["_init", "_fini"])
    // A plug-in that ends the command is named.
    let ends: Set<String> = product == "atomicstore" ? ["exit", "_exit", "_Exit", "quick_exit"] : []
    #expect(taken == ends, "\(taken.sorted())")
    #expect(!own.names.contains("csf_replaced_calls_use"))
  }

  @Test("the program that runs checks replaces the system calls of a save, which shows that this test detects them")
  func replacesThem() throws {
    let own = try DefinedFunctions(
      of: try #require(Command.built("atomicstore-conform"), "atomicstore-conform was not built"))
    #expect(
      own.names.isSuperset(of: [
        "open", "write", "rename", "fsync", "unlink", "stat", "connect", "csf_replaced_calls_use",
      ]))
    #expect(try Self.systemLibrary().names.isSuperset(of: ["open", "write", "rename", "fsync", "connect", "malloc"]))
  }

  @Test("the command loads the small part of Foundation only, which has no data of languages")
  func loadsNoLanguages() throws {
    for name in ["atomicstore", "atomicstore-browse"] {
      let libraries = try NeededLibraries(of: try #require(Command.built(name), "\(name) was not built")).names
      #expect(libraries.contains("libFoundationEssentials.so"))
      #expect(
        !libraries.contains {
          $0.hasPrefix("libFoundation.") || $0.contains("Internationalization") || $0.contains("ICU")
        })
    }
    // The check finds the library where it is used: in the program of these tests.
    #expect(try NeededLibraries(of: "/proc/self/exe").names.contains("libFoundation.so"))
  }

  @Test("the command loads libpq, and the twenty libraries that it needs, only for a database")
  func loadsLate() throws {
    let libraries = try NeededLibraries(of: try #require(Command.built("atomicstore"), "atomicstore was not built"))
      .names
    #expect(libraries.contains { $0.hasPrefix("libxml2.") })
    #expect(!libraries.contains { $0.hasPrefix("libpq.") })
  }

  @Test(
    "where libpq is missing, a database cannot be reached, and everything else works",
    arguments: ["", String(repeating: "no library", count: 500)])
  func withoutLibrary(_ content: String) throws {
    let folder = try Folder()
    try Data(content.utf8).write(to: URL(fileURLWithPath: folder("libpq.so.5")))
    let program = try #require(Command.built("atomicstore"), "atomicstore was not built")
    let environment = ["LD_LIBRARY_PATH": folder.path]
    let database = try Command.run(
      arguments: ["inspect", "postgresql://localhost:1/nowhere"], environment: environment, program: program)
    #expect(database.code == 69, "\(database.code)")
    #expect(database.errors.contains("libpq cannot be loaded"), "\(database.errors)")
    let file = try Command.run(
      arguments: ["inspect", Command.samples + "/Company/Company.xml"], environment: environment, program: program)
    #expect(file.code == 0, "\(file.errors)")
  }

  @Test("every command names itself: a name that the parser makes up takes a third of the time of a start")
  func commandNames() {
    func commands(of command: any ParsableCommand.Type) -> [any ParsableCommand.Type] {
      [command] + command.configuration.subcommands.flatMap(commands)
    }
    let all = commands(of: AtomicStoreCommand.self)
    #expect(all.count > 25)
    #expect(all.filter { $0.configuration.commandName == nil }.map { "\($0)" } == [])
  }

  @Test("every program prints the version, which its manual page names", arguments: ["conform", "browse"])
  func versions(_ name: String) throws {
    let program = try #require(Command.built("atomicstore-" + name), "atomicstore-\(name) was not built")
    let told = try Command.run(arguments: ["--version"], program: program)
    #expect(told.code == 0)
    #expect(told.output == (try Command.run("--version")).output)
  }

  @Test("the command has the same checks as an author's tests, in the same order")
  func sameChecks() throws {
    let listed = try #require(try Command.run("conform", "list", "--json").json() as? [[String: Any]]).compactMap {
      $0["id"] as? String
    }
    #expect(listed.count > 240)
    #expect(listed == Conformance.catalogue.map(\.id))
  }
}
