package import AtomicStoreSPI
package import FoundationEssentials
import StoreCodecs
package import StoreJSON
import StoreMaintenance

extension StoreReport {
  /// The page for a browser that asks a server for objects: like the page of ``write(to:)``, without objects.
  ///
  /// - Parameter script: Defines `source`, which asks for objects. It may connect to where the page came from, and to
  ///   nothing else.
  package func pageWithoutObjects(script: String) throws(PersistentStoreError) -> String {
    var report = self
    report.maximumRowCount = .max
    report.maximumObjectCount = .max
    let rows = ReportRows(report)
    let writer = ByteWriter()
    try rows.write(to: writer, nil)
    var page = Page(
      title: "\(name): \(type) store",
      body: ReportBody(report, rows, footer: "Served by atomicstore browse, which changes nothing.").text
        + Page.dataStart + String(decoding: writer.takeBytes(), as: UTF8.self) + Page.dataEnd,
      style: PageStyle.common + SVGDrawing.style + PageStyle.report,
      script: DiagramScript.text + "\n" + PageScript.tables(from: script))
    page.connects = true
    return page.text
  }

  /// The objects that the page is about.
  package var objects: NodeTable { nodes }

  /// The UUID of the store.
  package var storeIdentifier: UUID { metadata.uuid }

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

  /// What the page of an object shows of its values besides lines, by slot; null where the line is everything.
  ///
  /// If the contents of an object are too large, those of its later values are replaced by one that says so.
  package func contents(of node: NodeHandle) -> [JSONValue] {
    var contents = ValueContents(lineLength: max(1, maximumValueLength))
    contents.maximumPictureSize = 2_000_000
    contents.maximumSize = 8_000_000
    contents.maximumTextLength = 100_000
    contents.beginObject()
    let reader = nodes.reader(of: node.entity)
    return nodes.model.entity(at: node.entity).slots.map { slot in
      guard slot.attributeType != nil else { return .null }
      return contents.contentOrNote(of: reader.value(slot: slot.index, row: node.row)) ?? .null
    }
  }

  /// How a script treats a column: `number`, `text`, `date`, `boolean`, `other`, `bytes`, `one` or `many`.
  package static func columnKind(_ slot: Slot) -> String { ReportRows.kind(slot) }

  /// The key path of a column.
  package static func key(_ slot: Slot) -> FetchExpression { ReportRows.key(slot) }

  /// The columns of which the first that has a text is what people call an object.
  package static func labels(of entity: Entity) -> [Slot] { ReportRows.labels(of: entity) }
}
