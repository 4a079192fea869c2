import CommandSupport
import FoundationEssentials

/// The files that the command was built with: those of its checkout, or those that an installed package has beside it.
struct KitFiles {
  /// The address of the kit's repository. It is a placeholder until the kit is published.
  static let address = "https://…/atomic-store-kit"

  /// The directory that contains `SampleStores`, with the samples from which packages of formats are made.
  let directory: String
  /// The directory into which the package was installed, such as `/usr`; nil for a checkout.
  let prefix: String?

  /// The files of this program.
  static let found = find(
    from: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path)

  /// Searches the directories that contain `folder` for a checkout or the files of a package.
  static func find(from folder: String) -> KitFiles? {
    var folder = URL(fileURLWithPath: folder)
    while folder.path != "/" {
      let path = folder.path
      if isCheckout(path) { return KitFiles(directory: path, prefix: nil) }
      let files = path + "/share/atomicstore"
      if FileManager.default.fileExists(atPath: files + "/SampleStores") {
        return KitFiles(directory: files, prefix: path)
      }
      folder.deleteLastPathComponent()
    }
    return nil
  }

  static func isCheckout(_ folder: String) -> Bool {
    guard let text = try? String(contentsOfFile: folder + "/Package.swift", encoding: .utf8) else { return false }
    return text.contains("name: \"atomic-store-kit\",\n")
  }

  /// Where the documentation is, for `help --web`.
  ///
  /// - Throws: An error if it is not beside this program.
  static func documentation() throws -> String {
    guard let found else {
      throw CommandFailure(
        "the documentation is not beside this program: it is in the packages and in a checkout of the kit",
        exitCode: 66)
    }
    let documents = found.prefix.map { $0 + "/share/doc/atomicstore" }
    let site = documents.map { $0 + "/html" } ?? found.directory + "/.build/documentation"
    var text = ""
    if FileManager.default.fileExists(atPath: site + "/index.html") {
      text = """
        The guides and the reference are a site in the directory

          \(site)

        Any web server shows it, for example

          python3 -m http.server --bind 127.0.0.1 --directory '\(site)' 8000

        at http://localhost:8000/documentation/

        """
    } else if found.prefix == nil {
      text = """
        This command builds the guides and the reference as a site, and prints how to open it:

          \(found.directory)/Scripts/docs

        """
    } else {
      text = """
        The site with the guides and the reference is in the Debian package atomicstore-doc and in the tarball.

        """
    }
    guard let documents else {
      return text + "\nThe guides as text: \(found.directory)/Sources/*/*/*.docc/*.md"
    }
    return FileManager.default.fileExists(atPath: documents + "/guides")
      ? text + "\nThe guides as text: \(documents)/guides" : text.trimmed
  }
}
