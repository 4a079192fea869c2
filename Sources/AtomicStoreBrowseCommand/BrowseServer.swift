import FlyingFox
import FlyingSocks
import FoundationEssentials
import StoreBrowsing
import StoreJSON

/// Serves one store on this machine. Whoever asks must know the token in the path, and must not be a page of another
/// origin: any page in a browser can send requests to this machine.
struct BrowseServer: Sendable {
  let browser: StoreBrowser
  /// 128 random bits, as hexadecimal digits.
  let token: String

  init(_ browser: StoreBrowser) {
    self.browser = browser
    var random = SystemRandomNumberGenerator()
    token = (0..<2).map { _ in
      let digits = String(random.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Serves until the task is cancelled.
  ///
  /// - Parameters:
  ///   - port: The port on 127.0.0.1; 0 for one that is free.
  ///   - ready: Called with the address of the page when it can be asked for.
  func run(port: UInt16, ready: @escaping @Sendable (String) throws -> Void) async throws {
    var known: UInt16?
    while true {
      do {
        try await serve(known ?? port) { actual in
          guard known == nil else { return }
          try ready("http://127.0.0.1:\(actual)/\(token)/")
          known = actual
        }
      } catch {
        // Later on, the server ends where it cannot accept a connection, as with too many at once: it begins again.
        guard known != nil, !Task.isCancelled else { throw error }
      }
      try await Task.sleep(for: .milliseconds(200))
    }
  }

  /// Serves until a connection cannot be accepted.
  private func serve(_ port: UInt16, _ isListening: (UInt16) throws -> Void) async throws {
    let server = HTTPServer(
      address: try .inet(ip4: "127.0.0.1", port: port), timeout: 60, logger: .disabled,
      handler: Handler(server: self))
    try await withThrowingTaskGroup(of: UInt16?.self) { group in
      group.addTask {
        try await server.run()
        return nil
      }
      group.addTask {
        try await server.waitUntilListening()
        guard case .ip4(_, port: let actual)? = await server.listeningAddress else { return nil }
        return actual
      }
      for try await actual in group {
        if let actual { try isListening(actual) }
      }
    }
  }

  private struct Handler: HTTPHandler {
    let server: BrowseServer
    func handleRequest(_ request: HTTPRequest) async throws -> HTTPResponse { await server.answer(request) }
  }

  /// What is sent with every answer: nothing may be kept, embedded in another page, or taken for something else.
  private static let headers: HTTPHeaders = [
    HTTPHeader("Cache-Control"): "no-store", HTTPHeader("X-Content-Type-Options"): "nosniff",
    HTTPHeader("X-Frame-Options"): "DENY", HTTPHeader("Referrer-Policy"): "no-referrer",
    HTTPHeader("Cross-Origin-Resource-Policy"): "same-origin", HTTPHeader("Cross-Origin-Opener-Policy"): "same-origin",
  ]

  func answer(_ request: HTTPRequest) async -> HTTPResponse {
    guard request.method == .GET else { return Self.refusal(.methodNotAllowed, "only GET is answered") }
    guard Self.isFromHere(request) else { return Self.refusal(.forbidden, "the request comes from another origin") }
    let parts = request.target.path().split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].isEmpty, Self.isEqual(String(parts[1]), token) else {
      return Self.refusal(.notFound, "there is nothing at this address; atomicstore browse prints the right one")
    }
    guard !parts[2].isEmpty else {
      return Self.response(.ok, "text/html; charset=utf-8", browser.page)
    }
    do throws(BrowserQuestion.Problem) {
      let values = try BrowserQuestion.values(inQuery: request.target.query())
      let question = try BrowserQuestion(String(parts[2]), values)
      return Self.response(.ok, "application/json", try await browser.answer(question).line)
    } catch {
      return Self.problem(error.text)
    }
  }

  /// Whether a request names this server as browsers do that were led here by its own page or by its user: a name that
  /// another site gave this machine (DNS rebinding), and pages of other origins, do not pass.
  static func isFromHere(_ request: HTTPRequest) -> Bool {
    guard let host = request.headers[HTTPHeader("Host")] else { return false }
    let parts = host.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "127.0.0.1" || parts[0] == "localhost", UInt16(parts[1]) != nil else {
      return false
    }
    if let origin = request.headers[HTTPHeader("Origin")], origin != "http://\(host)" { return false }
    switch request.headers[HTTPHeader("Sec-Fetch-Site")] {
    case nil, "same-origin", "none": return true
    default: return false
    }
  }

  /// Compares in a time that does not depend on where the texts differ.
  private static func isEqual(_ one: String, _ other: String) -> Bool {
    let (a, b) = (Array(one.utf8), Array(other.utf8))
    guard a.count == b.count else { return false }
    return zip(a, b).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }

  private static func response(_ status: HTTPStatusCode, _ type: String, _ text: String) -> HTTPResponse {
    var headers = headers
    headers[HTTPHeader("Content-Type")] = type
    return HTTPResponse(statusCode: status, headers: headers, body: Data(text.utf8))
  }

  private static func refusal(_ status: HTTPStatusCode, _ text: String) -> HTTPResponse {
    response(status, "text/plain; charset=utf-8", text + "\n")
  }

  /// What is wrong with a question is for the reader of the page.
  private static func problem(_ text: String) -> HTTPResponse {
    response(.badRequest, "application/json", JSONValue.object([("problem", .string(text))]).line)
  }
}
