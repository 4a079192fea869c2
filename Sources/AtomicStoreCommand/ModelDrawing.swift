import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreReports

/// The forms in which a model is drawn.
enum DiagramFormat: String, ExpressibleByArgument, CaseIterable {
  case svg, dot, mermaid, html

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
        svg is a picture for light and dark backgrounds, html a page with search and zoom, dot the input of Graphviz,
        mermaid what GitHub, GitLab and many wikis draw. Equal models give equal bytes. At the ends of lines a fork
        means many, a stroke one, a circle none; a triangle points at the super-entity.

          atomicstore model diagram Company.xcdatamodeld > company.svg
          atomicstore model diagram Company.xml --format mermaid
        """)
    @Argument(help: "The model file, or a store that carries a model; - for standard input.") var path: String
    @Option(help: "The format: svg, html, dot (Graphviz) or mermaid.") var format = DiagramFormat.svg
    @Option(help: "The version, if the file has several.") var version: String?
    @OptionGroup var file: FileOutput
    @OptionGroup var common: CommonOptions

    func run() throws {
      try guarded(common) {
        defer { Input.discard() }
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
