import AtomicStoreSPI
import Foundation
import TestSupport
import Testing

@testable import AtomicStoreCommand

@Suite("The files that a package installs beside the command") struct InstalledFilesTests {
  /// The command in `usr/bin`, with the samples from which `new-format` makes packages.
  private static func installation() throws -> Installation {
    let installation = try Installation()
    let samples = installation.folder("usr/share/atomicstore/SampleStores")
    try FileManager.default.createDirectory(atPath: samples, withIntermediateDirectories: true)
    for name in ["JSONLines", "Kinds", "Programs"] {
      try FileManager.default.copyItem(atPath: Command.samples + "/" + name, toPath: samples + "/" + name)
    }
    return installation
  }

  @Test("new-format makes a package of them that depends on the released kit, and says so")
  func newFormat() throws {
    let installation = try Self.installation()
    let made = try Command.run(
      arguments: ["new-format", "Tabular", "--kind", "binary"], in: installation.folder.path,
      program: installation.command)
    let dependency = "\(KitFiles.address), from: \"\(StorePlugin.kitVersion)\""
    #expect(made.code == 0 && made.output.contains("with the kit at " + dependency), "\(made.output)\(made.errors)")
    #expect(made.output.contains("replace \(KitFiles.address) by"))
    let package = try String(contentsOfFile: installation.folder("Tabular/Package.swift"), encoding: .utf8)
    #expect(package.contains(".package(url: \"\(KitFiles.address)\", from: \"\(StorePlugin.kitVersion)\", traits: "))
    let reader = installation.folder("Tabular/Sources/TabularStore/RecordReader.swift")
    #expect(FileManager.default.fileExists(atPath: reader))
    let other = try Command.run(
      arguments: ["new-format", "Other", "--kit", "https://example.org/atomic-store-kit"],
      in: installation.folder.path, program: installation.command)
    #expect(other.code == 0 && !other.output.contains("replace"), "\(other.errors)")
    let program = try Command.run(
      arguments: ["new-format", "Third", "--language", "python", "--output", "program"],
      in: installation.folder.path, program: installation.command)
    #expect(program.code == 0 && program.output.hasPrefix("program/third.py\n"), "\(program.output)\(program.errors)")
    let text = try String(contentsOfFile: installation.folder("Other/Package.swift"), encoding: .utf8)
    #expect(text.contains("url: \"https://example.org/atomic-store-kit\", from: \"\(StorePlugin.kitVersion)\""))
  }

  @Test(
    "a build of the kit is linked if it is complete and of the same sources as the command",
    arguments: [
      nil, "Modules/AtomicStoreSPI.swiftmodule", "libAtomicStoreKitDynamic.so",
      "headers/CStorePlugin/include/CStorePlugin.h",
    ])
  func build(_ missing: String?) throws {
    let folder = try TemporaryDirectory("build")
    let files = [
      "libAtomicStoreKitDynamic.so", "Modules/AtomicStoreSPI.swiftmodule", "CStoreFaults.build/CStoreFaults.c.o",
      "headers/CStorePlugin/include/CStorePlugin.h",
    ]
    for name in files where name != missing {
      let file = URL(filePath: folder.path + "/development/" + name)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data("\0of the digest 5d01\0".utf8).write(to: file)
    }
    let found = KitBuild.find(in: folder.path, digest: "5d01")
    #expect(found?.products == (missing == nil ? folder.path + "/development" : nil))
    #expect(KitBuild.find(in: folder.path, digest: "5d02") == nil)
    if let found { #expect(found.declaration.contains("headers: \"\(folder.path)/development/headers\"")) }
  }

  @Test(
    "the build of a checkout that --kit names is linked if it is of its present sources and by the same compiler",
    arguments: [
      ("release", "5d01 Clang 21", true), ("debug", "5d01 Clang 21", true), ("debug", "5d00 Clang 21", false),
      ("debug", "5d01 Clang 20", false),
    ])
  func checkoutBuild(_ configuration: String, _ library: String, _ isLinked: Bool) throws {
    let folder = try TemporaryDirectory("checkout")
    let products = ".build/\(configuration)/"
    for (name, text) in [
      ("Sources/C/CStorePlugin/include/CStoreInterface.h", "#define ASP_INTERFACE \"5d01\"\n"),
      ("Sources/C/CStorePlugin/include/CStorePlugin.h", ""), (products + "Modules/AtomicStoreSPI.swiftmodule", ""),
      (products + "CStoreFaults.build/CStoreFaults.c.o", ""), (products + "libAtomicStoreKitDynamic.so", library),
    ] {
      let file = URL(filePath: folder.path + "/" + name)
      try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
      try Data(text.utf8).write(to: file)
    }
    let found = KitBuild.find(inCheckout: folder.path, compiler: "Clang 21")
    #expect((found != nil) == isLinked)
    #expect(
      found.map { $0.products.hasSuffix(products.dropLast()) && $0.headers == folder.path + "/Sources/C" } ?? true)
  }

  @Test("without them, new-format says which option names a checkout")
  func withoutFiles() throws {
    let installation = try Installation()
    let result = try installation.run("new-format", "Tabular")
    #expect(result.code == 66 && result.errors.contains("--kit DIRECTORY"))
    #expect(try installation.run("help", "--web").code == 66)
  }

  @Test("help --web names the site of the package, or the package that has it, or the script that builds it")
  func documentation() throws {
    let installation = try Self.installation()
    #expect(try installation.run("help", "--web").output.contains("atomicstore-doc"))
    let documents = installation.folder("usr/share/doc/atomicstore")
    for name in ["html", "guides"] {
      try FileManager.default.createDirectory(atPath: documents + "/" + name, withIntermediateDirectories: true)
    }
    try Data().write(to: URL(filePath: documents + "/html/index.html"))
    let result = try installation.run("help", "--web")
    #expect(result.code == 0 && result.output.contains("/usr/share/doc/atomicstore/html\n"), "\(result.errors)")
    #expect(result.output.contains("/usr/share/doc/atomicstore/guides"))
    let checkout = try Command.run("help", "--web")
    #expect(checkout.code == 0 && checkout.output.contains(Command.root + "/Sources/"), "\(checkout.output)")
  }
}
