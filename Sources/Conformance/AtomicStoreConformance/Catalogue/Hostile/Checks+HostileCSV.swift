import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// HCS: records made from what the store itself wrote. What is not CSV is refused with its line; what is written in
/// another way gives the same graph.
extension Checks {
  static let hostileCSV: [CheckDefinition] = [
    csv(
      "HCS-01", "A quote that is never closed is refused, with the line that it opens on",
      by: "a quote before the last field, before one in the middle, and in the header",
      causes: ["the end of the file was taken for the end of the field"], catches: ["unterminatedQuoteAccepted"]
    ) { check, store in
      let last = store.records.records.count - 1
      let places = [
        (last, store.records.records[last].count - 1), (store.needle.record, store.needle.column),
        (0, store.needle.column),
      ]
      for (record, column) in places {
        var crafted = store.records
        crafted.records[record][column].insert(.quote, at: 0)
        try check.expectRefused(crafted.bytes, in: store, "with an open quote in record \(record)", line: record + 1)
      }
    },
    csv(
      "HCS-02", "A record with too few or too many fields is refused, with its line and both counts",
      by: "one field less, one only, one more, five more",
      causes: ["missing fields were filled up, or fields too many left out"], catches: ["padsShortRows"]
    ) { check, store in
      let width = store.records.records[0].count
      for record in [1, store.records.records.count - 1] {
        for count in Set([1, width - 1, width + 1, width + 5]).sorted() where count != width {
          var crafted = store.records
          while crafted.records[record].count > count { crafted.records[record].removeLast() }
          while crafted.records[record].count < count { crafted.records[record].append([]) }
          let text = try check.expectRefused(
            crafted.bytes, in: store, "of \(count) fields instead of \(width)", line: record + 1
          ).text
          try check.expect(text.contains("\(width)"), "the error says that there should be \(width) fields", text)
          if count < width {
            try check.expect(text.contains("\(count)"), "the error says that there are \(count) fields", text)
          }
        }
      }
    },
    csv(
      "HCS-03", "A quote within an unquoted field, and text behind a closing quote, are refused",
      by: "four such fields, and an equal one in the header",
      causes: ["quotes were taken as they come"], catches: ["lenientQuotes"]
    ) { check, store in
      for field in ["nee\"dle", "\"needle\" x", "\"needle\"x", " \"needle\"", "\"nee\"dle\""] {
        for record in [store.needle.record, 0] {
          var crafted = store.records
          crafted.records[record][store.needle.column] = Array(field.utf8)
          try check.expectRefused(crafted.bytes, in: store, "with the field \(field)", line: record + 1)
        }
      }
    },
    csv(
      "HCS-04", "Records may end in a line feed, a carriage return, or both, and each in its own way",
      by: "all four, with and without the last line end",
      causes: ["lines were split by characters: Swift takes both together for one"],
      catches: ["splitsOnCharacterNewline"]
    ) { check, store in
      let kinds: [[UInt8]] = [[.lineFeed], [.carriageReturn, .lineFeed], [.carriageReturn]]
      for isFinal in [true, false] {
        var crafted = store.records
        crafted.hasFinalLineEnd = isFinal
        for kind in kinds { try check.expectSameGraph(crafted.bytes { _ in kind }, in: store, "that end in \(kind)") }
        try check.expectSameGraph(crafted.bytes { kinds[$0 % 3] }, in: store, "that end in one way and another")
        try check.expectSameGraph(crafted.bytes { kinds[($0 + 1) % 3] }, in: store, "that end in another way and one")
      }
    },
    CheckDefinition(
      "HCS-05", "Line ends within quotes belong to the value, whatever records end in", profile: .hostile, from: kit,
      by: "values with each kind of line end, read from records that end in each kind",
      causes: ["the file was split into lines first"],
      catches: ["lineBasedReader"]
    ) { check in
      var graph = CheckContext.samples()
      for (place, end) in ["\n", "\r\n", "\r", "\n\n", "\n\r"].enumerated() {
        graph.objects[place].values["alpha"] = .string("needle \(place + 1)" + end + "more,\"quoted\"" + end)
      }
      let store = try check.csvSubject(graph)
      for kind: [UInt8] in [[.lineFeed], [.carriageReturn, .lineFeed], [.carriageReturn]] {
        try check.expectSameGraph(
          store.records.bytes { _ in kind }, in: store, "with line ends in values, themselves ending in \(kind)")
      }
    },
    csv(
      "HCS-06", "A byte order mark is skipped once, at the start only",
      by: "one mark, two, one at the second record, one of UTF-16",
      causes: ["the mark became a part of the first column's name"], catches: ["bomInFirstHeader"]
    ) { check, store in
      let mark: [UInt8] = .byteOrderMark
      try check.expectSameGraph(mark + store.records.bytes, in: store, "behind a byte order mark")
      try check.expectRefused(mark + mark + store.records.bytes, in: store, "behind two byte order marks")
      var crafted = store.records
      crafted.records[1][0] = mark + crafted.records[1][0]
      try check.expectRefused(crafted.bytes, in: store, "with a byte order mark in the second one", line: 2)
      let wide: [UInt8] = store.records.bytes.flatMap { byte -> [UInt8] in [byte, 0] }
      try check.expectRefused([0xFF, 0xFE] + wide, in: store, "in UTF-16")
      try check.expectRefused(wide, in: store, "in UTF-16 without a mark")
    },
    csv(
      "HCS-07", "Columns are known by their names: in any order, none twice, and no unknown ones",
      by: "columns in another order, two names exchanged, a name twice, one too many, one missing, no header",
      causes: ["columns were counted instead of looked up"], catches: ["columnsByPosition"]
    ) { check, store in
      guard let alpha = store.records.column(named: "alpha"), let beta = store.records.column(named: "beta"),
        let gamma = store.records.column(named: "gamma")
      else { throw NotApplicable(reason: "columns are not named by the properties") }
      func crafted(_ what: String, _ change: (inout CSVRecords) -> Void) -> (bytes: [UInt8], what: String) {
        var crafted = store.records
        change(&crafted)
        return (crafted.bytes, what)
      }
      let reordered = crafted("with columns in another order") { crafted in
        for record in crafted.records.indices { crafted.records[record].swapAt(alpha, gamma) }
      }
      try check.expectSameGraph(reordered.bytes, in: store, reordered.what)
      let exchanged = crafted("with two names exchanged") { $0.records[0].swapAt(alpha, beta) }
      var graph = store.graph
      for place in graph.objects.indices {
        let old = graph.objects[place].values
        graph.objects[place].values["alpha"] = old["beta"]
        graph.objects[place].values["beta"] = old["alpha"]
      }
      try check.expectSameGraph(exchanged.bytes, in: store, exchanged.what, try graph.text(store.references))
      for refused in [
        crafted("with a name twice") { $0.records[0][beta] = $0.records[0][alpha] },
        crafted("with an empty name") { $0.records[0][beta] = [] },
        crafted("without a header") { $0.records.removeFirst() },
        crafted("with the header twice") { $0.records.insert($0.records[0], at: 1) },
      ] { try check.expectRefused(refused.bytes, in: store, refused.what) }
      let more = crafted("with an unknown column") { crafted in
        for record in crafted.records.indices {
          let name = CSVRecords.content(crafted.records[record][alpha]).replacing("alpha", with: "omega")
          crafted.records[record].append(Array((record == 0 ? name : "x").utf8))
        }
      }
      try check.expectRefusedOrSame(more.bytes, in: store, more.what)
      let fewer = crafted("without a column") { crafted in
        for record in crafted.records.indices { crafted.records[record].remove(at: gamma) }
      }
      for place in graph.objects.indices {
        graph.objects[place].values = store.graph.objects[place].values
        graph.objects[place].values["gamma"] = nil
      }
      try check.expectRefusedOrSame(fewer.bytes, in: store, fewer.what, try graph.text(store.references))
    },
    csv(
      "HCS-08", "A line with nothing on it is not an object, and an object with nothing in it is not a blank line",
      by:
        "an entity of one text, with nothing, with an empty text and with some; then lines with nothing on them between the records",
      causes: ["a record of one empty field and a blank line were taken for the same"], catches: ["blankLineIsRow"]
    ) { check, _ in
      var texts: [StoredValue] = [.null, .string("needle 2"), .string("x"), .null]
      if check.traits.keepsNilApartFromEmpty { texts.append(.string("")) }
      for name in ["value", "a"] {
        let graph = Graph.values(.string, texts, name: name)
        try check.expectKept(graph, "texts, nothing and nothing in them", path: check.path("kept-\(name)"))
        let store = try check.csvSubject(graph)
        for (place, blank) in [(1, ""), (2, ""), (store.records.records.count, ""), (2, " ")] {
          var crafted = store.records
          crafted.records.insert([Array(blank.utf8)], at: place)
          try check.expectRefusedOrSame(
            crafted.bytes, in: store, "with \(blank.isEmpty ? "nothing" : "a blank") on line \(place + 1)")
        }
      }
    },
    csv(
      "HCS-09",
      "Texts that a spreadsheet would take for a formula are written as they are, with nothing put before them",
      by: "texts that begin with =, +, -, @, tab and carriage return, read back; and the fields of the file looked at",
      causes: ["texts are guarded against spreadsheets, and no one takes that away when they are read"],
      catches: ["prefixesApostrophe"]
    ) { check, _ in
      let texts = [
        "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "'=1", "=cmd|' /C calc'!A0", "%x", "|x", "\n=1", "=\"a\",b",
      ]
      let graph = Graph.values(.string, [.string("needle 2")] + texts.map { .string($0) })
      let store = try check.csvSubject(graph)
      try check.expectSameGraph(store.records.bytes, in: store, "with formulas")
      let column = store.needle.column
      let contents = Set(
        store.records.records.filter { $0.count > column }.map { Array(CSVRecords.content($0[column]).utf8) })
      for text in texts {
        try check.expect(
          contents.contains(Array(text.utf8)), "a field holds just \(GraphText.shown(text))", "none does")
      }
    },
    csv(
      "HCS-10", "U+0000 never ends a field",
      by:
        "within quotes, where it is kept or refused; outside of them, in the header and between records, where it is refused",
      causes: ["text was handed on as a C string"], catches: ["nulEndsField"]
    ) { check, store in
      try check.expectKeptOrRefused(
        Graph.values(.string, ["a\0b", "\0", "\0\0,\"\0"].map { .string($0) }), "texts with U+0000")
      for record in [store.needle.record, 0] {
        var crafted = store.records
        crafted.records[record][store.needle.column] += [0x00, UInt8(ascii: "x")]
        try check.expectRefused(crafted.bytes, in: store, "with U+0000 in record \(record)", line: record + 1)
      }
      var crafted = store.records
      crafted.records.insert([[0x00]], at: 2)
      try check.expectRefused(crafted.bytes, in: store, "with U+0000 between them", line: 3)
    },
    CheckDefinition(
      "HCS-11", "Names of properties come back whatever is in them", profile: .hostile, from: kit,
      by:
        "names with the delimiter, quotes, line ends, and what headers use between a name and its type; with values and without",
      causes: ["the header is not quoted as other records are"], catches: ["headerNotQuoted"]
    ) { check in
      let names = ["a,b", "c\"d", "e:f", "g->h", "i;j\tk", "l (m)", "n%2Co", " p ", "=q", "r|s", "line\nend"]
      let model = Models.attributes(names.map { ($0, .string) })
      guard (try? Models.frozen(model)) != nil else { throw NotApplicable(reason: "the model cannot have such names") }
      _ = try check.csvSubject()
      var graph = Graph(model)
      graph.objects.append(
        .init(
          label: "one", entity: "Sample",
          values: Dictionary(uniqueKeysWithValues: names.map { (ScalarKey($0), .string($0)) }))
      )
      try check.expectKept(graph, "names with what headers use", path: check.path("names"))
      graph.objects = [.init(label: "none", entity: "Sample")]
      try check.expectKept(graph, "names without values", path: check.path("empty"))
    },
    csv(
      "HCS-12", "Long fields, many columns and many records take time in proportion, and no more", level: .should,
      profile: .scale,
      by: "fields of 4 and of 16 million bytes, measured; 100,000 columns in the header; 50,000 records",
      causes: ["a field is copied for each of its pieces"],
      catches: ["quadraticField"], timeLimit: 120
    ) { check, store in
      var times: [Double] = []
      for size in [4_000_000, 16_000_000] {
        var crafted = store.records
        crafted.records[store.needle.record][store.needle.column] =
          [.quote] + Array(repeating: UInt8(ascii: "y"), count: size) + [.quote]
        let path = try check.lay(crafted.bytes, in: store)
        let options = check.handmade
        let objects = store.graph.objects.count
        times.append(
          try check.process("read a field of \(size) bytes", seconds: 60) { session -> Double in
            var count = 0
            let seconds = try Stopwatch.seconds {
              let open = try session.open(path, store.graph.model, isReadOnly: true, options: options)
              count = open.store.nodes.count(of: 0)
            }
            guard count == objects else { throw ExpectationFailure(expected: "\(objects) objects", actual: "\(count)") }
            return seconds
          })
        Files.remove(path)
      }
      check.note("4 million bytes take \(times[0]) s, 16 million \(times[1]) s")
      try check.expect(
        times[1] < 1 || times[1] < times[0] * 10, "a field four times as long takes about four times the time",
        "\(times[0]) s became \(times[1]) s")
      var crafted = store.records
      for column in 0..<100_000 { crafted.records[0].append(Array("column\(column)".utf8)) }
      try check.expectRefused(crafted.bytes, in: store, "with 100,000 unknown columns")
      crafted = store.records
      let record = crafted.records[store.needle.record]
      // References that no one has, in the place of the one that is there.
      for row in 0..<50_000 { crafted.records.append([Array("\(1_000_000 + row)".utf8)] + record.dropFirst()) }
      let path = try check.lay(crafted.bytes, in: store)
      let options = check.handmade
      let count = try check.process("read 50,000 records", seconds: 60) { session -> Int in
        try session.open(path, store.graph.model, isReadOnly: true, options: options).store.nodes.count(of: 0)
      }
      try check.expectEqual(count, store.graph.objects.count + 50_000, "the objects")
    },
    csv(
      "HCS-16",
      "A record of far more fields than the header, and a header of a million, take memory by the file's size",
      by: "a record of four million delimiters, and a header of a million columns; at most 64 MB and 64 times the size",
      causes: ["a record is held whole before its fields are counted"], catches: ["holdsLongRecord"], timeLimit: 120
    ) { check, store in
      var long = store.records
      long.records.append([Array("9000000".utf8)] + Array(repeating: [], count: 4_000_000))
      var wide = store.records
      for column in 0..<1_000_000 { wide.records[0].append(Array("c\(column)".utf8)) }
      for (what, crafted) in [("a record of four million fields", long), ("a header of a million columns", wide)] {
        let bytes = crafted.bytes
        let path = try check.lay(bytes, in: store)
        let options = check.handmade
        let model = store.graph.model
        let memory = try check.process("open \(what)", seconds: 60) { session in
          try Memory.growth { _ = try? session.open(path, model, isReadOnly: true, options: options) }
        }
        Files.remove(path)
        let most = (64 << 20) + 64 * bytes.count
        check.note("\(what): \(bytes.count) bytes, \(memory >> 20) of \(most >> 20) MB")
        try check.expect(memory <= most, "\(what): at most \(most >> 20) MB", "it took \(memory >> 20) MB")
        try check.expectRefused(bytes, in: store, "with \(what)")
      }
    },
    csv(
      "HCS-13", "No record is lost, or made, by how the file ends",
      by: "no last line end, several, a header alone with and without one, nothing at all",
      causes: ["a last line without its end was left out"], catches: ["lastRowLost"]
    ) { check, store in
      var crafted = store.records
      crafted.hasFinalLineEnd = false
      let bytes = crafted.bytes
      try check.expectSameGraph(bytes, in: store, "without a last line end")
      for count in 2...4 {
        try check.expectRefusedOrSame(
          bytes + Array(repeating: .lineFeed, count: count), in: store, "with \(count) line ends behind them")
        let ends = [[UInt8]](repeating: [.carriageReturn, .lineFeed], count: count).joined()
        try check.expectRefusedOrSame(bytes + ends, in: store, "with \(count) CRLF behind them")
      }
      crafted.records.removeLast(crafted.records.count - 1)
      try check.expectSameGraph(crafted.bytes, in: store, "that are a header without its line end", GraphText())
      try check.expectSameGraph(crafted.bytes + [.lineFeed], in: store, "that are a header", GraphText())
      try check.expectRefused([], in: store, "of no bytes")
      try check.expectRefused([.lineFeed], in: store, "that are a line end")
      try check.expectRefused(.byteOrderMark, in: store, "that are a byte order mark")
    },
    CheckDefinition(
      "HCS-14", "Files that other programs wrote are read field for field, and what is not CSV is refused",
      level: .should, profile: .hostile, from: kit,
      by: "two dozen small files of the kinds that collections of difficult CSV hold, each with what it means",
      causes: ["fields were trimmed", "types were guessed"], catches: ["leadingSpaceTrimmed"],
      demand: { $0.fileExtensions.contains("csv") ? .applies : .notApplicable("fileExtensions has no csv") }
    ) { check in
      for (place, sample) in ForeignCSV.all.enumerated() {
        let path = "\(check.folder)/sample\(place).csv"
        Files.write(Array(sample.text.utf8), to: path)
        let end = try check.attempt("read \(GraphText.shown(sample.text))") { try $0.read(path, nil) }
        guard let records = sample.records else {
          guard case .refused(let error) = end else {
            throw ExpectationFailure(expected: "\(GraphText.shown(sample.text)): refused", actual: "it was read")
          }
          try check.expectProper(error, GraphText.shown(sample.text))
          continue
        }
        let text = try check.settle(end, "read \(GraphText.shown(sample.text))")
        let actual = sorted(text.objects.values.map { lines($0.map { ($0.key.text, $0.value) }) })
        let expected = sorted(
          records.map { record in
            lines(
              zip(sample.header, record).compactMap { name, value in
                value.flatMap { GraphText.value(.string($0)) }.map { (name, $0) }
              })
          })
        try check.expect(
          actual.elementsEqual(expected) { $0.utf8.elementsEqual($1.utf8) },
          "\(GraphText.shown(sample.text)): \(expected)", "\(actual)")
      }
    },
    csv(
      "HCS-15", "Another reader finds the same fields in what the store writes", level: .should, profile: .interop,
      by: "difficult texts of every kind; Python's csv reads them, and its fields are compared with the texts",
      causes: ["its own dialect"],
      catches: ["privateDialect"]
    ) { check, _ in
      var texts = [
        "", " ", "a", " a ", "a,b", "a;b", "a\tb", "\"", "\"\"", "a\"b", "\"a\"", "\n", "a\nb", "\r\n", "a\rb", "\\",
        "\\\"", "'", "=1", "ä€𝄞",
        "e\u{301}", "\u{FEFF}x", "NULL", "007", "true", "a,\"b\"\n,c", ",", ",,", "\u{2028}", "\u{85}",
      ]
      for scalar in Array(UInt32(1)...0x1F) + [0x7F] { texts += Unicode.Scalar(scalar).map { ["a\($0)b"] } ?? [] }
      let graph = Graph.values(.string, [.string("needle 2")] + texts.map { .string($0) })
      let store = try check.csvSubject(graph)
      let path = check.folder + "/other.csv"
      guard let bytes = store.files[store.member] else { return }
      Files.write(bytes, to: path)
      let script = """
        import sys, json, csv
        with open(sys.argv[2], encoding='utf-8', newline='') as file:
            rows = list(csv.reader(file, strict=True, delimiter=sys.argv[3]))
        json.dump(rows, open(sys.argv[1], 'w'))
        """
      let delimiter = String(decoding: [store.records.delimiter], as: UTF8.self)
      let rows = try OtherReader.python(script, [path, delimiter], in: check.folder, as: [[String]].self)
      try check.expectEqual(rows.count, texts.count + 2, "the records that Python reads")
      let read = sorted(rows.dropFirst().map { $0.count > store.needle.column ? $0[store.needle.column] : "?" })
      let meant = sorted(texts + ["needle 2"])
      for (one, two) in zip(read, meant) {
        try check.expect(one.utf8.elementsEqual(two.utf8), "Python reads \(GraphText.shown(two))", GraphText.shown(one))
      }
    },
  ]

  private static func lines(_ values: [(String, String)]) -> String {
    sorted(values.map { "\($0.0) = \($0.1)" }).joined(separator: "; ")
  }

  /// By their bytes.
  private static func sorted(_ texts: [String]) -> [String] {
    texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
  }

  static func csv(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, profile: ConformanceCheck.Profile = .hostile,
    by procedure: String,
    causes: [String], catches: [String], timeLimit: Int = 60,
    _ body: @escaping @Sendable (CheckContext, CheckContext.CSVSubject) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: profile, from: kit, by: procedure, causes: causes, catches: catches,
      timeLimit: timeLimit
    ) { check in try body(check, try check.csvSubject()) }
  }
}
