import AtomicStoreSPI
import Foundation
import StoreCoordination
import TestSupport
import Testing

/// What the script of a page answers, without a browser.
@Suite("The script of a report", .enabled(if: ReportSupport.hasNode, "node is missing"))
struct ReportScriptTests {
  /// Runs the part of the script that finds objects, with a document that has nothing but the data.
  private static let harness = #"""
    const page = require('fs').readFileSync(process.argv[1], 'utf8');
    const data = /id="data">([^]*?)<\/script>/.exec(page)[1], start = page.lastIndexOf("(function () {\n'use strict';\nfunction element");
    const script = page.slice(start, page.indexOf('function quoted(', start)) + 'return source; })()';
    globalThis.document = { getElementById: function () { return { textContent: data }; } };
    const asked = Object.assign({ entity: 0, filters: {}, sort: null, descends: false, offset: 0, limit: 100 }, JSON.parse(process.argv[2]));
    eval(script).rows(asked).then(function (answer) { console.log(answer.rows.map(function (row) { return row.reference; }).join(' ')); });
    """#

  /// The references of the rows that a page of texts shows.
  private func rows(of texts: [String], _ question: String) throws -> String {
    let folder = try TemporaryDirectory("report-script")
    let path = try StoreReportTests.store(of: texts.map { .string($0) }, in: folder)
    try StoreReportTests.page(path).write(toFile: folder.path + "/page.html", atomically: false, encoding: .utf8)
    return try ChildProcess.output(
      of: "/usr/bin/env", ["node", "-e", Self.harness, folder.path + "/page.html", question]
    ).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  @Test("texts are sorted by Unicode scalars, as fetch sorts them")
  func order() throws {
    let texts = ["\u{1F600}", "\u{FB01}", "b", "ab", "a"]
    #expect(try rows(of: texts, #"{"sort": 1}"#) == "4 3 2 1 0")
    #expect(try rows(of: texts, #"{"sort": 1, "descends": true}"#) == "0 1 2 3 4")
  }

  @Test("a filter by an accent alone finds nothing, as CONTAINS[cd] does")
  func accent() throws {
    let texts = ["e\u{301}", "E", "x"]
    #expect(try rows(of: texts, #"{"filters": {"1": {"contains": "é"}}}"#) == "0 1")
    #expect(try rows(of: texts, #"{"filters": {"1": {"contains": "\u0301"}}}"#) == "")
  }
}
