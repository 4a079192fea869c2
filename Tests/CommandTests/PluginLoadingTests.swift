import Foundation
import Testing

@testable import AtomicStoreSPI

@Suite("When plug-ins are loaded, and what is known of them before") struct PluginLoadingTests {
  /// A directory for installed plug-ins, and what one there writes when it is loaded.
  private final class Installation {
    let folder: String
    let environment: [String: String]
    var plugins: String { folder + "/atomicstore/plugins" }
    var wasLoaded: Bool { FileManager.default.fileExists(atPath: folder + "/ran") }

    init() throws {
      folder = try PluginTests.folder()
      environment = ["XDG_DATA_HOME": folder]
      try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: plugins)
    }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// - Parameter source: Has the note, the binding and the register function, or not.
    @discardableResult func install(_ source: String) throws -> String {
      let ran =
        "#include <stdio.h>\n__attribute__((constructor)) static void ran(void) { fclose(fopen(\"\(folder)/ran\", \"w\")); }\n"
      let made = try BadPlugin.make("bad", ran + source, in: folder)
      let path = plugins + "/bad.so"
      try FileManager.default.moveItem(atPath: made, toPath: path)
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
      return path
    }
  }
  private static let idle = "void atomicstore_plugin_register_v1(void *sink) {}\n"

  @Test("the digest in the header is that of the sources: run Scripts/interface-digest --write")
  func digest() throws {
    let result = try Command.run(arguments: [], program: Command.root + "/Scripts/interface-digest")
    #expect(result.code == 0 && result.output == StorePlugin.interfaceDigest + "\n", "\(result.output)\(result.errors)")
  }

  @Test(
    "no code of a plug-in runs if its file says that it does not fit", .enabled(if: BadPlugin.compiler != nil),
    arguments: PluginTests.badFiles)
  func refusedUnloaded(_ name: String, _ source: String, _ word: String) throws {
    let installation = try Installation()
    let path = try installation.install(source + PluginTests.touched)
    let result = try Command.run("formats", "--plugin", path)
    #expect(result.code == 65 && result.errors.contains(word), "\(result.errors)")
    let wasLoaded = installation.wasLoaded
    #expect(!wasLoaded)
  }

  @Test(
    "installed plug-ins are loaded if a type, an extension or content needs them, and not otherwise",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: [
      ("inspect COMPANY", false), ("convert COMPANY new.plist", false), ("convert COMPANY new.x --to XML", false),
      ("metadata get COMPANY", false), ("convert COMPANY new.x --to Other", true), ("convert COMPANY new.other", true),
      ("inspect unknown", true), ("formats", true), ("formats --no-plugins", false),
      ("convert COMPANY new.x --to Other --no-plugins", false),
    ])
  func lazily(_ line: String, _ isLoaded: Bool) throws {
    let installation = try Installation()
    try installation.install(PluginTests.info() + Self.idle)
    try Data("nothing".utf8).write(to: URL(filePath: installation.folder + "/unknown"))
    let arguments = line.split(separator: " ").map { $0 == "COMPANY" ? Command.company : String($0) }
    let result = try Command.run(
      arguments: arguments, in: installation.folder, environment: installation.environment)
    #expect(result.code == 0 || line.contains("ther") || line.contains("unknown"), "\(result.errors)")
    let wasLoaded = installation.wasLoaded
    #expect(wasLoaded == isLoaded, "\(result.output)\(result.errors)")
  }

  @Test(
    "the error about a type that is not there names what was left out, and why",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: ["convert COMPANY new.x --to Other", "convert COMPANY new.other", "inspect unknown"])
  func leftOut(_ line: String) throws {
    let installation = try Installation()
    let path = try installation.install(PluginTests.info(kit: "\"9.9\"") + Self.idle)
    try Data("nothing".utf8).write(to: URL(filePath: installation.folder + "/unknown"))
    let arguments = line.split(separator: " ").map { $0 == "COMPANY" ? Command.company : String($0) }
    for (more, words) in [
      ([], "left out: \(path): it was built against version 9.9"),
      (["--no-plugins"], "left out: all installed plug-ins: because of --no-plugins"),
    ] {
      let result = try Command.run(
        arguments: arguments + more, in: installation.folder, environment: installation.environment)
      #expect(result.code != 0 && result.errors.contains(words), "\(result.errors)")
    }
  }

  @Test(
    "a plug-in that ends its process is left out by name, and the other types are listed",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: [
      ("abort();", "was ended by signal 6"), ("exit(0);", "exit code 0"), ("_exit(3);", "exit code 3"),
      ("*(volatile int *)8 = 1;", "signal 11"), ("__builtin_trap();", "signal"), ("raise(SIGBUS);", "signal 7"),
      ("volatile char room[1 << 26]; for (long i = (1 << 26) - 1; i >= 0; i -= 512) room[i] = 1;", "signal 11"),
    ], ["register", "constructor"])
  func dying(_ way: (code: String, end: String), _ place: String) throws {
    let installation = try Installation()
    let path = try installation.install(
      PluginTests.info(more: "#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n")
        + (place == "register"
          ? "void atomicstore_plugin_register_v1(void *sink) { \(way.code) }\n"
          : "__attribute__((constructor)) static void start(void) { \(way.code) }\n" + Self.idle))
    let result = try Command.run(arguments: ["formats"], environment: installation.environment)
    #expect(result.code == 0 && result.output.contains("BinaryPropertyList"), "\(result.code): \(result.output)")
    // An exit within the plug-in's own code is 70.
    let words = place == "register" && way.end.hasPrefix("exit code") ? "exit code 70" : way.end
    #expect(result.output.contains("left out: \(path): the plug-in \(path)"), "\(result.output)")
    #expect(result.output.contains(words), "\(result.output)")
    let named = try Command.run(arguments: ["formats", "--plugin", path], environment: ["ATOMICSTORE_PLUGIN_PATH": ""])
    #expect(named.code == 65 && named.output.contains("BinaryPropertyList"), "\(named.code): \(named.errors)")
    #expect(named.errors.contains(path), "\(named.errors)")
    // Where it is not needed, it does no harm.
    let other = try Command.run(arguments: ["inspect", Command.company], environment: installation.environment)
    #expect(other.code == 0 && other.errors.isEmpty, "\(other.errors)")
  }

  @Test(
    "a plug-in does not need the kit's dynamic library: the command has its name",
    .enabled(if: BadPlugin.compiler != nil))
  func alone() throws {
    let installation = try Installation()
    let name = "libAtomicStoreKitDynamic.so"
    let folder = installation.folder
    try Data("int kit;\n".utf8).write(to: URL(filePath: folder + "/kit.c"))
    try Data((PluginTests.info(more: "extern int kit; int *use = &kit;\n") + Self.idle).utf8)
      .write(to: URL(filePath: folder + "/plugin.c"))
    for arguments in [
      ["kit.c", "-o", name, "-Wl,-soname,\(name)"],
      ["-I", Command.root + "/Sources/C/CStorePlugin/include", "plugin.c", "-o", "plugin.so", "-L.", "-l:\(name)"],
    ] {
      let made = try Command.run(
        arguments: ["-shared", "-fPIC"] + arguments, in: folder, program: BadPlugin.compiler)
      try #require(made.code == 0, "\(made.errors)")
    }
    try FileManager.default.removeItem(atPath: folder + "/" + name)
    let result = try Command.run("formats", "--plugin", folder + "/plugin.so")
    // The library would be missing; so is what the test has put into it.
    #expect(result.errors.contains("undefined symbol: kit"), "\(result.errors)")
  }

  @Test(
    "a plug-in that uses a module of the kit outside of its interface is refused unloaded, with the module",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: [
      ("$s14AtomicStoreKit20ManagedObjectContextCMa", "AtomicStoreKit"),
      // A member that another module adds to a type of the interface.
      ("$s14AtomicStoreSPI0B6OptionV0B12CoordinationE3UseO9hashValueSivg", "StoreCoordination"),
    ])
  func uncoveredModule(_ symbol: String, _ module: String) throws {
    let installation = try Installation()
    let use = "extern char used __asm__(\"\(symbol)\");\nchar *use = &used;\n"
    let path = try installation.install(PluginTests.info() + use + PluginTests.touched)
    let result = try Command.run("formats", "--plugin", path)
    #expect(result.code == 65 && !installation.wasLoaded)
    #expect(
      result.errors.contains(
        "it uses the module \(module), which is not part of the interface of plug-ins: they may import AtomicStoreSPI,"),
      "\(result.errors)")
  }

  @Test(
    "a plug-in that uses the interface alone is loaded, also what it has of the same names itself",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: [
      "extern char used __asm__(\"$s14AtomicStoreSPI0B8RegistryVMa\");\nchar *use = &used;\n",
      "char own __asm__(\"$s14AtomicStoreKit20ManagedObjectContextCMa\") = 1;\n",
      "extern char used __asm__(\"$sSS5countSivg\");\nchar *use = &used;\n",
    ])
  func coveredModule(_ source: String) throws {
    let installation = try Installation()
    let result = try Command.run(
      "formats", "--plugin", try installation.install(PluginTests.info() + source + Self.idle))
    #expect(!result.errors.contains("it uses the module"), "\(result.errors)")
  }

  @Test("each module of the dynamic library is part of the interface of plug-ins, or refused to them")
  func modules() throws {
    let manifest = try String(contentsOfFile: Command.root + "/Package.swift", encoding: .utf8)
    let start = try #require(manifest.range(of: "name: \"AtomicStoreKitDynamic\", type: .dynamic,\n      targets: ["))
    let list = manifest[start.upperBound...].prefix { $0 != "]" }
    let names = list.split(separator: "\"").map(String.init).filter { $0.first?.isUppercase ?? false }
    #expect(names.count > 10)
    let known = Set(PluginModules.interface + PluginModules.others + ["CStorePlugin"])
    #expect(names.filter { !known.contains($0) } == [])
    // The formats are included.
    let formats = manifest.matches(of: /name: "(\w+StoreFormat)"/).map { String($0.output.1) }
    #expect(formats.count >= 5 && formats.filter { !known.contains($0) } == [])
    // Those of the interface are what the digest covers.
    let digest = try String(contentsOfFile: Command.root + "/Scripts/interface-digest", encoding: .utf8)
    for module in PluginModules.interface { #expect(digest.contains("/\(module)"), "\(module)") }
  }

  // MARK: Files

  /// A library with a note, in memory.
  private static func library() throws -> [UInt8] {
    let folder = try PluginTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return Array(
      try Data(contentsOf: URL(filePath: try BadPlugin.make("bad", PluginTests.info() + idle, in: folder))))
  }

  private static func code(_ path: String) -> PersistentStoreError.Code? {
    do throws(PersistentStoreError) {
      _ = try PluginNote.read(path)
      return nil
    } catch { return error.code }
  }

  @Test("a library that is truncated at any byte is refused unloaded", .enabled(if: BadPlugin.compiler != nil))
  func truncated() throws {
    let whole = try Self.library()
    let folder = try PluginTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/cut.so"
    try Data(whole).write(to: URL(filePath: path))
    #expect(Self.code(path) == nil)
    for length in (0..<whole.count).reversed() {
      try #require(truncate(path, length) == 0)
      #expect(Self.code(path) == .notSupported, "\(length)")
    }
  }

  @Test(
    "a library with changed bytes is read or refused, and never makes the reader fail otherwise",
    .enabled(if: BadPlugin.compiler != nil))
  func changed() throws {
    let whole = try Self.library()
    let folder = try PluginTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = folder + "/changed.so"
    try Data(whole).write(to: URL(filePath: path))
    let file = open(path, O_WRONLY)
    defer { close(file) }
    let note = try #require(
      whole.indices.first { whole[$0...].starts(with: "AtomicStoreKit".utf8) && whole[$0 - 4] == 2 })
    let sections = Int(LibraryFile.number(whole, at: 40, 8))
    var refusals = 0
    // The header and the segments, the note, and the sections.
    for place in Array(0..<800) + Array(note - 28..<note + 440) + Array(sections..<whole.count) {
      for value in [0, 1, 0x7F, 0x80, 0xFF, whole[place] ^ 1] as [UInt8] where value != whole[place] {
        var byte = value
        pwrite(file, &byte, 1, off_t(place))
        if Self.code(path) != nil { refusals += 1 }
      }
      var byte = whole[place]
      pwrite(file, &byte, 1, off_t(place))
    }
    #expect(refusals > 1000)
    #expect(Self.code(path) == nil)
  }

  @Test(
    "a library for another processor, an executable and an object file are refused unloaded",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: [
      (18, 40, "another kind of machine"), (18, 3, "another kind of machine"),
      (4, 1, "another kind of machine"), (5, 2, "another kind of machine"), (16, 2, "not a dynamic library"),
      (16, 1, "not a dynamic library"), (16, 4, "not a dynamic library"),
    ])
  func foreign(_ place: Int, _ byte: Int, _ word: String) throws {
    var bytes = try Self.library()
    bytes[place] = UInt8(byte)
    let folder = try PluginTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data(bytes).write(to: URL(filePath: folder + "/foreign.so"))
    let error = #expect(throws: PersistentStoreError.self) { try PluginNote.read(folder + "/foreign.so") }
    #expect(error?.code == .notSupported && error?.message.contains(word) == true, "\(String(describing: error))")
  }
}
