import AtomicStoreSPI
package import StoreCodecs

extension ComparisonReport {
  /// Writes the page.
  ///
  /// - Parameter writer: Flushed from time to time, so that the page need not be in memory as a whole.
  /// - Throws: What the writer throws.
  package func write(to writer: ByteWriter) throws(PersistentStoreError) {
    let page = Page(
      title: "\(first.name) and \(second.name)", body: "",
      style: PageStyle.common + SVGDrawing.style + PageStyle.report + PageStyle.diagram + PageStyle.comparison,
      script: DiagramScript.text + "\n" + ComparisonScript.text)
    writer.append(page.head)
    try ComparisonBody(self).write(to: writer)
    writer.append(page.foot)
  }

  /// The page with all objects that differ, as `browse` serves it.
  package func wholePage() throws(PersistentStoreError) -> String {
    var report = self
    report.maximumRowCount = .max
    let writer = ByteWriter()
    try report.write(to: writer)
    return String(decoding: writer.takeBytes(), as: UTF8.self)
  }
}
