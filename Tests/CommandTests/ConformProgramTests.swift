import Foundation
import Testing

@testable import AtomicStoreCommand

/// The command alone in a directory, with stand-ins for the program that `atomicstore conform` runs.
final class Installation {
  let folder: Folder
  var command: String { folder("usr/bin/atomicstore") }

  init() throws {
    folder = try Folder()
    for path in ["usr/bin", "usr/libexec/atomicstore", "other/bin"] {
      try FileManager.default.createDirectory(atPath: folder(path), withIntermediateDirectories: true)
    }
    let built = try #require(Command.path, "the command was not built")
    if (try? FileManager.default.linkItem(atPath: built, toPath: command)) == nil {
      try FileManager.default.copyItem(atPath: built, toPath: command)
    }
  }

  /// Writes a program that prints its own path and its arguments, one per line, and ends with 3.
  func add(_ path: String, mode: Int = 0o755) throws {
    try Data("#!/bin/sh\nfor word in \"$0\" \"$@\"; do echo \"$word\"; done\nexit 3\n".utf8).write(
      to: URL(filePath: folder(path)))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder(path))
  }

  func run(_ arguments: String...) throws -> Command.Result {
    try Command.run(
      arguments: arguments, environment: ["PATH": "relative:\(folder("other/bin")):/usr/bin:/bin"], program: command)
  }
}

@Suite("atomicstore conform finds its program") struct ConformProgramTests {
  private static let places = [
    "usr/bin/atomicstore-conform", "usr/libexec/atomicstore/atomicstore-conform", "other/bin/atomicstore-conform",
  ]

  @Test(
    "it is searched for beside the command, then in libexec, then in PATH; its output and exit code are the command's",
    arguments: 0..<3)
  func order(_ first: Int) throws {
    let installation = try Installation()
    for place in Self.places[first...] { try installation.add(place) }
    let result = try installation.run("conform", "--type", "a b", "", "--only", "*")
    #expect(result.code == 3 && result.errors.isEmpty)
    let real = try #require(realpath(installation.folder(Self.places[first]), nil))
    defer { free(real) }
    #expect(result.output == "\(String(cString: real))\n--type\na b\n\n--only\n*\n")
  }

  @Test("if it is missing, the exit code is 69, and all paths that were tried are listed")
  func missing() throws {
    let installation = try Installation()
    let result = try installation.run("conform", "--type", "XML")
    #expect(result.code == 69 && result.output.isEmpty)
    for place in Self.places { #expect(result.errors.contains("/" + place + "\n"), "\(result.errors)") }
    #expect(!result.errors.contains("relative"))
    let json = try installation.run("conform", "list", "--json")
    #expect(json.code == 69)
    #expect(try json.error()["code"] as? String == "unavailable")
    // The rest of the command does without.
    #expect(try installation.run("formats").code == 0)
  }

  @Test("a file that is not executable, and a directory of that name, are skipped")
  func unusable() throws {
    let installation = try Installation()
    try installation.add(Self.places[0], mode: 0o644)
    try FileManager.default.createDirectory(
      atPath: installation.folder(Self.places[1]), withIntermediateDirectories: false)
    #expect(try installation.run("conform", "list").code == 69)
    try installation.add(Self.places[2])
    #expect(try installation.run("conform", "list").code == 3)
  }

  @Test("a program that cannot be started is an error with the system's reason")
  func broken() throws {
    let installation = try Installation()
    try Data([0x7F]).write(to: URL(filePath: installation.folder(Self.places[0])))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: installation.folder(Self.places[0]))
    let result = try installation.run("conform", "list")
    #expect(result.code == 69 && result.errors.contains("cannot be started: Exec format error"), "\(result.errors)")
  }

  @Test("help for conform is that program's help")
  func help() throws {
    let installation = try Installation()
    try installation.add(Self.places[0])
    let result = try installation.run("help", "conform")
    #expect(result.code == 3 && result.output.hasSuffix("\n--help\n"))
    // Other commands come as before.
    #expect(try installation.run("help", "convert").output.contains("--allow-loss"))
    #expect(try installation.run("--help").output.contains("conform"))
  }

  @Test("a program with its own formats requires a conform program that has them too")
  func ownFormats() {
    let program = SubcommandProgram(
      "conform", executable: "/opt/bin/jsonlines", searchPath: "/a::b:/c", hasOwnFormats: true)
    #expect(
      program.candidates == ["/opt/bin", "/opt/libexec/atomicstore", "/a", "/c"].map { $0 + "/jsonlines-conform" })
    let stock = SubcommandProgram("conform", executable: "/opt/bin/renamed", searchPath: "", hasOwnFormats: false)
    #expect(stock.candidates == ["/opt/bin/atomicstore-conform", "/opt/libexec/atomicstore/atomicstore-conform"])
  }
}
