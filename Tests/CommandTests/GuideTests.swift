import Foundation
import Testing

/// The guides of the documentation do what they say.
@Suite("Guides") struct GuideTests {
  static let hasGit = has("git")
  static let canCompile = has("swiftc") && has("clang") && has("python3")

  private static func has(_ program: String) -> Bool {
    (try? Command.run(arguments: ["-c", "command -v \(program)"], program: "/bin/sh").code) == 0
  }

  private static func guide(_ name: String) -> String {
    if name == "README" { return Command.root + "/README.md" }
    let module = name == "FormatInFifteenMinutes" ? "SPI/AtomicStoreSPI" : "Graph/AtomicStoreKit"
    return "\(Command.root)/Sources/\(module)/\(module.split(separator: "/")[1]).docc/\(name).md"
  }

  /// Runs each command of a page and compares what it prints. The command is in the path, so that git finds it too.
  private static func run(_ examples: [DocumentationTests.Example], in folder: String) throws {
    let directory = (try #require(Command.path, "the command was not built") as NSString).deletingLastPathComponent
    let environment = [
      "PATH": "\(directory):/usr/local/bin:/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8", "TZ": "UTC",
      "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null",
    ]
    for example in examples {
      let result = try Command.run(
        arguments: [], in: folder, environment: environment, shell: "{ \(example.command)\n} 2>&1")
      #expect(result.output == example.output, "\(example.command)")
      #expect(result.code == example.exitCode, "\(example.command)")
    }
  }

  @Test(
    "each command of a guide prints what the guide shows, in a copy of the sample stores",
    .enabled(if: hasGit, "git is not on this machine"), arguments: [("TenTasks", 40), ("UntrustedFiles", 10)])
  func commands(_ name: String, _ least: Int) throws {
    let folder = try Folder()
    for sample in ["Company", "Damaged", "FriendInfo", "Library", "People"] {
      try FileManager.default.copyItem(atPath: "\(Command.samples)/\(sample)", toPath: folder(sample))
    }
    let examples = try DocumentationTests.examples(at: Self.guide(name))
    #expect(examples.count >= least)
    try Self.run(examples, in: folder.path)
  }

  /// Compiles against the modules that were built with these tests.
  static let compiler = """
    set -e
    binaries="$(dirname "$0")"
    flags="-swift-version 6 -I $binaries/Modules -Xcc -I/usr/include/libxml2"
    for map in "$binaries"/*.build/module.modulemap "$1"/Sources/C/*/module.modulemap "$1"/Sources/C/*/include/module.modulemap; do
      # A -tool.build is the same module again, for the tool that a build plug-in runs.
      case "$map" in *-tool.build/*) continue ;; esac
      if [ -e "$map" ]; then flags="$flags -Xcc -fmodule-map-file=$map"; fi
    done

    """

  private static func write(_ name: String, into folder: String) throws {
    let result = try Command.shell("\(Command.root)/Scripts/guide-files \"$1\" \"$2\"", guide(name), folder)
    try #require(result.code == 0, "\(result.errors)")
  }

  @Test(
    "the application's sources compile, and its model has nothing to complain about",
    .enabled(if: canCompile, "swiftc, clang or python3 is not on this machine"))
  func application() throws {
    let folder = try Folder()
    try Self.write("ApplicationFromAnEmptyFolder", into: folder.path)
    let result = try Command.shell(
      Self.compiler + """
        swiftc $flags -module-name Reading -parse-as-library -emit-module -emit-module-path Reading.swiftmodule Sources/Reading/Shelf.swift
        swiftc $flags -I . -typecheck -module-name program Sources/reading-list/main.swift
        "$0" model lint Sources/Reading/Reading.xcdatamodel
        """, Command.root, in: folder.path)
    #expect(result.code == 0 && result.errors == "nothing found\n", "\(result.output)\(result.errors)")
    #expect(!result.errors.contains("warning:"), "\(result.errors)")
  }

  @Test(
    "the program in the README compiles",
    .enabled(if: canCompile, "swiftc, clang or python3 is not on this machine"))
  func readme() throws {
    let folder = try Folder()
    try Self.write("README", into: folder.path)
    let result = try Command.shell(
      Self.compiler + "swiftc $flags -module-name App -typecheck main.swift", Command.root, in: folder.path)
    #expect(result.code == 0 && result.errors.isEmpty, "\(result.output)\(result.errors)")
  }

  @Test(
    "the format of the guide is a plug-in that does what the guide shows",
    .enabled(if: canCompile, "swiftc, clang or python3 is not on this machine"))
  func format() throws {
    let folder = try Folder()
    try Self.write("FormatInFifteenMinutes", into: folder("Tabbed"))
    // The harness is run on this file by the tests of the harness.
    let path = "Sources/TabbedStore/TabbedStore.swift"
    #expect(
      try String(contentsOfFile: folder("Tabbed/\(path)"), encoding: .utf8)
        == String(contentsOfFile: Command.root + "/Tests/ConformanceTests/TabbedStore.swift", encoding: .utf8))
    for name in ["Company.xml", "Company.xcdatamodeld"] {
      try FileManager.default.copyItem(atPath: "\(Command.samples)/Company/\(name)", toPath: folder(name))
    }
    // In place of the kit's dynamic library one that has only its name: the command has the symbols.
    let built = try Command.shell(
      Self.compiler + """
        kit=libAtomicStoreKitDynamic.so
        echo 'int kit;' | clang -shared -fPIC -x c - -o $kit -Wl,-soname,$kit
        clang -c -fPIC -I "$1/Sources/C/CStorePlugin/include" Tabbed/Sources/CTabbedInfo/info.c -o info.o
        swiftc $flags -emit-library -module-name TabbedStore Tabbed/Sources/TabbedStore/*.swift info.o -L. -l:$kit -o libTabbedStore.so
        rm $kit info.o
        """, Command.root, in: folder.path)
    try #require(built.code == 0, "\(built.output)\(built.errors)")
    let examples = try DocumentationTests.examples(at: Self.guide("FormatInFifteenMinutes"))
    #expect(examples.count >= 10)
    try Self.run(examples, in: folder.path)
  }
}
