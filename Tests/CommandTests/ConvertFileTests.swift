import Foundation
import Glibc
import TestSupport
import Testing

@Suite("Files of atomicstore convert") struct ConvertFileTests {
  private static func mode(_ path: String) -> mode_t {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
  }
  /// A store of some megabytes, so that a reader who takes nothing holds the command up.
  private static func big(_ folder: borrowing Folder, _ name: String) throws -> String {
    let rows = (1...160_000).map { "\($0),\(String(repeating: "x", count: 80)) \($0)" }
    try Data(("id,text\n" + rows.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: folder("big.csv")))
    let made = try Command.run("convert", folder("big.csv"), folder(name))
    #expect(made.code == 0, "\(made.errors)")
    return folder(name)
  }

  @Test("a result for standard output has no name that others could open, and nothing remains of it after a kill")
  func standardOutput() throws {
    let folder = try Folder()
    let work = try Folder()
    let source = try Self.big(folder, "big.xml")
    chmod(source, 0o600)
    let process = Process()
    process.executableURL = URL(filePath: try #require(Command.path))
    process.arguments = ["convert", source, "-", "--to", "XML"]
    process.environment = TestEnvironment.variables(["TMPDIR": work.path])
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    // From the first byte on the result is staged, and the command waits for its reader.
    #expect(try output.fileHandleForReading.read(upToCount: 1)?.count == 1)
    #expect(process.isRunning && work.names.isEmpty)
    let staged = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(process.processIdentifier)/fd").compactMap
    { name -> stat? in
      let path = "/proc/\(process.processIdentifier)/fd/\(name)"
      guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path), target.hasPrefix(work.path)
      else { return nil }
      var status = stat()
      return stat(path, &status) == 0 ? status : nil
    }
    #expect(!staged.isEmpty && staged.allSatisfy { $0.st_mode & 0o777 == 0o600 && $0.st_nlink == 0 })
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    #expect(work.names.isEmpty)
  }

  @Test("a result for standard output is the one for a file, byte for byte")
  func sameBytes() throws {
    let folder = try Folder()
    #expect(try Command.run("convert", Command.company, folder("a.plist")).code == 0)
    let result = try Command.run("convert", Command.company, "-", "--to", "BinaryPropertyList")
    #expect(try result.code == 0 && result.data == Data(contentsOf: URL(filePath: folder("a.plist"))))
    #expect(try Command.run("convert", Command.company, "-", "--to", "BinaryPropertyList", "--dry-run").data.isEmpty)
  }

  @Test(
    "a new result does not have wider permissions than its source, unless --default-permissions is given",
    arguments: ["a.plist", "a.csvstore"])
  func permissions(_ name: String) throws {
    let folder = try Folder()
    let isFolder = name.hasSuffix("csvstore")
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("private.xml"))
    chmod(folder("private.xml"), 0o600)
    #expect(try Command.shell("umask 022; \"$0\" convert private.xml \(name)", in: folder.path).code == 0)
    #expect(Self.mode(folder(name)) == (isFolder ? 0o700 : 0o600))
    if isFolder { #expect(Self.mode(folder(name + "/Employee.csv")) == 0o600) }
    #expect(
      try Command.shell("umask 022; \"$0\" convert private.xml wide-\(name) --default-permissions", in: folder.path)
        .code == 0)
    #expect(Self.mode(folder("wide-" + name)) == (isFolder ? 0o755 : 0o644))
    // Standard input has no permissions; what is replaced has its own.
    #expect(
      try Command.shell("umask 022; cat private.xml | \"$0\" convert - stream-\(name)", in: folder.path).code == 0)
    #expect(Self.mode(folder("stream-" + name)) == (isFolder ? 0o755 : 0o644))
    #expect(try Command.shell("umask 022; \"$0\" convert private.xml wide-\(name) --force", in: folder.path).code == 0)
    #expect(Self.mode(folder("wide-" + name)) == (isFolder ? 0o755 : 0o644))
  }

  @Test("a file made of a directory grants no more than the most private file in it")
  func privateMember() throws {
    let folder = try Folder()
    #expect(
      try Command.shell(
        "umask 022; \"$0\" convert '\(Command.company)' c.csvstore --default-permissions", in: folder.path
      )
      .code == 0)
    chmod(folder("c.csvstore/Employee.csv"), 0o600)
    #expect(try Command.shell("umask 022; \"$0\" convert c.csvstore c.xml", in: folder.path).code == 0)
    #expect(Self.mode(folder("c.xml")) == 0o600)
  }

  @Test("a dry run of a private store leaves nothing that others could read, neither while it runs nor afterwards")
  func dryRun() throws {
    let folder = try Folder()
    let work = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("private.xml"))
    for name in ["a.plist", "a.csvstore"] {
      let result = try Command.run(
        arguments: ["convert", folder("private.xml"), folder(name), "--dry-run"], environment: ["TMPDIR": work.path])
      #expect(result.code == 0 && work.names.isEmpty && folder.names == ["private.xml"])
    }
  }

  @Test(
    "the leftovers of a killed convert to a new name are removed by the next write to the directory, under any name")
  func killed() throws {
    let folder = try Folder()
    let source = try Self.big(folder, "big.xml")
    func left() -> [String] { folder.names.filter { $0.hasPrefix(".") } }
    // On a busy machine a command may end between two looks at the folder; then another one is killed.
    for _ in 0..<20 where left().isEmpty {
      unlink(folder("killed.plist"))
      let running = try RunningCommand("convert", source, folder("killed.plist"), temporaryFolder: folder.path)
      while left().isEmpty && running.process.isRunning { usleep(500) }
      _ = running.end(SIGKILL)
    }
    #expect(left().count == 1)
    #expect(try Command.run("convert", Command.company, folder("other.plist")).code == 0)
    #expect(folder.names == ["big.csv", "big.xml", "other.plist"])
  }

  @Test(
    "a command under flock on the directory does not wait for it",
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/flock")))
  func underLock() throws {
    let folder = try Folder()
    try FileManager.default.copyItem(atPath: Command.company, toPath: folder("a.xml"))
    let result = try Command.shell("flock . timeout 5 \"$0\" metadata set a.xml note value", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    #expect(folder.names == ["a.xml"])
  }

  @Test("a directory store of more entities than descriptors is written and read")
  func descriptors() throws {
    let folder = try Folder()
    let objects = (1...300).map {
      "<object type=\"E\($0)\" id=\"z\(100 + $0)\"><attribute name=\"n\" type=\"int32\">\($0)</attribute></object>"
    }
    let head = """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">
      <database><databaseInfo><version>134481920</version><UUID>0F8FAD5B-D9CB-469F-A165-70867728950E</UUID><nextObjectID>500</nextObjectID>
      <metadata><plist version="1.0"><dict/></plist></metadata></databaseInfo>
      """
    try Data((head + objects.joined(separator: "\n") + "</database>\n").utf8).write(to: URL(filePath: folder("a.xml")))
    let result = try Command.shell(
      "ulimit -n 64; \"$0\" convert a.xml a.csvstore && \"$0\" inspect a.csvstore", in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder("a.csvstore")).count == 301)
  }

  // MARK: An overlay

  /// Whether this process may mount one: it takes rights that few have.
  private static let canMount: Bool = {
    guard geteuid() == 0, let path = Command.path else { return false }
    _ = path
    let result = try? Command.shell("unshare -m true")
    return result?.code == 0
  }()

  @Test("a directory store in a lower layer of an overlay is saved", .enabled(if: canMount, "needs root and unshare"))
  func overlay() throws {
    let folder = try Folder()
    for name in ["lower", "upper", "work", "merged"] {
      try FileManager.default.createDirectory(atPath: folder(name), withIntermediateDirectories: false)
    }
    #expect(try Command.run("convert", Command.company, folder("lower/a.csvstore")).code == 0)
    let result = try Command.shell(
      #"unshare -m --propagation private sh -c 'mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged || exit 99; "#
        + #""$0" metadata set merged/a.csvstore note one && "$0" metadata set merged/a.csvstore note two && "$0" metadata get merged/a.csvstore note && ls -A merged merged/a.csvstore; code=$?; umount merged; exit $code' "$0""#,
      in: folder.path)
    try #require(result.code != 99, "no overlay can be mounted here")
    #expect(result.code == 0 && result.output.hasPrefix("two\n"), "\(result.output) \(result.errors)")
    #expect(!result.output.contains(".atomicstore") && !result.output.contains(".tmp"))
  }

  @Test(
    "a store on a read-only file system cannot be changed, whatever its type, and can be read",
    .enabled(if: canMount, "needs root and unshare"), arguments: ["xml", "csvstore", "sqlgraph"])
  func readOnlyFileSystem(_ name: String) throws {
    let folder = try Folder()
    try FileManager.default.createDirectory(atPath: folder("ro"), withIntermediateDirectories: false)
    #expect(try Command.run("convert", Command.company, folder("a." + name)).code == 0)
    let result = try Command.shell(
      #"unshare -m --propagation private sh -c 'mount -t tmpfs tmpfs ro && cp -r a.$1 ro && mount -o remount,ro ro || exit 99; "#
        + #""$0" metadata set ro/a.$1 note one; code=$?; "$0" inspect ro/a.$1; umount ro; exit $code' "$0" "$1""#,
      name, in: folder.path)
    try #require(result.code != 99, "no file system can be mounted here")
    #expect(result.code == 77 && result.output.contains("objects"), "\(result.output) \(result.errors)")
  }
}
