import AtomicStoreSPI
public import StoreCodecs

extension StoreReport {
  /// Writes the page.
  ///
  /// - Parameter writer: Flushed from time to time, so that the page need not be in memory as a whole.
  /// - Throws: What the writer throws.
  public func write(to writer: ByteWriter) throws(PersistentStoreError) {
    let rows = ReportRows(self)
    let page = Page(
      title: "\(name): \(type) store", body: "", style: PageStyle.common + SVGDrawing.style + PageStyle.report,
      script: DiagramScript.text + "\n" + ReportScript.text)
    writer.append(page.head)
    let contents = rows.contents()
    writer.append(ReportBody(self, rows, hasAllContents: contents.areComplete).text)
    writer.append(Page.dataStart)
    try rows.write(to: writer, contents.entities)
    writer.append(Page.dataEnd)
    writer.append(page.foot)
  }
}
