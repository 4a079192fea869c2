import ArgumentParser
import AtomicStoreSPI
import Foundation

struct NewFormat: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "new-format", abstract: "Write a package with a store format of your own, to be changed piece by piece.",
    discussion: """
      atomicstore new-format Tabular && cd Tabular && swift test

      The package builds and passes the conformance checks as it is: a store of JSON lines, with its tests, a plug-in, a command
      and a README with the traits. The kit is the one that this command was built from, or the one that --kit names.
      """)
  @Argument(help: "The format's name: letters and digits, the first one a capital.") var name: String
  @Option(help: "Where the kit is: a folder, or the address of its repository.") var kit: String?
  @Option(help: "The folder to write; by default one of the format's name, here.") var output: String?
  @OptionGroup var common: CommonOptions

  func run() throws {
    try guarded(common) {
      let letters = Array(name.unicodeScalars)
      guard let first = letters.first, ("A"..."Z").contains(Character(first)), letters.count <= 60,
        letters.allSatisfy({ $0.isASCII && ($0.properties.isAlphabetic || ("0"..."9").contains(Character($0))) })
      else { throw CommandFailure("'\(name)' is no name for a format: letters and digits, the first one a capital", exitCode: 64) }
      guard (try? Tool.registry.storeType(named: name)) == nil, name != "JSONLines" else {
        throw CommandFailure("there is a format '\(name)' already", exitCode: 64)
      }
      let folder = output ?? name
      guard !FileManager.default.fileExists(atPath: folder) else {
        throw CommandFailure("\(folder) exists; nothing is written into it", exitCode: 73)
      }
      let (dependency, place) = try dependency()
      var written: [String] = []
      do {
        for file in FormatTemplate.files {
          let path = folder + "/" + renamed(file.path)
          try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
          let text = renamed(file.text).replacingOccurrences(of: ".package(name: \"atomic-store-kit\", path: \"../..\")", with: dependency)
          try Data(text.utf8).write(to: URL(fileURLWithPath: path))
          if file.path == ".ci/run" { try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path) }
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
    text.replacingOccurrences(of: "JSONLines", with: name).replacingOccurrences(of: "jsonlines", with: name.lowercased())
      .replacingOccurrences(of: "fileExtensions: [\"jsonl\", \"ndjson\"]", with: "fileExtensions: [\"\(name.lowercased())\"]")
      .replacingOccurrences(of: "c.jsonl", with: "c.\(name.lowercased())")
  }

  /// How the package names the kit, and where it is.
  private func dependency() throws -> (String, String) {
    if let kit {
      if kit.contains("://") {
        return (".package(url: \"\(kit)\", branch: \"main\")", kit)
      }
      let path = URL(fileURLWithPath: kit).standardizedFileURL.path
      guard Self.isKit(path) else { throw CommandFailure("\(kit): the kit is not there", exitCode: 66) }
      return (".package(name: \"atomic-store-kit\", path: \"\(path)\")", path)
    }
    // The command lies in the build folder of the checkout that it was built from.
    var folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    while folder.path != "/" {
      if Self.isKit(folder.path) { return (".package(name: \"atomic-store-kit\", path: \"\(folder.path)\")", folder.path) }
      folder.deleteLastPathComponent()
    }
    throw CommandFailure("this command does not lie in a checkout of the kit: say where the kit is, with --kit", exitCode: 66)
  }

  private static func isKit(_ folder: String) -> Bool {
    guard let text = try? String(contentsOfFile: folder + "/Package.swift", encoding: .utf8) else { return false }
    return text.contains("name: \"atomic-store-kit\",\n")
  }
}
