import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreReports

/// The forms in which a model is drawn.
enum DiagramFormat: String, ExpressibleByArgument, CaseIterable {
  case svg, dot, mermaid, html

  /// The format for a file: the one that is asked for, or the one that its name ends with, or SVG for standard output.
  ///
  /// - Throws: A usage error for a name that ends with something else, where none is asked for.
  static func chosen(_ format: DiagramFormat?, for path: String?) throws -> DiagramFormat {
    if let format { return format }
    guard let path else { return .svg }
    switch PathParts.fileExtension(of: path).lowercased() {
    case "svg": return .svg
    case "html", "htm": return .html
    case "dot", "gv": return .dot
    case "mmd", "mermaid": return .mermaid
    case let other:
      throw CommandFailure(
        "\(path): \(other.isEmpty ? "the name without an extension" : "the extension '\(other)'") does not identify a format "
          + "of diagrams; use .svg, .html, .dot or .mmd (Mermaid), or --format", exitCode: 64)
    }
  }

  func text(_ diagram: ModelDiagram, title: String) throws -> String {
    switch self {
    case .svg: try diagram.svg()
    case .dot: diagram.dot()
    case .mermaid: diagram.mermaid()
    case .html: try diagram.page(title: title)
    }
  }
}

extension Model {
  struct Diagram: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diagram",
      abstract: "Draw a model: entities, inheritance, relationships with their numbers and delete rules.",
      discussion: """
          atomicstore model diagram Company.xcdatamodeld -o company.svg
          atomicstore model diagram Company.xml --format mermaid

        The extension of the file determines the format: .svg is a picture for light and dark backgrounds, .html a page
        with search and zoom, .dot the input of Graphviz, .mmd Mermaid, which GitHub, GitLab and many wikis draw. Equal
        models give equal bytes. At the ends of lines a fork means many, a stroke one, a circle none; a triangle points
        at the super-entity.
        """)
    @Argument(help: "The model file, or a store that carries a model; - for standard input.") var path: String
    @Option(help: "The format, if the extension of -o does not determine it; by default svg.") var format:
      DiagramFormat?
    @Option(help: "The version, if the file has several.") var version: String?
    @OptionGroup(title: "Options for the result") var file: FileOutput
    @OptionGroup(title: "Common options") var common: CommonOptions

    func run() throws {
      try guarded(common) {
        let format = try DiagramFormat.chosen(format, for: file.path)
        let source = try ModelSource.read(path, version: version, json: common.json)
        for warning in source.warnings { Diagnostics.say("atomicstore: \(path): \(warning)") }
        guard let model = source.model else {
          throw CommandFailure("\(path): the store does not carry a model", exitCode: 65, json: common.json)
        }
        let text = try format.text(try ModelDiagram(model), title: Self.title(path, source.versionName))
        try file.refuseToReplace(model: path)
        try file.write(text, limitedBy: [path])
      }
    }

    static func title(_ path: String, _ version: String?) -> String {
      let name = path == "-" ? "Model" : PathParts.name(of: path)
      return version.map { "\(name): \($0)" } ?? name
    }
  }
}
