import AtomicStoreSPI
import Foundation
import ModelFiles
import StoreCodecs
import StoreReports
import TestSupport
import Testing

@Suite("Diagrams of models") struct ModelDiagramTests {
  private static func overlap(_ one: DiagramLayout.Frame, _ other: DiagramLayout.Frame) -> Bool {
    one.x < other.x + other.width && other.x < one.x + one.width
      && one.y < other.y + other.height && other.y < one.y + one.height
  }

  /// What is wrong with a layout: boxes that overlap, lines over boxes, lines that do not begin at their box.
  static func mistakes(_ diagram: ModelDiagram) throws -> [String] {
    let layout = try DiagramLayout(diagram)
    var mistakes: [String] = []
    for (index, frame) in layout.frames.enumerated() {
      if frame.x < 0 || frame.y < 0 || frame.x + frame.width > layout.width || frame.y + frame.height > layout.height {
        mistakes.append("\(diagram.boxes[index].name) is outside the picture")
      }
      for other in layout.frames.indices.dropFirst(index + 1) where Self.overlap(frame, layout.frames[other]) {
        mistakes.append("\(diagram.boxes[index].name) overlaps \(diagram.boxes[other].name)")
      }
    }
    for (link, route) in zip(diagram.links, layout.routes) {
      guard let first = route.points.first, let last = route.points.last else {
        mistakes.append("\(link.title) has no course")
        continue
      }
      for (point, end) in [(first, link.from), (last, link.to)] {
        let frame = layout.frames[end.box]
        let isAtEdge = point.x == frame.x || point.x == frame.x + frame.width
        if !isAtEdge || point.y < frame.y || point.y > frame.y + frame.height {
          mistakes.append("\(link.title) does not end at \(diagram.boxes[end.box].name)")
        }
      }
      for point in samples(route) {
        for (index, frame) in layout.frames.enumerated()
        where point.x > frame.x && point.x < frame.x + frame.width && point.y > frame.y
          && point.y < frame.y + frame.height
        {
          mistakes.append("\(link.title) runs over \(diagram.boxes[index].name)")
        }
      }
    }
    return mistakes
  }

  /// Points on a line, curves included.
  private static func samples(_ route: DiagramLayout.Route) -> [(x: Double, y: Double)] {
    var result: [(x: Double, y: Double)] = []
    for (from, to) in zip(route.points, route.points.dropFirst()) {
      for step in 0...16 {
        let t = Double(step) / 16
        // As the picture draws it: both control points are half way.
        let x =
          route.isLoop
          ? from.x + 3 * t * (1 - t) * 45.22
          : from.x * (1 - t) * (1 - t) * (1 - t) + (from.x + to.x) * 1.5 * t * (1 - t) + to.x * t * t * t
        let y = from.y * (1 - t) * (1 - t) * (1 + 2 * t) + to.y * t * t * (3 - 2 * t)
        result.append((x, y))
      }
    }
    return result
  }

  @Test("in the diagrams of the sample models nothing overlaps", arguments: ReportSupport.sampleModels)
  func samples(_ path: String) throws {
    let model = try #require(ReportSupport.model(at: path), "\(path)")
    let diagram = try ModelDiagram(model)
    #expect(diagram.boxes.count == model.entityCount && !diagram.links.isEmpty)
    #expect(try Self.mistakes(diagram) == [])
  }

  @Test(
    "in the diagram of every model of the corpus nothing overlaps",
    .enabled(if: ReportSupport.hasCorpus, "needs ../shared/corpus"))
  func corpus() throws {
    #expect(ReportSupport.corpusModels.count > 150)
    for (path, model) in ReportSupport.corpusModels {
      let mistakes = try Self.mistakes(try ModelDiagram(model))
      #expect(mistakes == [], "\(path)")
    }
  }

  @Test("in the diagrams of random models nothing overlaps", arguments: 1...12 as ClosedRange<UInt64>)
  func random(_ seed: UInt64) throws {
    for count in [1, 2, 9, 40] {
      let model = try ReportSupport.randomModel(seed, entities: count)
      #expect(try Self.mistakes(try ModelDiagram(model)) == [], "\(count) entities")
    }
  }

  @Test("in diagrams of two models nothing overlaps either", arguments: 1...6 as ClosedRange<UInt64>)
  func randomComparisons(_ seed: UInt64) throws {
    let old = try ReportSupport.randomModel(seed, entities: 12)
    let new = try ReportSupport.randomModel(seed + 100, entities: 15)
    #expect(try Self.mistakes(try ModelDiagram(from: old, to: new)) == [])
  }

  @Test("equal models give equal bytes in every form, in whatever order a file has the entities")
  func deterministic() throws {
    let model = try ReportSupport.randomModel(7, entities: 20)
    var description = model.description
    description.entities.reverse()
    let (one, other) = (try ModelDiagram(model), try ModelDiagram(ManagedObjectModel(description)))
    #expect(try one.svg() == other.svg())
    #expect(one.dot() == other.dot() && one.mermaid() == other.mermaid())
    #expect(try one.page(title: "M") == other.page(title: "M"))
  }

  @Test("a row shows type, optionality, numbers, order and delete rule")
  func rows() throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "A",
          properties: [
            .attribute("n", .integer16, isOptional: false), .attribute("t", .string),
            .toMany("bs", "B", inverse: "a", isOrdered: true, deleteRule: .cascade),
            .toMany("some", "B", isOptional: false, minimumCount: 2, maximumCount: 5),
          ]),
        EntityDescription(
          name: "B", properties: [.toOne("a", "A", inverse: "bs", isOptional: false, deleteRule: .deny)]),
      ]))
    let diagram = try ModelDiagram(model)
    #expect(diagram.boxes[0].rows.map(\.detail) == ["Integer 16", "String?", "B 0..* ordered cascade", "B 2..5"])
    #expect(diagram.boxes[1].rows.map(\.detail) == ["A 1 deny"])
    #expect(diagram.links.map(\.title) == ["A.bs ↔ B.a", "A.some → B"])
    #expect(diagram.links[0].from.count == 1...1 && diagram.links[0].to.count == 0...Int.max)
    #expect(diagram.links[1].from.count == nil && diagram.links[1].to.count == 2...5)
  }

  @Test("two models in one diagram mark what is added, removed, changed and renamed")
  func comparison() throws {
    let old = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Author",
          properties: [
            .attribute("name", .string), .attribute("born", .integer16), .toMany("books", "Book", inverse: "author"),
          ]),
        EntityDescription(
          name: "Book", properties: [.attribute("title", .string), .toOne("author", "Author", inverse: "books")]),
        EntityDescription(name: "Loan", properties: [.attribute("day", .date), .toOne("book", "Book")]),
        EntityDescription(name: "Same", properties: [.attribute("x", .string)]),
      ]))
    let new = try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Author",
          properties: [
            .attribute("fullName", .string, renamingIdentifier: "name"), .attribute("born", .integer32),
            .attribute("died", .integer32), .toMany("books", "Work", inverse: "author"),
          ]),
        EntityDescription(
          name: "Work", properties: [.attribute("title", .string), .toOne("author", "Author", inverse: "books")],
          renamingIdentifier: "Book"),
        EntityDescription(name: "Same", properties: [.attribute("x", .string)]),
      ]))
    let diagram = try ModelDiagram(from: old, to: new)
    #expect(diagram.boxes.map(\.name) == ["Author", "Same", "Book → Work", "Loan"])
    #expect(diagram.boxes.map(\.mark) == [.changed, .same, .changed, .removed])
    let author = diagram.boxes[0].rows
    #expect(author.map(\.name) == ["name → fullName", "born", "died", "books"])
    #expect(author.map(\.mark) == [.changed, .changed, .added, .changed])
    #expect(author[1].detail == "Integer 16? → Integer 32?" && author[3].detail == "Book 0..* → Work 0..*")
    #expect(diagram.boxes[3].rows.allSatisfy { $0.mark == .removed })
    #expect(diagram.links.map(\.mark) == [.same, .removed] && diagram.links[1].title == "Loan.book → Book")
    let svg = try diagram.svg()
    // Not by color alone.
    #expect(svg.contains(">+</text>") && svg.contains(">~</text>") && svg.contains(">−</text>"))
    let unchanged = try ModelDiagram(from: new, to: new)
    #expect(unchanged.boxes.allSatisfy { $0.mark == .same } && unchanged.links.allSatisfy { $0.mark == .same })
  }

  @Test("a diagram is well-formed XML without elements or attributes that run, whatever names contain")
  func hostileNames() throws {
    let entities = ReportSupport.hostile.enumerated().map { index, text in
      EntityDescription(
        name: "\(text)\(index)",
        properties: [.attribute("p\(text)", .string), .toOne("r\(text)", "\(text)\(index)")])
    }
    let diagram = try ModelDiagram(ManagedObjectModel(ModelDescription(entities: entities)))
    let svg = try diagram.svg()
    var open = [try XMLElement.parse(Array(svg.utf8).span)]
    var titles = 0
    while let element = open.popLast() {
      #expect(["svg", "style", "rect", "g", "title", "path", "text"].contains(element.name))
      for (name, _) in element.attributes { #expect(!name.hasPrefix("on") && !name.hasSuffix("href")) }
      if element.name == "title" { titles += 1 }
      open += element.elements
    }
    #expect(titles >= diagram.boxes.count)
    let page = try diagram.page(title: ReportSupport.hostile[1])
    #expect(page.components(separatedBy: "<script").count == 2 && !page.contains("<img"))
    for line in diagram.mermaid().split(separator: "\n").dropFirst(2) {
      // What has a meaning for Mermaid is written as a number.
      let rest = line.replacing(#/#[0-9]+;/#, with: "").replacing("-->", with: "--")
      #expect(!rest.contains(where: { "<>;%#&'\\`@/".contains($0) }), "\(line)")
      #expect(rest.count(where: { $0 == "\"" }).isMultiple(of: 2))
    }
  }

  @Test("Graphviz reads what is written for it", .enabled(if: Self.graphviz != nil, "dot is not on this machine"))
  func graphvizReads() throws {
    var models = try ReportSupport.sampleModels.map { try #require(ReportSupport.model(at: $0)) }
    let entities = ReportSupport.hostile.enumerated().map { index, text in
      EntityDescription(name: "\(text)\(index)", properties: [.toOne("r\(text)", "\(text)\(index)")])
    }
    models.append(try ManagedObjectModel(ModelDescription(entities: entities)))
    for model in models {
      let result = try ChildProcess.run(
        try #require(Self.graphviz), ["-Tplain"], input: Data(try ModelDiagram(model).dot().utf8))
      #expect(result.code == 0 && !result.errors.contains("rror"), "\(result.errors)")
      #expect(result.output.split(separator: "\n").filter { $0.hasPrefix("node ") }.count == model.entityCount)
    }
  }

  static let graphviz = ["/usr/bin/dot", "/usr/local/bin/dot"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  @Test("a model that is too large for a picture is refused with its size")
  func limits() throws {
    let many = ModelDescription(
      entities: (0...ModelDiagram.maximumBoxCount).map { EntityDescription(name: "E\($0)") })
    let error = #expect(throws: PersistentStoreError.self) {
      _ = try ModelDiagram(ManagedObjectModel(many))
    }
    #expect(error?.code == .limitExceeded && error?.message.contains("1001 entities") == true)
    // A chain passes as many columns as it has entities: what leads from its beginning to its end has no room.
    let chain = (0..<900).map { index -> EntityDescription in
      var properties: [PropertyDescription] = [.toMany("next", "E\(min(index + 1, 899))")]
      if index < 200 { properties.append(.toMany("last", "E899")) }
      return EntityDescription(name: "E\(index)", properties: properties)
    }
    let long = try ModelDiagram(ManagedObjectModel(ModelDescription(entities: chain)))
    let refusal = #expect(throws: PersistentStoreError.self) { _ = try long.svg() }
    #expect(refusal?.code == .limitExceeded)
    let wide = EntityDescription(name: "W", properties: (0..<400).map { .attribute("a\($0)", .string) })
    let box = try ModelDiagram(ManagedObjectModel(ModelDescription(entities: [wide]))).boxes[0]
    #expect(box.rows.count == ModelDiagram.maximumRowCount + 1 && box.rows.last?.name == "and 250 more")
  }
}
