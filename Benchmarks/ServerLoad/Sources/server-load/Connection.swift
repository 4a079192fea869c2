import Foundation

/// A connection to a server on loopback that sends one request after another: a client that costs less than what it
/// measures.
struct Connection: ~Copyable {
  struct Failure: Error, CustomStringConvertible {
    var description: String
  }

  private let descriptor: Int32
  private var unread: [UInt8] = []

  init(port: Int) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port).bigEndian)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let connected = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, size) }
    }
    guard connected == 0 else { throw Failure(description: "cannot connect to port \(port): errno \(errno)") }
  }

  deinit { close(descriptor) }

  /// Sends a request, and returns the body of the answer.
  ///
  /// - Throws: `Failure` for a status other than 2xx, and if the connection ends.
  mutating func send(_ method: String, _ path: String, _ body: String = "") throws -> Data {
    let request =
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
      + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
    var rest = Array(request.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { throw Failure(description: "the connection ended: errno \(errno)") }
      rest = rest.dropFirst(count)
    }
    let end = Array("\r\n\r\n".utf8)
    var headEnd = unread.firstRange(of: end)
    while headEnd == nil {
      try receive()
      headEnd = unread.firstRange(of: end)
    }
    let bodyStart = headEnd?.upperBound ?? 0
    let head = String(decoding: unread[..<bodyStart], as: UTF8.self).split(separator: "\r\n")
    let length = head.lazy.compactMap { line -> Int? in
      guard line.lowercased().hasPrefix("content-length:") else { return nil }
      return Int(line.dropFirst(15).trimmingCharacters(in: .whitespaces))
    }.first
    while unread.count < bodyStart + (length ?? 0) { try receive() }
    let answer = Data(unread[bodyStart..<(bodyStart + (length ?? 0))])
    unread.removeFirst(bodyStart + (length ?? 0))
    let status = head.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    guard (200..<300).contains(status) else {
      throw Failure(description: "\(method) \(path): \(status) \(String(decoding: answer, as: UTF8.self))")
    }
    return answer
  }

  private mutating func receive() throws {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { throw Failure(description: "the connection ended: errno \(errno)") }
    unread += buffer[..<count]
  }
}
