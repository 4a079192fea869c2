package import AtomicStoreSPI
import StoreMaintenance

extension StoreReport {
  /// The page for a browser that asks a server for objects: like the page of ``write(to:)``, without objects.
  ///
  /// - Parameter script: What asks for objects. It may connect to where the page came from, and to nothing else.
  package func pageWithoutObjects(script: String) -> String {
    var report = self
    report.maximumRowCount = .max
    report.maximumObjectCount = .max
    let rows = ReportRows(report)
    var page = Page(
      title: "\(name): \(type) store",
      body: ReportBody(
        report, rows, footer: "Served by atomicstore browse, which changes nothing.", describesColumns: true
      ).text,
      style: PageStyle.common + SVGDrawing.style + PageStyle.report + PageStyle.browser,
      script: DiagramScript.text + "\n" + script)
    page.connects = true
    return page.text
  }

  /// The objects that the page is about.
  package var objects: NodeTable { nodes }

  /// How many problems a check found, warnings included.
  package var problemCount: Int { findings.counts.values.reduce(0, +) }

  /// The number of the first object of each entity; those of an entity have one number after the other.
  package var firstNumbers: [Int] {
    var first = 0
    return nodes.model.entities.map { entity in
      defer { first += nodes.count(of: entity.index) }
      return first
    }
  }

  /// A text on one line, shortened, without characters that deceive the reader.
  package func shownText(_ text: String) -> String {
    Markup.visible(Markup.shortened(text, to: max(1, maximumValueLength)))
  }

  /// An attribute's value as people read it; nil for null.
  package func shownText(_ value: StoredValue) -> String? { ReportRows(self).text(value) }

  /// How a script treats a column: `number`, `text`, `one`, `many` or `other`.
  package static func columnKind(_ slot: Slot) -> String { ReportRows.kind(slot) }
}
