import CProcesses
import Glibc
import Testing

@Suite("The processes of workers") struct WorkerProcessTests {
  @Test("a worker has nothing open that the program has, closed at exec or not")
  func descriptors() throws {
    var ends: [Int32] = [0, 0]
    // As Foundation opens the socket by which it learns that a process has ended.
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { close(ends[0]) }
    var control: [Int32] = [0, 0]
    try #require(cpr_socketpair(&control) == 0)
    defer { for end in control { close(end) } }
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60"), nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    defer { for text in arguments { free(text) } }
    let worker = cpr_spawn("/bin/sleep", &arguments, &environment, nil, [-1, -1, -1, control[1]], 4)
    try #require(worker > 0)
    defer {
      kill(worker, SIGKILL)
      var code: Int32 = 0
      _ = cpr_wait(worker, 10_000, &code)
    }
    close(ends[1])
    // The other end is closed everywhere, though the worker lives.
    var other = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
    #expect(poll(&other, 1, 20_000) == 1 && Int32(other.revents) & POLLHUP != 0)
    #expect(kill(worker, 0) == 0)
  }
}
