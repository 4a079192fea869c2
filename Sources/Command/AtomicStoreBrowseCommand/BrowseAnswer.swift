import FoundationEssentials

/// What is sent back for a request.
struct BrowseAnswer {
  let status: Int
  let type: String
  let body: String

  init(_ status: Int, _ type: String, body: String) {
    self.status = status
    self.type = type
    self.body = body
  }
  /// A refusal with its reason as plain text.
  init(_ status: Int, _ reason: String) { self.init(status, "text/plain; charset=utf-8", body: reason + "\n") }

  init(_ refusal: RequestHead.Refusal) {
    switch refusal {
    case .malformed: self.init(400, "this is not a request of HTTP/1.1")
    case .hasBody: self.init(413, "a request has no body")
    case .addressTooLong: self.init(414, "the address is longer than \(RequestHead.greatestLine) bytes")
    case .headersTooLarge: self.init(431, "the headers are larger than \(RequestHead.greatestSize) bytes")
    }
  }

  private var phrase: String {
    switch status {
    case 200: "OK"
    case 400: "Bad Request"
    case 403: "Forbidden"
    case 404: "Not Found"
    case 405: "Method Not Allowed"
    case 413: "Content Too Large"
    case 414: "URI Too Long"
    default: "Request Header Fields Too Large"
    }
  }

  /// Sent with every answer: nothing may be kept, embedded in another page, or taken for another type.
  private static let headers = """
    Cache-Control: no-store\r
    X-Content-Type-Options: nosniff\r
    X-Frame-Options: DENY\r
    Referrer-Policy: no-referrer\r
    Cross-Origin-Resource-Policy: same-origin\r
    Cross-Origin-Opener-Policy: same-origin\r
    Connection: close\r

    """

  var bytes: Data {
    var text = "HTTP/1.1 \(status) \(phrase)\r\n" + Self.headers
    if status == 405 { text += "Allow: GET\r\n" }
    text += "Content-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
    return Data((text + body).utf8)
  }
}
