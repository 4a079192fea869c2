import FlyingSocks
import FoundationEssentials
import Glibc
import StoreBrowsing
import StoreJSON

/// Serves a page on this machine. A request must have the token in its path, and must not come from a page of
/// another origin: any page in a browser can send requests to this machine.
struct BrowseServer: Sendable {
  private let page: String
  /// Answers the page's questions; nil for a page that asks none.
  private let browser: StoreBrowser?
  /// 128 random bits, as hexadecimal digits.
  let token: String

  init(_ browser: StoreBrowser) { self.init(page: browser.page, browser: browser) }

  init(page: String, browser: StoreBrowser? = nil) {
    self.page = page
    self.browser = browser
    var random = SystemRandomNumberGenerator()
    token = (0..<2).map { _ in
      let digits = String(random.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// Seconds that a client may take to send a request, the store to answer it, and the client to receive the answer.
  private static let patience = Duration.seconds(60)

  /// Serves until the task is cancelled.
  ///
  /// - Parameters:
  ///   - port: The port on 127.0.0.1; 0 for one that is free.
  ///   - ready: Called with the address of the page when it can be asked for.
  func run(port: UInt16, ready: @escaping @Sendable (String) throws -> Void) async throws {
    let pool = SocketPool.make()
    try await pool.prepare()
    let socket = try Socket(domain: AF_INET)
    try socket.setValue(true, for: .localAddressReuse)
    try socket.bind(to: .inet(ip4: "127.0.0.1", port: port))
    try socket.listen()
    guard case .ip4(_, port: let actual) = try socket.sockname() else { return }
    let listener = try AsyncSocket(socket: socket, pool: pool)
    try await withThrowingDiscardingTaskGroup { group in
      group.addTask { try await pool.run() }
      try ready("http://127.0.0.1:\(actual)/\(token)/")
      while !Task.isCancelled {
        do {
          let connection = try await listener.accept()
          group.addTask { await serve(connection, port: actual) }
        } catch {
          // As with too many connections at once: it continues when some have ended.
          try await Task.sleep(for: .milliseconds(200))
        }
      }
    }
  }

  /// Answers one request; each has its own connection, since a page asks a few questions in a minute.
  private func serve(_ connection: AsyncSocket, port: UInt16) async {
    defer { try? connection.close() }
    do {
      var refused = false
      let answer: BrowseAnswer
      do {
        let head = try await Self.within(Self.patience) { try await Self.head(connection) }
        guard let head else { return }
        answer = try await Self.within(Self.patience) { await self.answer(head, port: port) }
      } catch let refusal as RequestHead.Refusal {
        answer = BrowseAnswer(refusal)
        refused = true
      }
      try await Self.within(Self.patience) { try await connection.write(answer.bytes) }
      if refused { try await Self.within(.seconds(5)) { try await Self.drain(connection) } }
    } catch {
      // The client is gone, or too slow.
    }
  }

  /// Receives a request up to the end of its head; nil if the client closes the connection before.
  private static func head(_ connection: AsyncSocket) async throws -> RequestHead? {
    var buffer = RequestBuffer()
    while true {
      if let head = try buffer.append(try await connection.read(atMost: 4096)) { return head }
    }
  }

  /// Discards what the client is still sending, up to 8 MB: if the connection were closed at once, the client would see
  /// an error instead of the refusal.
  private static func drain(_ connection: AsyncSocket) async throws {
    shutdown(connection.socket.file.rawValue, Int32(SHUT_WR))
    for _ in 0..<2048 { _ = try await connection.read(atMost: 4096) }
  }

  /// Runs an operation that is cancelled when the time is over.
  private static func within<Result: Sendable>(
    _ time: Duration, _ operation: @escaping @Sendable () async throws -> Result
  ) async throws -> Result {
    try await withThrowingTaskGroup { group in
      group.addTask { try await operation() }
      group.addTask {
        try await Task.sleep(for: time)
        throw CancellationError()
      }
      defer { group.cancelAll() }
      guard let result = try await group.next() else { throw CancellationError() }
      return result
    }
  }

  /// The answer to a request, whose head alone is known.
  ///
  /// - Parameter port: The server's own.
  func answer(_ request: RequestHead, port: UInt16) async -> BrowseAnswer {
    guard request.method == "GET" else { return BrowseAnswer(405, "only GET is answered") }
    guard Self.isFromHere(request, port: port) else {
      return BrowseAnswer(403, "the request comes from another origin")
    }
    let parts = request.path.split(separator: "/", omittingEmptySubsequences: false)
    let nothing = BrowseAnswer(404, "there is nothing at this address; atomicstore browse prints the right one")
    guard parts.count == 3, parts[0].isEmpty, Self.isEqual(String(parts[1]), token) else { return nothing }
    guard !parts[2].isEmpty else { return BrowseAnswer(200, "text/html; charset=utf-8", body: page) }
    guard let browser else { return nothing }
    do throws(BrowserQuestion.Problem) {
      let values = try BrowserQuestion.values(inQuery: request.query)
      let question = try BrowserQuestion(String(parts[2]), values)
      return BrowseAnswer(200, "application/json", body: try await browser.answer(question).line)
    } catch {
      // What is wrong with a question is shown on the page.
      return BrowseAnswer(400, "application/json", body: JSONValue.object([("problem", .string(error.text))]).line)
    }
  }

  /// Whether a request names this server as browsers do that were led here by its own page or by its user: a name that
  /// another site gave this machine (DNS rebinding), and pages of other origins, do not pass.
  static func isFromHere(_ request: RequestHead, port: UInt16) -> Bool {
    let host = request.headers["host"]
    guard host == "127.0.0.1:\(port)" || host == "localhost:\(port)" else { return false }
    if let origin = request.headers["origin"], origin != "http://\(host ?? "")" { return false }
    switch request.headers["sec-fetch-site"] {
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
}
