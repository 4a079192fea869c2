import ArgumentParser
import AtomicStoreSPI
import CommandSupport
import FoundationEssentials
import Glibc

struct NewFormat: ParsableCommand {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case text, binary, folder, database

    /// The directory whose files replace those of the sample.
    var folder: String? {
      switch self {
      case .text: nil
      case .binary: "Binary"
      case .folder: "Folder"
      case .database: "Database"
      }
    }
    /// Whether it has records other than lines of JSON, and does not use the sample's code for those.
    var hasOwnRecords: Bool { self == .binary || self == .database }
  }

  enum Language: String, ExpressibleByArgument, CaseIterable {
    case swift, python, javascript

    /// The file name extension of a program; nil for a package.
    var programSuffix: String? {
      switch self {
      case .swift: nil
      case .python: "py"
      case .javascript: "js"
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "new-format",
    abstract: "Write a package or a program with a new store format, as a starting point for your own.",
    discussion: """
        atomicstore new-format Tabular && cd Tabular && swift test
        atomicstore new-format Tabular --language python && atomicstore conform --type Tabular --plugin Tabular/tabular.py

      The package builds and passes the conformance checks: swift test runs those that take seconds, and all of them with
      ATOMICSTORE_CONFORMANCE=all in the environment. It has a plug-in, a command and a README that lists the traits. It is a
      copy of the kit's sample SampleStores/JSONLines under another name, and depends on the kit that --kit specifies: by
      default the checkout that this command was built in, or the released kit if the command was installed from a package.
      A build of all of the kit that is beside this command, or in the directory that --kit names, is linked as it is, which
      saves minutes, if it is of the present sources and by this command's compiler; with ATOMICSTORE_KIT=source in the
      environment the kit is built with the package.

      In Python or JavaScript a format is a program of one file, which needs nothing but the language's standard library and does
      not depend on a version of the kit.
      """)
  @Argument(help: "The format's name: letters and digits, beginning with a capital letter.") var name: String
  @Option(
    help:
      "The content of its stores: lines of text in a file, binary records in a file, a directory with a file for each entity, or a database in a file, which is read and written in parts."
  )
  var kind: Kind = .text
  @Option(help: "The language of the format: of a package, or of a program.") var language: Language = .swift
  @Option(help: "The kit's location: a directory, or the address of its repository.") var kit: String?
  @Option(help: "The directory to write; by default one with the format's name, in the current directory.") var output:
    String?
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let letters = Array(name.unicodeScalars)
      guard let first = letters.first, ("A"..."Z").contains(Character(first)), letters.count <= 60,
        letters.allSatisfy({ $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains(Character($0))) })
      else {
        throw CommandFailure(
          "'\(name)' is not a valid name for a format: use letters and digits, beginning with a capital letter",
          exitCode: 64)
      }
      guard (try? InstalledFormats.registry.storeType(named: name)) == nil, name != "JSONLines" else {
        throw CommandFailure("a format '\(name)' already exists", exitCode: 64)
      }
      let folder = output ?? name
      Publication.undoInterrupted(beside: folder)
      guard try StorePath.kind(of: folder) == .nothing else {
        throw CommandFailure("\(folder) exists; nothing is written into it", exitCode: 73)
      }
      guard kind == .text || language == .swift else {
        throw CommandFailure("--kind goes with --language swift: a program is one file", exitCode: 64)
      }
      let found = try findKit()
      let (source, dependency, place) = (found.files, found.dependency, found.place)
      let build = language == .swift ? found.build : nil
      let files = try sampleFiles(in: source).map { file in
        let text = renamed(try String(contentsOfFile: file.source, encoding: .utf8))
          .replacingBytes(".package(name: \"atomic-store-kit\", path: \"../..\")", with: dependency)
          .replacingBytes(KitBuild.none, with: build?.declaration ?? KitBuild.none)
        let mode = try SystemCall.status(file.source, followLinks: true)?.st_mode ?? 0
        return (path: renamed(file.path), bytes: Array(text.utf8), isExecutable: mode & 0o100 != 0)
      }
      let unit = Publication()
      try unit.makeDirectory(PathParts.directory(of: folder))
      try unit.addTree(at: folder, policy: .createNew) { (tree) throws(PersistentStoreError) in
        for file in files { try tree.file(at: file.path, isExecutable: file.isExecutable).write(file.bytes) }
      }
      try unit.commit()
      let written = files.map { folder + "/" + $0.path }
      var next = "cd \(folder) && swift test"
      if language != .swift { next = "atomicstore conform --type \(name) --plugin \(written[0])" }
      if common.json {
        try Diagnostics.put(
          JSONValue.object([
            ("folder", .string(folder)), ("kit", .string(place)),
            ("build", build.map { .string($0.products) } ?? .null), ("files", .array(written.map { .string($0) })),
          ]).text + "\n")
      } else {
        try Diagnostics.put(
          language == .swift
            ? "\(folder): \(written.count) files, with the kit at \(place)\n" : "\(written.joined(separator: "\n"))\n")
        if let build {
          try Diagnostics.put("  it links the build of the kit in \(build.products)\n")
        } else if language == .swift, dependency.contains(KitFiles.address) {
          try Diagnostics.put(
            "  first: in Package.swift, replace \(KitFiles.address) by the kit's address or directory (or use --kit)\n")
        }
        try Diagnostics.put("  \(next)\n")
      }
    }
  }

  /// Replaces the sample's names by those of the new format.
  private func renamed(_ text: String) -> String {
    guard language == .swift else {
      return text.replacingBytes("Tabular", with: name).replacingBytes("tabular", with: name.lowercased())
    }
    return text.replacingBytes("JSONLines", with: name).replacingBytes("jsonlines", with: name.lowercased())
      .replacingBytes("fileExtensions: [\"jsonl\", \"ndjson\"]", with: "fileExtensions: [\"\(name.lowercased())\"]")
      .replacingBytes("c.jsonl", with: "c.\(name.lowercased())")
  }

  /// The paths of all files in a directory, relative to it, except for what a build leaves there.
  private static func files(in folder: String, under parent: String = "") throws -> [String] {
    let names = try StorePath.inspect(parent.isEmpty ? folder : folder + "/" + parent).allNames()
    return try names.flatMap { name -> [String] in
      if parent.isEmpty, name.hasPrefix(".build") || name == ".swiftpm" { return [] }
      let path = parent.isEmpty ? name : parent + "/" + name
      return switch try StorePath.kind(of: folder + "/" + path) {
      case .folder, .emptyFolder: try files(in: folder, under: path)
      case .file, .zeroLength: [path]
      case .nothing: throw CommandFailure("\(folder)/\(path): the file of the sample does not exist", exitCode: 66)
      }
    }
  }

  /// The source files of the package: those of the sample, overridden by those of the kind, in the order of their
  /// paths. A program is one file.
  private func sampleFiles(in source: String) throws -> [(path: String, source: String)] {
    var found: [String: String] = [:]
    let samples = source + "/SampleStores/"
    if let suffix = language.programSuffix {
      let file = "\(samples)Programs/tabular.\(suffix)"
      guard try StorePath.kind(of: file) == .file else {
        throw CommandFailure("\(file): the sample from which the program is created does not exist", exitCode: 66)
      }
      return [("tabular.\(suffix)", file)]
    }
    for (sample, isBase) in [("JSONLines", true), (kind.folder.map { "Kinds/" + $0 }, false)] {
      guard let sample else { continue }
      for path in try Self.files(in: samples + sample) where path != "Package.resolved" {
        if isBase, kind.hasOwnRecords, path.hasPrefix("Sources/JSONLinesStore/") { continue }
        found[path] = samples + sample + "/" + path
      }
    }
    guard found["Package.swift"] != nil else {
      throw CommandFailure(
        "\(samples)JSONLines: the sample from which the package is created does not exist", exitCode: 66)
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// The location of the sample's files, the package's dependency on the kit, its description for the user, and the
  /// build that is linked instead.
  private func findKit() throws -> (files: String, dependency: String, place: String, build: KitBuild?) {
    if let kit, !kit.contains("://") {
      let path = URL(fileURLWithPath: kit).standardizedFileURL.path
      guard KitFiles.isCheckout(path) else {
        throw CommandFailure("\(kit): the kit does not exist there", exitCode: 66)
      }
      return (path, Self.package(at: path), path, KitBuild.find(inCheckout: path))
    }
    guard let found = KitFiles.found else {
      throw CommandFailure(
        "the files of the sample are not beside this program: specify a checkout of the kit with --kit DIRECTORY",
        exitCode: 66)
    }
    // The sample of a package fits the version that the package was made of.
    let version = found.prefix == nil ? "branch: \"main\"" : "from: \"\(StorePlugin.kitVersion)\""
    let build = kit == nil ? KitBuild.besideThisProgram : nil
    if found.prefix == nil, kit == nil {
      return (found.directory, Self.package(at: found.directory), found.directory, build)
    }
    let address = kit ?? KitFiles.address
    let dependency = ".package(url: \"\(address)\", \(version), traits: [\"Command\"])"
    return (found.directory, dependency, "\(address), \(version)", build)
  }

  /// With one trait: the package manager passes traits to the compiler in the order of a set, so that with several of
  /// them a second build would compile the kit again.
  private static func package(at path: String) -> String {
    ".package(name: \"atomic-store-kit\", path: \"\(path)\", traits: [\"Command\"])"
  }
}
