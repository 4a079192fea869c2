import Foundation
import Glibc
import Synchronization

/// A server on loopback between a client and a PostgreSQL server, which cuts connections at a given point.
final class CuttingProxy: Sendable {
  /// Where a connection is cut.
  enum Cut: Sendable {
    /// Before the first bytes that contain a text reach the server.
    case beforeSending(String)
    /// When the server has answered the bytes that contain a text, before the client sees the answer.
    case beforeAnswer(to: String)
    /// When that many bytes have gone to the server after those that contain a text.
    case whileSending(after: String, bytes: Int)
    /// When that many bytes of the answer to a text have reached the client.
    case whileAnswering(String, bytes: Int)
  }

  private struct State {
    var cut: Cut?
    var times = 1
    var refusesAfterCut = false
    var refuses = false
    var cuts = 0
    var clients: Set<Int32> = []
    var isStopped = false
  }
  private let state = Mutex(State())
  private let listener: Int32
  private let server: UInt16
  /// The port that the proxy listens at.
  let port: UInt16

  /// - Parameter server: The port of the server, on loopback.
  init(server: UInt16) throws {
    self.server = server
    (listener, port) = try Self.listening()
    let thread = Thread { [self] in accept() }
    thread.start()
  }

  /// A socket that listens at a free port of loopback, and the port.
  private static func listening() throws -> (descriptor: Int32, port: UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(0)
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard descriptor >= 0, bound == 0, listen(descriptor, 16) == 0 else { throw CocoaError(.fileReadUnknown) }
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    _ = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
    }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// Cuts the next connections that come to this point.
  ///
  /// - Parameters:
  ///   - times: How many connections.
  ///   - thenRefuses: Whether connections that are made afterwards are refused.
  func cut(_ cut: Cut, times: Int = 1, thenRefuses: Bool = false) {
    state.withLock { state in (state.cut, state.times, state.refusesAfterCut) = (cut, times, thenRefuses) }
  }

  /// Cuts the connections that there are, as a server does with those that no one has used for long.
  func cutAll() {
    state.withLock { state in
      for client in state.clients { shutdown(client, Int32(SHUT_RDWR)) }
      state.cuts += state.clients.count
    }
  }

  /// How many connections were cut.
  var cuts: Int { state.withLock { $0.cuts } }

  /// Lets connections through again.
  func letThrough() { state.withLock { $0.refuses = false } }

  /// Ends it: no connection is made any more.
  func stop() {
    state.withLock { $0.isStopped = true }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func accept() {
    while true {
      let client = Glibc.accept(listener, nil, nil)
      let (isStopped, refuses) = state.withLock { ($0.isStopped, $0.refuses) }
      if isStopped || client < 0 && errno != EINTR {
        if client >= 0 { close(client) }
        close(listener)
        return
      }
      guard client >= 0 else { continue }
      guard !refuses else {
        close(client)
        continue
      }
      let thread = Thread { [self] in relay(client) }
      thread.start()
    }
  }

  private func connectToServer() -> Int32 {
    let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(server)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result == 0 { return upstream }
    close(upstream)
    return -1
  }

  /// What is known of one connection: how far the cut has come.
  private struct Progress {
    var isArmed = false
    var count = 0
  }

  private func relay(_ client: Int32) {
    let upstream = connectToServer()
    state.withLock { _ = $0.clients.insert(client) }
    defer {
      state.withLock { _ = $0.clients.remove(client) }
      close(client)
      if upstream >= 0 { close(upstream) }
    }
    guard upstream >= 0 else { return }
    var progress = Progress()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
      var polls = [
        pollfd(fd: client, events: Int16(POLLIN), revents: 0), pollfd(fd: upstream, events: Int16(POLLIN), revents: 0),
      ]
      guard poll(&polls, 2, -1) > 0 else { return }
      for (index, isFromClient) in [(0, true), (1, false)] where polls[index].revents != 0 {
        let count = read(polls[index].fd, &buffer, buffer.count)
        guard count > 0 else { return }
        let bytes = buffer[..<count]
        guard !shouldCut(bytes, isFromClient, &progress) else { return }
        guard Self.send(bytes, to: isFromClient ? upstream : client) else { return }
      }
    }
  }

  /// Whether the connection is cut instead of passing the bytes on.
  private func shouldCut(_ bytes: ArraySlice<UInt8>, _ isFromClient: Bool, _ progress: inout Progress) -> Bool {
    state.withLock { state in
      guard let cut = state.cut else { return false }
      let isDue: Bool
      switch cut {
      case .beforeSending(let text): isDue = isFromClient && Self.contains(bytes, text)
      case .beforeAnswer(let text):
        isDue = !isFromClient && progress.isArmed
        if isFromClient, Self.contains(bytes, text) { progress.isArmed = true }
      case .whileSending(let text, let most):
        if isFromClient, progress.isArmed { progress.count += bytes.count }
        if isFromClient, Self.contains(bytes, text) { progress.isArmed = true }
        isDue = isFromClient && progress.count > most
      case .whileAnswering(let text, let most):
        if !isFromClient, progress.isArmed { progress.count += bytes.count }
        if isFromClient, Self.contains(bytes, text) { progress.isArmed = true }
        isDue = !isFromClient && progress.count > most
      }
      guard isDue else { return false }
      state.times -= 1
      if state.times == 0 { state.cut = nil }
      state.cuts += 1
      state.refuses = state.refusesAfterCut
      return true
    }
  }

  private static func contains(_ bytes: ArraySlice<UInt8>, _ text: String) -> Bool {
    Data(bytes).range(of: Data(text.utf8)) != nil
  }

  private static func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }
}
