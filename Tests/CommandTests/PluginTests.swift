import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreCommand
@testable import CommandSupport

/// Libraries that are not good as plug-ins, made by the C compiler that comes with Swift.
enum BadPlugin {
  static let compiler: String? = {
    (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map { $0 + "/clang" }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  static func make(_ name: String, _ source: String, in folder: String) throws -> String {
    let path = folder + "/" + name
    try Data(source.utf8).write(to: URL(fileURLWithPath: path + ".c"))
    try ChildProcess.output(
      of: try #require(compiler),
      ["-shared", "-fPIC", "-I", Command.root + "/Sources/C/CStorePlugin/include", path + ".c", "-o", path + ".so"])
    return path + ".so"
  }
}

@Suite("Plug-ins") struct PluginTests {
  static func folder() throws -> String {
    let path = NSTemporaryDirectory() + "plugins-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  @Test("a file that is not a library is refused, with the reason")
  func noLibrary() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Data("hello".utf8).write(to: URL(fileURLWithPath: folder + "/text.so"))
    for (path, code, word) in [
      (folder + "/missing.so", 66, "the plug-in does not exist"), (folder + "/text.so", 65, "not a dynamic library"),
      (folder, 65, "a plug-in must be a file"),
    ] {
      let result = try Command.run("formats", "--plugin", path)
      #expect(result.code == Int32(code), "\(result.errors)")
      #expect(result.errors.contains(word), "\(result.errors)")
    }
  }

  static let header = "#include \"CStorePlugin.h\"\n"
  /// What the macro of a plug-in writes, or other values.
  static func info(
    major: String = "ASP_MAJOR", minor: String = "ASP_MINOR", kit: String = "ASP_KIT_VERSION",
    compiler: String = "__VERSION__", interface: String = "ASP_INTERFACE",
    identity: String = "&atomicstore_kit_identity", runtime: String = "&asp_swift_runtime", more: String = ""
  ) -> String {
    header + more + """
      ASP_DECLARE_NOTE("Bad", \(kit), \(compiler), \(major), \(minor), \(interface))
      ASP_DECLARE_BINDING(\(identity), \(runtime))

      """
  }
  static let touched = "#include <stdlib.h>\nvoid atomicstore_plugin_register_v1(void *sink) { abort(); }\n"
  private static let anotherNote = """
    __attribute__((section(".note.other"), used, aligned(4))) static const asp_note another = {
      sizeof(ASP_NOTE_OWNER), ASP_NOTE_SIZE, ASP_NOTE_TYPE, ASP_NOTE_OWNER, ASP_MAJOR, ASP_MINOR, "Two", "", "", ""};

    """

  /// What the file itself shows: no code of such a plug-in runs.
  static let badFiles: [(String, String, String)] = [
    ("no note", "int nothing;\n", "does not have the note of a store plug-in"),
    ("an older interface", info(major: "2"), "was built for plug-in interface 2.0, this program has 3.0"),
    ("a newer interface", info(major: "99"), "was built for plug-in interface 99.0, this program has 3.0"),
    ("a newer minor one", info(minor: "7"), "was built for plug-in interface 3.7, this program has 3.0"),
    (
      "another kit", info(kit: "\"9.9\""),
      "was built against version 9.9 of the kit, this program is \(StorePlugin.kitVersion)"
    ),
    ("another compiler", info(compiler: "\"Clang 3\""), "it was built by Clang 3, this program by"),
    (
      "other sources of the same version", info(interface: "\"0123456789abcdef\""),
      "against other sources of version \(StorePlugin.kitVersion) of the kit (their digest is 0123456789ab, "
        + "that of this program's is \(StorePlugin.interfaceDigest.prefix(12)))"
    ),
    ("two notes", info(more: anotherNote), "it has the notes of 2 plug-ins"),
  ]
  static let bad: [(String, String, String)] =
    badFiles + [
      (
        "no binding",
        header
          + "ASP_DECLARE_NOTE(\"Bad\", ASP_KIT_VERSION, __VERSION__, ASP_MAJOR, ASP_MINOR, ASP_INTERFACE)\n",
        "atomicstore_plugin_binding_v1 is missing"
      ),
      ("its own kit", info(identity: "&own", more: "static const char own = 1;\n"), "carries its own copy of the kit"),
      (
        "its own runtime", info(runtime: "&own", more: "static const char own = 1;\n"),
        "second copy of the Swift runtime"
      ),
      (
        "a missing symbol", info(more: "extern int not_there_at_all; int *use = &not_there_at_all;\n"),
        "has a symbol that it uses: "
      ),
      (
        "a missing symbol of the kit",
        info(more: "extern int gone __asm__(\"$s14AtomicStoreSPI4goneSivp\"); int *use = &gone;\n"),
        "built against another version of the kit"
      ),
    ]

  @Test(
    "an incompatible plug-in is refused with both sides named, before its formats are registered",
    .enabled(if: BadPlugin.compiler != nil), arguments: bad)
  func refusals(_ name: String, _ source: String, _ word: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Its registration would end the process.
    let path = try BadPlugin.make("bad", source + Self.touched, in: folder)
    let result = try Command.run("formats", "--plugin", path)
    #expect(result.code == 65, "\(result.errors)")
    #expect(result.errors.contains(word), "\(result.errors)")
    #expect(result.errors.contains(path))
    // One that merely is there is left out, and shown.
    let data = folder + "/data/atomicstore/plugins"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: path, toPath: data + "/bad.so")
    let listed = try Command.run(arguments: ["formats"], environment: ["XDG_DATA_HOME": folder + "/data"])
    #expect(listed.code == 0)
    #expect(listed.output.contains("left out: \(data)/bad.so") && listed.output.contains(word), "\(listed.output)")
    let searched = try Command.run(arguments: ["formats"], environment: ["ATOMICSTORE_PLUGIN_PATH": path])
    #expect(searched.output.contains("left out: \(path)"))
  }

  /// A second copy of the kit, as a library has one that links the static product: the file that identifies a copy.
  private static let ownCopy = "#include \"../CStorePlugin.c\"\n"

  @Test(
    "a plug-in that is linked with its own copy of the kit is refused, although the program exports the same symbols",
    .enabled(if: BadPlugin.compiler != nil))
  func ownCopyOfTheKit() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = try BadPlugin.make("own", Self.ownCopy + Self.info() + Self.touched, in: folder)
    let result = try Command.run("formats", "--plugin", path)
    #expect(result.code == 65, "\(result.errors)")
    #expect(result.errors.contains("carries its own copy of the kit"), "\(result.errors)")
  }

  @Test(
    "a process that uses two copies of the kit opens no store, and names both; a second copy that is only loaded is allowed",
    .enabled(if: BadPlugin.compiler != nil), arguments: [true, false])
  func twoCopies(_ isUsed: Bool) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let use = """
      __attribute__((constructor)) static void use(void) { char path[64]; asp_find_other_copy(path, sizeof(path)); }

      """
    let library = try BadPlugin.make("copy", Self.ownCopy + (isUsed ? use : ""), in: folder)
    let result = try Command.run(arguments: ["inspect", Command.company], environment: ["LD_PRELOAD": library])
    #expect(result.code == (isUsed ? 65 : 0), "\(result.errors)")
    #expect(
      result.errors.contains("two copies of AtomicStoreKit, one in \(library) and one in ") == isUsed,
      "\(result.errors)")
  }

  /// Writes down that its code ran.
  private static func touching(_ folder: String) -> String {
    "#include <stdio.h>\n__attribute__((constructor)) static void ran(void) { fclose(fopen(\"\(folder)/ran\", \"w\")); }\n"
  }

  @Test(
    "a plug-in that depends on the current directory, or that another user may have written, is not loaded, and this is reported",
    .enabled(if: BadPlugin.compiler != nil),
    arguments: ["XDG relative", "path relative", "directory", "file", "file in a directory", "link to a directory"])
  func unsafePlaces(_ which: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let plugins = folder + "/data/atomicstore/plugins"
    try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
    let made = try BadPlugin.make("bad", Self.touching(folder) + Self.info() + Self.touched, in: folder)
    let plugin = plugins + "/bad.so"
    try FileManager.default.moveItem(atPath: made, toPath: plugin)
    func open(_ path: String) throws {
      try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
    }
    for path in [plugins, plugin] {
      try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
    }
    var environment = ["XDG_DATA_HOME": folder + "/data"]
    switch which {
    case "XDG relative": environment = ["XDG_DATA_HOME": "data", "HOME": folder + "/none"]
    case "path relative":
      environment = ["ATOMICSTORE_PLUGIN_PATH": "data/atomicstore/plugins", "XDG_DATA_HOME": folder + "/none"]
    case "directory": try open(plugins)
    case "file": try open(plugin)
    case "file in a directory":
      environment = ["ATOMICSTORE_PLUGIN_PATH": plugin, "XDG_DATA_HOME": folder + "/none"]
      try open(plugins)
    default:
      try FileManager.default.createSymbolicLink(atPath: folder + "/link", withDestinationPath: plugins)
      environment = ["ATOMICSTORE_PLUGIN_PATH": folder + "/link", "XDG_DATA_HOME": folder + "/none"]
      try open(plugins)
    }
    // Content that no format of the kit recognizes, for which plug-ins are needed.
    try Data("nothing".utf8).write(to: URL(filePath: folder + "/unknown"))
    let result = try Command.run(arguments: ["inspect", "unknown"], in: folder, environment: environment)
    #expect(result.code == 65 && result.errors.contains("not a store"), "\(result.errors)")
    let word = which.contains("relative") ? "relative path" : "other users may write to it"
    #expect(result.errors.contains(word), "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder + "/ran"))
  }

  @Test("the search accepts only files that belong to the user or root and that no other user may write to")
  func owners() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let plugins = folder + "/atomicstore/plugins"
    try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
    for (name, mode) in [("a.so", 0o644), ("b.so", 0o664), ("c.so", 0o646), ("d.txt", 0o644)] {
      try Data("x".utf8).write(to: URL(filePath: plugins + "/" + name))
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: plugins + "/" + name)
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: plugins)
    let own = PluginSearch(["XDG_DATA_HOME": folder])
    #expect(own.files == [plugins + "/a.so"])
    #expect(own.refusals.map(\.from) == [plugins + "/b.so", plugins + "/c.so"])
    // To anyone else it is another user's, unless root made it.
    let other = PluginSearch(["XDG_DATA_HOME": folder], user: geteuid() &+ 1)
    #expect(
      geteuid() == 0
        ? other.files == own.files
        : other.files.isEmpty && other.refusals.first?.reason.contains("another user") == true)
    #expect(PluginSearch(["XDG_DATA_HOME": "", "HOME": folder]).files.isEmpty)
  }

  @Test(
    "the search refuses what is replaceable: where a link leads, and below a directory that others may write to",
    arguments: [0o777, 0o775])
  func replaceable(_ mode: Int) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let (plugins, open) = (folder + "/atomicstore/plugins", folder + "/open")
    for path in [plugins, open + "/inner"] {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }
    for path in [plugins + "/a.so", plugins + "/.b.so", open + "/c.so", open + "/inner/d.so"] {
      try Data("x".utf8).write(to: URL(filePath: path))
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
    }
    try FileManager.default.createSymbolicLink(atPath: plugins + "/c.so", withDestinationPath: open + "/c.so")
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: plugins)
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: open + "/inner")
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: open)
    let found = PluginSearch(["XDG_DATA_HOME": folder])
    #expect(found.files == [plugins + "/a.so"])
    #expect(
      found.refusals.count == 1 && found.refusals[0].reason.contains(open + ", which contains it"), "\(found.refusals)")
    let below = PluginSearch(["ATOMICSTORE_PLUGIN_PATH": open + "/inner", "XDG_DATA_HOME": folder + "/none"])
    #expect(below.files.isEmpty && below.refusals.count == 1, "\(below.refusals)")
  }

  @Test("a truncated library is refused without terminating the command", .enabled(if: BadPlugin.compiler != nil))
  func cutShort() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let whole = try Data(contentsOf: URL(filePath: try BadPlugin.make("bad", Self.info() + Self.touched, in: folder)))
    let plugins = folder + "/data/atomicstore/plugins"
    try FileManager.default.createDirectory(atPath: plugins, withIntermediateDirectories: true)
    let plugin = plugins + "/cut.so"
    for length in [0, 3, 4, 16, 63, 64, 100, 1000, 4096, whole.count / 2, whole.count - 64, whole.count - 1] {
      try whole.prefix(length).write(to: URL(filePath: plugin))
      let listed = try Command.run(arguments: ["formats"], environment: ["XDG_DATA_HOME": folder + "/data"])
      #expect(
        listed.code == 0 && listed.output.contains("left out: \(plugin)"), "\(length): \(listed.code) \(listed.output)")
      #expect(listed.output.contains(length < 4 ? "not a dynamic library" : "truncated"), "\(length): \(listed.output)")
      #expect(try Command.run("formats", "--plugin", plugin).code == 65)
    }
    // Headers that tell of more than there can be.
    for (place, byte) in [
      (32, 0xFF), (39, 0x7F), (40, 0xFF), (47, 0xFF), (56, 0xFF), (60, 0xFF), (16, 2), (4, 1), (5, 2), (54, 1),
    ] as [(Int, UInt8)] {
      var bytes = whole
      bytes[place] = byte
      try bytes.write(to: URL(filePath: plugin))
      #expect(try Command.run("formats", "--plugin", plugin).code == 65, "byte \(place)")
    }
    let unknown = try Command.run(
      arguments: ["convert", Command.company, folder + "/x", "--to", "Bad"],
      environment: ["XDG_DATA_HOME": folder + "/data"])
    #expect(unknown.code == 64 && unknown.errors.contains("left out: \(plugin)"), "\(unknown.errors)")
  }

  @Test("a plug-in that registers no format is refused", .enabled(if: BadPlugin.compiler != nil))
  func registersNothing() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = try BadPlugin.make(
      "empty", Self.info() + "void atomicstore_plugin_register_v1(void *sink) {}\n", in: folder)
    let result = try Command.run("formats", "--plugin", path)
    #expect(result.code == 65)
    #expect(result.errors.contains("it registers no format"))
  }

  @Test("new-format writes a package, and refuses invalid names and existing directories")
  func newFormat() throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    for name in ["tabular", "Tab-ular", "9Tab", "", "XML", "JSONLines"] {
      #expect(try Command.run("new-format", name, "--kit", Command.root, in: folder).code == 64, "\(name)")
    }
    let made = try Command.run("new-format", "Tabular", "--kit", Command.root, in: folder)
    #expect(made.code == 0, "\(made.errors)")
    #expect(made.output.contains("with the kit at \(Command.root)"))
    let source = try String(
      contentsOfFile: folder + "/Tabular/Sources/TabularStore/TabularStore.swift", encoding: .utf8)
    #expect(source.contains("public struct TabularStore: AtomicStore") && !source.contains("JSONLines"))
    let package = try String(contentsOfFile: folder + "/Tabular/Package.swift", encoding: .utf8)
    #expect(
      package.contains(".package(name: \"atomic-store-kit\", path: \"\(Command.root)\", traits: [\"Command\"])"))
    let build = KitBuild.find(inCheckout: Command.root)
    #expect(package.contains(build?.declaration ?? KitBuild.none))
    #expect(try Command.run("new-format", "Tabular", "--kit", Command.root, in: folder).code == 73)
    #expect(try Command.run("new-format", "Other", "--kit", folder, in: folder).code == 66)
  }

  @Test(
    "each kind of package has the sample's structure and its own records",
    arguments: [
      ("text", "LineWriter.swift", "layout | one file"), ("binary", "RecordWriter.swift", "layout | one file"),
      ("folder", "ObjectLine.swift", "layout | a directory"),
      ("database", "Journal.swift", "layout | a database in one file"),
    ])
  func kinds(_ kind: String, _ file: String, _ trait: String) throws {
    let folder = try Self.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let made = try Command.run("new-format", "Tabular", "--kind", kind, "--kit", Command.root, "--json", in: folder)
    #expect(made.code == 0, "\(made.errors)")
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder + "/Tabular")
    #expect(names.contains("Sources/TabularStore/\(file)") && names.contains("Sources/TabularStore/TabularStore.swift"))
    #expect(
      names.contains("Tests/TabularStoreTests/ConformanceTests.swift") && names.contains("Sources/CTabularInfo/info.c"))
    #expect(names.contains("Sources/TabularStore/LineWriter.swift") == ["text", "folder"].contains(kind))
    #expect(!names.contains { $0.contains(".build") || $0.contains("JSONLines") || $0 == "Package.resolved" })
    #expect(FileManager.default.isExecutableFile(atPath: folder + "/Tabular/.ci/run"))
    #expect(try String(contentsOfFile: folder + "/Tabular/README.md", encoding: .utf8).contains(trait))
  }
}
