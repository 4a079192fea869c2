import AtomicStoreSPI
import BuiltInStoreFormats
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
    Promise.resolve(eval(script)[asked.call || 'rows'](asked.call === 'search' ? asked.text : asked)).then(function (answer) {
      var objects = answer.rows || answer.values || answer.hits.map(function (hit) { return hit.object; });
      console.log(objects.map(function (object) { return object.reference; }).join(' '));
    });
    """#

  /// The references of the objects that the page of a store of texts answers with.
  private func rows(of texts: [String], _ question: String) throws -> String {
    let folder = try TemporaryDirectory("report-script")
    return try answer(of: try StoreReportTests.store(of: texts.map { .string($0) }, in: folder), question, folder)
  }

  private func answer(of path: String, _ question: String, _ folder: TemporaryDirectory) throws -> String {
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

  @Test("a search for an accent alone finds nothing either")
  func search() throws {
    let texts = ["e\u{301}", "E", "x"]
    #expect(try rows(of: texts, #"{"call": "search", "text": "é"}"#) == "Thing/0 Thing/1")
    #expect(try rows(of: texts, #"{"call": "search", "text": "\u0301"}"#) == "")
  }

  @Test("the objects at the end of a relationship that are as frequent are in their order, not as they were met")
  func facet() throws {
    let folder = try TemporaryDirectory("report-script")
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "Thing", properties: [.toOne("next", "Thing")])]))
    var nodes = NodeTable(model: model)
    let handles = try (0..<9).map { try nodes.addCacheNode(entity: 0, reference: .integer($0)) }
    for (one, other) in zip(handles, [7, 3, 5, 5, 3, 7, 1]) {
      try nodes.set(.toOne(nodes.objectReference(of: handles[other])), slot: 0, of: one)
    }
    let path = folder.path + "/things.plist"
    _ = try StoreConverter(registry: .builtIn).write(
      StoreSnapshot(nodes: nodes, metadata: StoreMetadata(storeType: "BinaryPropertyList")), to: path,
      describedAs: "things", madeOf: [])
    #expect(try answer(of: path, #"{"call": "facet", "column": 0}"#, folder) == "Thing/3 Thing/5 Thing/7 Thing/1")
  }
}
