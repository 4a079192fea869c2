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
    writer.append(ReportBody(self, rows).text)
    writer.append(Page.dataStart)
    try rows.write(to: writer)
    writer.append(Page.dataEnd)
    writer.append(page.foot)
  }
}
