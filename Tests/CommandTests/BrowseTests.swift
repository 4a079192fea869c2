import Foundation
import Glibc
import StoreReports
import TestSupport
import Testing

/// `atomicstore browse` while it serves, and requests as raw text: a test decides on every header.
private final class BrowsedStore {
  private let process = Process()
  let port: UInt16
  /// `/TOKEN/`.
  let path: String

  init(_ store: String...) throws {
    let program = try #require(Command.path, "the command was not built")
    let output = Pipe()
    process.executableURL = URL(filePath: program)
    process.arguments = ["browse"] + store + ["--json"]
    process.environment = TestEnvironment.variables()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var text = Data()
    while !text.contains(UInt8(ascii: "\n")) {
      let more = output.fileHandleForReading.availableData
      guard !more.isEmpty else { break }
      text += more
    }
    let answer = try JSONSerialization.jsonObject(with: text) as? [String: String]
    let address = try #require(answer?["url"].flatMap { URL(string: $0) })
    #expect(address.host == "127.0.0.1")
    port = UInt16(try #require(address.port))
    path = address.path + "/"
  }

  deinit { end() }

  @discardableResult func end() -> Int32 {
    if process.isRunning { kill(process.processIdentifier, SIGTERM) }
    process.waitUntilExit()
    return process.terminationStatus
  }

  struct Answer {
    var status = 0
    var head = ""
    var body = Data()
    var text: String { String(decoding: body, as: UTF8.self) }
    var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }
    var problem: String? { json["problem"] as? String }
  }

  /// - Parameter host: The header `Host`; by default the server's own.
  func ask(_ target: String, method: String = "GET", host: String? = nil, _ headers: String...) throws -> Answer {
    let lines =
      ["\(method) \(target) HTTP/1.1", "Host: \(host ?? "127.0.0.1:\(port)")"] + headers + ["Connection: close"]
    return try send(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
  }

  /// A connection, on which bytes were sent.
  func connection(sending request: [UInt8]) throws -> Int32 {
    let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #expect(connection >= 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let isConnected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(connection, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
    #expect(isConnected)
    #expect(Glibc.send(connection, request, request.count, Int32(MSG_NOSIGNAL)) == request.count)
    return connection
  }

  /// The answer to bytes of any kind.
  func send(_ request: [UInt8]) throws -> Answer {
    let connection = try connection(sending: request)
    defer { close(connection) }
    var data = Data()
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let count = recv(connection, &buffer, buffer.count, 0)
      guard count > 0 else { break }
      data += buffer[..<count]
    }
    var answer = Answer()
    guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { return answer }
    answer.head = String(decoding: data[..<end.lowerBound], as: UTF8.self)
    answer.status = Int(answer.head.split(separator: " ").dropFirst().first ?? "") ?? 0
    answer.body = Data(data[end.upperBound...])
    return answer
  }

  /// Asks for what is under the token, with a query that is encoded here.
  func ask(_ name: String, _ values: KeyValuePairs<String, String>) throws -> Answer {
    let letters = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\u{20}"..."~"))
    let query = values.map { "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: letters) ?? "")" }
    return try ask("\(path)\(name)?\(query.joined(separator: "&"))")
  }
}

@Suite("atomicstore browse") struct BrowseTests {
  private func references(_ answer: BrowsedStore.Answer) -> [String] {
    (answer.json["rows"] as? [[String: Any]] ?? []).compactMap { $0["reference"] as? String }
  }

  @Test("a page about the whole store, and its objects on request")
  func objects() throws {
    let browsed = try BrowsedStore(Command.company)
    let page = try browsed.ask(browsed.path)
    #expect(page.status == 200 && page.text.hasPrefix("<!DOCTYPE html>") && page.text.contains("<h1>Company.xml</h1>"))
    // The page may ask its server, and nothing else.
    #expect(page.text.contains("default-src 'none'") && page.text.contains("connect-src 'self'"))
    #expect(page.text.contains("<svg") && page.text.contains("data-entity=\"1\""))
    let all = try browsed.ask("rows", ["entity": "1"])
    #expect(all.status == 200 && all.json["total"] as? Int == 4 && references(all) == ["3", "4", "5", "6"])
    let one = try browsed.ask("object", ["number": "3"])
    let object = try #require(one.json["object"] as? [String: Any], "\(one.text)")
    #expect(object["reference"] as? String == "Employee/4" && object["label"] as? String == "李小龍")
    let hits = try browsed.ask("search", ["text": "APOLL"])
    let found = hits.json["hits"] as? [[String: Any]] ?? []
    #expect(!found.isEmpty)
    for hit in found { #expect((hit["value"] as? String)?.lowercased().contains("apoll") == true) }
    let named = try browsed.ask("search", ["text": "Employee/4"])
    #expect((named.json["hits"] as? [[String: Any]])?.count == 1)
    #expect(browsed.end() == 128 + SIGTERM)
  }

  @Test(
    "predicates, sort keys and offsets are those of fetch",
    arguments: [
      ("salary > 5000", "salary", "1"), ("name CONTAINS[cd] 'e' AND department.name != nil", "badge", "0"),
      ("ANY projects.title == 'Orbit'", "name", "1"), ("height + 0 == height", "rating", "0"),
    ])
  func fetches(predicate: String, sort: String, descends: String) throws {
    let browsed = try BrowsedStore(Command.company)
    let answer = try browsed.ask(
      "rows", ["entity": "1", "where": predicate, "sort": sort, "descending": descends])
    let expected = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--no-subentities", "--where", predicate, "--sort",
      (descends == "1" ? "-" : "") + sort, "--columns", "objectID", "--format", "csv")
    #expect(expected.code == answer.problem.map { _ in 64 } ?? 0, "\(expected.errors) \(answer.text)")
    let names = expected.output.split(whereSeparator: \.isNewline).dropFirst().map {
      String($0.split(separator: "/")[1])
    }
    #expect(references(answer) == names)
    let rest = try browsed.ask(
      "rows", ["entity": "1", "where": predicate, "sort": sort, "descending": descends, "offset": "1"])
    #expect(references(rest) == Array(names.dropFirst()))
  }

  @Test(
    "a question that is wrong is answered with what is wrong",
    arguments: [
      ("rows", "entity=1&where=salry+%3E+1", "salry"), ("rows", "entity=99", "99"), ("rows", "entity=-1", "entity"),
      ("rows", "", "entity"), ("facet", "entity=1&column=99", "99"), ("facet", "entity=1", "column"),
      ("facet", "entity=1&column=0&where=salry+%3E+1", "salry"), ("rows", "entity=1&limit=-1", "limit"),
      ("rows", "entity=1&sort=nothing", "nothing"), ("rows", "entity=1&where=%FF", "UTF-8"),
      ("rows", "entity=1&entity=2", "twice"), ("object", "number=12", "12"), ("object", "number=x", "number"),
      ("groups", "entity=1", "by"), ("groups", "entity=1&by=99", "99"), ("groups", "entity=1&by=0&unit=eon", "eon"),
      ("groups", "entity=1&by=0&measure=sum", "of"), ("groups", "entity=1&by=0&measure=system&of=1", "system"),
      ("groups", "entity=1&by=0&measure=sum&of=99", "99"), ("groups", "entity=1&by=0&where=salry+%3E+1", "salry"),
      ("object", "number=9223372036854775808", "number"), ("search", "", "text"), ("set", "entity=1", "set"),
    ])
  func problems(name: String, query: String, part: String) throws {
    let browsed = try BrowsedStore(Command.company)
    let answer = try browsed.ask("\(browsed.path)\(name)?\(query)")
    #expect(answer.status == 400 && answer.problem?.contains(part) == true, "\(answer.text)")
    // It goes on serving.
    #expect(try browsed.ask(browsed.path).status == 200)
  }

  @Test(
    "groups are those of fetch --group",
    arguments: [
      ("department", "", "", "", "TRUEPREDICATE"), ("active", "", "sum", "salary", "badge > 1"),
      ("department", "", "average", "badge", "TRUEPREDICATE"), ("hired", "month", "", "", "TRUEPREDICATE"),
      ("hired", "year", "sum", "badge", "hired != nil"),
    ])
  func groups(by: String, unit: String, measure: String, of: String, predicate: String) throws {
    let browsed = try BrowsedStore(Command.company)
    let page = try browsed.ask(browsed.path).text
    let data = try #require(page.range(of: "id=\"data\">")).upperBound
    let json = String(page[data...].prefix(while: { $0 != "<" }))
    let entities = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: [[String: Any]]]
    let columns = try #require(entities?["entities"]?[1]["columns"] as? [[String: Any]])
    func index(_ name: String) -> String { "\(columns.firstIndex { $0["name"] as? String == name } ?? -1)" }
    let query =
      "entity=1&by=\(index(by))&unit=\(unit)"
      + (of.isEmpty ? "" : "&measure=\(measure)&of=\(index(of))")
      + "&where=" + predicate.replacingOccurrences(of: " ", with: "+").replacingOccurrences(of: "=", with: "%3D")
    let answer = try browsed.ask("\(browsed.path)groups?\(query)")
    let groups = try #require(answer.json["groups"] as? [[String: Any]], "\(answer.text)")
    let key = unit.isEmpty ? by : "startOf:(\(by), \"\(unit)\")"
    let expected = try Command.run(
      "fetch", Command.company, "--entity", "Employee", "--no-subentities", "--where", predicate, "--group", key,
      "--columns", "\(key) AS group,\(of.isEmpty ? "@count" : "\(measure):(\(of))") AS value", "--sort",
      unit.isEmpty ? "-value" : "group", "--format", "csv")
    let rows = expected.output.split(separator: "\n").dropFirst().map {
      $0.split(separator: ",", omittingEmptySubsequences: false)
    }
    #expect(!groups.isEmpty && groups.count == rows.count && answer.json["total"] as? Int == rows.count)
    for (group, row) in zip(groups, rows) {
      let name = group["reference"] as? String ?? group["text"] as? String ?? ""
      #expect(name == String(row[0]) && Double(group["value"] as? String ?? "") == Double(row[1]), "\(group) \(row)")
    }
  }

  @Test("--diff serves the page of report about two stores with all rows, and answers no questions")
  func difference() throws {
    let folder = try Folder()
    let changed = folder("new.xml")
    let edit = try Command.run(
      "set", Command.company, "--entity", "Employee", "--where", "salary > 0", "salary=salary+1", "-o", changed)
    #expect(edit.code == 0, "\(edit.errors)")
    let browsed = try BrowsedStore("--diff", Command.company, changed)
    let page = try browsed.ask(browsed.path)
    let report = try Command.run("report", Command.company, changed).output
    #expect(page.status == 200 && page.text == report)
    #expect(try browsed.ask("rows", ["entity": "0"]).status == 404)
    for (arguments, message) in [
      (["--diff", Command.company], "--diff needs two stores"),
      ([Command.company, changed], "add --diff to compare two stores"),
      (["--diff", Command.company, changed, "--max-findings", "5"], "--max-findings cannot be used with --diff"),
    ] {
      let refused = try Command.run(arguments: ["browse"] + arguments)
      #expect(refused.code == 64 && refused.errors == "atomicstore: \(message)\n", "\(refused.errors)")
    }
    #expect(try Command.run("browse", "--diff", Command.company, folder("missing.xml")).code == 66)
  }

  @Test("only who knows the token, names this machine and is not a page of another origin is answered")
  func unrelated() throws {
    let browsed = try BrowsedStore(Command.company)
    let port = browsed.port
    #expect(try browsed.ask("/").status == 404)
    #expect(try browsed.ask("/rows?entity=1").status == 404)
    #expect(try browsed.ask("/" + String(repeating: "0", count: 32) + "/").status == 404)
    #expect(try browsed.ask(browsed.path + "../").status == 404)
    #expect(try browsed.ask(browsed.path, host: "attacker.example:\(port)").status == 403)
    #expect(try browsed.ask(browsed.path, host: "127.0.0.1.attacker.example:\(port)").status == 403)
    #expect(try browsed.ask(browsed.path, host: "127.0.0.1:\(port ^ 1)").status == 403)
    #expect(try browsed.ask(browsed.path, "Origin: http://attacker.example").status == 403)
    #expect(try browsed.ask(browsed.path, "Sec-Fetch-Site: cross-site").status == 403)
    #expect(try browsed.ask(browsed.path, "Sec-Fetch-Site: same-site").status == 403)
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
      #expect(try browsed.ask(browsed.path, method: method).status == 405, "\(method)")
    }
    let own = try browsed.ask(
      browsed.path, host: "localhost:\(port)", "Origin: http://localhost:\(port)", "Sec-Fetch-Site: same-origin")
    #expect(own.status == 200)
    for header in ["Cache-Control: no-store", "X-Content-Type-Options: nosniff", "X-Frame-Options: DENY"] {
      #expect(own.head.contains(header), "\(own.head)")
    }
    #expect(!own.head.contains("Access-Control-Allow"))
  }

  @Test(
    "a request is bounded before it is read: long addresses and headers, bodies, and what is not HTTP are refused",
    arguments: [
      ("GET /\(String(repeating: "a", count: 8 * 1024)) HTTP/1.1\r\n\r\n", 414),
      ("GET /\(String(repeating: "a", count: 1 << 20))", 414),
      ("GET / HTTP/1.1\r\nX: \(String(repeating: "a", count: 1 << 20))", 431),
      ("GET / HTTP/1.1\r\n" + String(repeating: "X: 1\r\n", count: 100_000) + "\r\n", 431),
      ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
      ("GET http://127.0.0.1/ HTTP/1.1\r\n\r\n", 400), ("GET  / HTTP/1.1\r\n\r\n", 400), ("\r\n\r\n", 400),
      ("GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
      ("GET / HTTP/1.1\r\nContent-Length: 9\r\n\r\n", 413), ("GET / HTTP/1.1\nHost: x\n\n", 403),
    ])
  func bounded(request: String, status: Int) throws {
    let browsed = try BrowsedStore(Command.company)
    #expect(try browsed.send(Array(request.utf8)).status == status)
    #expect(try browsed.ask(browsed.path).status == 200)
  }

  @Test("requests that stop half-way do not keep other clients waiting")
  func unfinished() throws {
    let browsed = try BrowsedStore(Command.company)
    var connections: [Int32] = []
    defer { for connection in connections { close(connection) } }
    for _ in 0..<100 { connections.append(try browsed.connection(sending: Array("GET /\(browsed.path)".utf8))) }
    #expect(try browsed.ask(browsed.path).status == 200)
  }

  @Test("a port that is in use is an error that names address and port", arguments: [false, true])
  func portInUse(json: Bool) throws {
    let browsed = try BrowsedStore(Command.company)
    let again = try Command.run(
      arguments: ["browse", Command.company, "--port", "\(browsed.port)"] + (json ? ["--json"] : []))
    #expect(again.code == 71)
    let text =
      "127.0.0.1:\(browsed.port) cannot be served: another program uses the port; --port 0 takes one that is free"
    if json {
      #expect(try again.error()["message"] as? String == text, "\(again.errors)")
    } else {
      #expect(again.output.isEmpty && again.errors == "atomicstore: \(text)\n", "\(again.errors)")
    }
  }

  @Test("hostile names and values are data, and the source is not changed")
  func hostile() throws {
    let folder = try Folder()
    let store = folder("hostile.csvstore")
    let before = try Command.run("convert", Command.company, store, "--to", "CSV")
    #expect(before.code == 0)
    let changed = try Command.run(
      "set", store, "--entity", "Department", "--where", "name == 'Entwicklung'",
      "name:=</script><img src=x onerror=alert(1)>")
    #expect(changed.code == 0, "\(changed.errors)")
    let digest = try Command.shell("find \"$1\" -type f | sort | xargs cksum", store).output
    let browsed = try BrowsedStore(store)
    #expect(!(try browsed.ask(browsed.path).text.contains("<img src=x")))
    let rows = try browsed.ask("rows", ["entity": "0"])
    #expect(rows.head.contains("application/json") && rows.head.contains("nosniff"))
    #expect(rows.text.contains("</script><img src=x onerror=alert(1)>"))
    browsed.end()
    #expect(try Command.shell("find \"$1\" -type f | sort | xargs cksum", store).output == digest)
  }
}
