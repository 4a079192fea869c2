import ArgumentParser
import AtomicStoreSPI
import CommandSupport
import Foundation

struct NewFormat: ParsableCommand {
  enum Kind: String, ExpressibleByArgument, CaseIterable {
    case text, binary, folder

    /// The folder whose files stand in the sample's place.
    var folder: String? {
      switch self {
      case .text: nil
      case .binary: "Binary"
      case .folder: "Folder"
      }
    }
    /// Whether it has other records than lines of JSON, and none of the sample's code for those.
    var hasOwnRecords: Bool { self == .binary }
  }

  static let configuration = CommandConfiguration(
    commandName: "new-format",
    abstract: "Write a package with a store format of your own, to be changed piece by piece.",
    discussion: """
      atomicstore new-format Tabular && cd Tabular && swift test

      The package builds and passes the conformance checks as it is: with its tests, a plug-in, a command and a README with the
      traits. It is the sample SampleStores/JSONLines of the kit under another name, and the kit is the one that this command was
      built from, or the one that --kit names.
      """)
  @Argument(help: "The format's name: letters and digits, the first one a capital.") var name: String
  @Option(
    help:
      "What its stores are: lines of text in a file, records of bytes in a file, or a folder with a file for each entity."
  )
  var kind: Kind = .text
  @Option(help: "Where the kit is: a folder, or the address of its repository.") var kit: String?
  @Option(help: "The folder to write; by default one of the format's name, here.") var output: String?
  @OptionGroup var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let letters = Array(name.unicodeScalars)
      guard let first = letters.first, ("A"..."Z").contains(Character(first)), letters.count <= 60,
        letters.allSatisfy({ $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains(Character($0))) })
      else {
        throw CommandFailure(
          "'\(name)' is no name for a format: letters and digits, the first one a capital", exitCode: 64)
      }
      guard (try? Tool.registry.storeType(named: name)) == nil, name != "JSONLines" else {
        throw CommandFailure("there is a format '\(name)' already", exitCode: 64)
      }
      let folder = output ?? name
      guard !FileManager.default.fileExists(atPath: folder) else {
        throw CommandFailure("\(folder) exists; nothing is written into it", exitCode: 73)
      }
      let (checkout, dependency, place) = try findKit()
      let files = try sampleFiles(in: checkout)
      var written: [String] = []
      do {
        for file in files {
          let path = folder + "/" + renamed(file.path)
          try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
          let text = renamed(try String(contentsOfFile: file.source, encoding: .utf8))
            .replacingOccurrences(of: ".package(name: \"atomic-store-kit\", path: \"../..\")", with: dependency)
          try Data(text.utf8).write(to: URL(fileURLWithPath: path))
          if FileManager.default.isExecutableFile(atPath: file.source) {
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
          }
          written.append(path)
        }
      } catch {
        throw CommandFailure("\(folder): cannot be written: \(error.localizedDescription)", exitCode: 73)
      }
      if common.json {
        try Talk.put(
          JSONValue.object([
            ("folder", .string(folder)), ("kit", .string(place)), ("files", .array(written.map { .string($0) })),
          ]).text + "\n")
      } else {
        try Talk.put("\(folder): \(written.count) files, with the kit at \(place)\n  cd \(folder) && swift test\n")
      }
    }
  }

  /// The sample's names are the new format's.
  private func renamed(_ text: String) -> String {
    text.replacingOccurrences(of: "JSONLines", with: name).replacingOccurrences(
      of: "jsonlines", with: name.lowercased()
    )
    .replacingOccurrences(
      of: "fileExtensions: [\"jsonl\", \"ndjson\"]", with: "fileExtensions: [\"\(name.lowercased())\"]"
    )
    .replacingOccurrences(of: "c.jsonl", with: "c.\(name.lowercased())")
  }

  /// What the package is made from: the files of the sample, those of the kind before them, in the order of their
  /// paths.
  private func sampleFiles(in checkout: String) throws -> [(path: String, source: String)] {
    var found: [String: String] = [:]
    let samples = checkout + "/SampleStores/"
    for (sample, isBase) in [("JSONLines", true), (kind.folder.map { "Kinds/" + $0 }, false)] {
      guard let sample else { continue }
      guard let all = FileManager.default.enumerator(atPath: samples + sample) else { continue }
      while let path = all.nextObject() as? String {
        let first = path.split(separator: "/").first ?? ""
        if first.hasPrefix(".build") || first == ".swiftpm" {
          all.skipDescendants()
          continue
        }
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: samples + sample + "/" + path, isDirectory: &isFolder),
          !isFolder.boolValue,
          path != "Package.resolved", !(isBase && kind.hasOwnRecords && path.hasPrefix("Sources/JSONLinesStore/"))
        else { continue }
        found[path] = samples + sample + "/" + path
      }
    }
    guard found["Package.swift"] != nil else {
      throw CommandFailure("\(samples)JSONLines: the sample that the package is made from is not there", exitCode: 66)
    }
    return found.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Where the kit's files lie, how the package names the kit, and what that is for people.
  private func findKit() throws -> (checkout: String, dependency: String, place: String) {
    if let kit, !kit.contains("://") {
      let path = URL(fileURLWithPath: kit).standardizedFileURL.path
      guard Self.isKit(path) else { throw CommandFailure("\(kit): the kit is not there", exitCode: 66) }
      return (path, Self.package(at: path), path)
    }
    // The command lies in the build folder of the checkout that it was built from.
    var folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    while folder.path != "/" {
      if Self.isKit(folder.path) {
        guard let kit else { return (folder.path, Self.package(at: folder.path), folder.path) }
        return (folder.path, ".package(url: \"\(kit)\", branch: \"main\")", kit)
      }
      folder.deleteLastPathComponent()
    }
    throw CommandFailure(
      "this command does not lie in a checkout of the kit: say where one is, with --kit FOLDER", exitCode: 66)
  }

  private static func package(at path: String) -> String { ".package(name: \"atomic-store-kit\", path: \"\(path)\")" }

  private static func isKit(_ folder: String) -> Bool {
    guard let text = try? String(contentsOfFile: folder + "/Package.swift", encoding: .utf8) else { return false }
    return text.contains("name: \"atomic-store-kit\",\n")
  }
}
