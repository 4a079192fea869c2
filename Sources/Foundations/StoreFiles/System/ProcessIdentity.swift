import Glibc

/// Identifies a process of a running system: stored in a file's name, so that others know whether its creator still
/// runs.
struct ProcessIdentity: Hashable {
  /// The first digits of the system's boot identifier: the same in all containers of one running kernel.
  var boot: String
  /// The namespace of the process number.
  var namespace: String
  var number: pid_t
  /// When the process started, in clock ticks since boot, because process numbers are reused. Nil if unknown.
  var start: UInt64?

  static var current: ProcessIdentity {
    ProcessIdentity(boot: ownBoot, namespace: ownNamespace, number: getpid(), start: start(of: getpid()))
  }

  /// `BOOT-NAMESPACE-NUMBER-START`.
  var text: String { "\(boot)-\(namespace)-\(number)-\(start.map { String($0, radix: 36) } ?? "_")" }

  init(boot: String, namespace: String, number: pid_t, start: UInt64?) {
    self.boot = boot
    self.namespace = namespace
    self.number = number
    self.start = start
  }

  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 4, let number = pid_t(parts[2]), number > 0 else { return nil }
    self.init(boot: String(parts[0]), namespace: String(parts[1]), number: number, start: UInt64(parts[3], radix: 36))
  }

  enum State { case running, gone, unknown }

  /// What is known about the process. Processes of another host, or of another boot of this one, are unknown: on a
  /// network file system the two cannot be distinguished.
  var state: State {
    guard boot == Self.ownBoot, boot != Self.unknown, namespace == Self.ownNamespace, namespace != Self.unknown else {
      return .unknown
    }
    guard kill(number, 0) == 0 || errno == EPERM else { return .gone }
    guard let start, let now = Self.start(of: number) else { return .running }
    return start == now ? .running : .gone
  }

  var isOnThisHost: Bool { boot == Self.ownBoot && boot != Self.unknown }

  private static let unknown = "x"
  private static let ownBoot: String = {
    let text = read("/proc/sys/kernel/random/boot_id").filter { $0 != "-" && !$0.isWhitespace }
    return text.isEmpty ? unknown : String(text.prefix(12))
  }()
  private static let ownNamespace: String = {
    var buffer = [UInt8](repeating: 0, count: 64)
    let length = buffer.withUnsafeMutableBytes { raw in
      raw.baseAddress.map { readlink("/proc/self/ns/pid", $0.assumingMemoryBound(to: CChar.self), raw.count) } ?? -1
    }
    let digits = buffer.prefix(max(length, 0)).filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    return UInt64(String(decoding: digits, as: UTF8.self)).map { String($0, radix: 36) } ?? unknown
  }()

  private static func start(of process: pid_t) -> UInt64? {
    // The program's name, in parentheses, may contain anything: count fields after it.
    let text = read("/proc/\(process)/stat")
    guard let end = text.lastIndex(of: ")") else { return nil }
    let fields = text[text.index(after: end)...].split(separator: " ")
    return fields.count > 19 ? UInt64(fields[19]) : nil
  }

  private static func read(_ path: String) -> String {
    let descriptor = Retried.open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var buffer = [UInt8](repeating: 0, count: 1024)
    let length = buffer.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress, $0.count) }
    return String(decoding: buffer.prefix(max(length, 0)), as: UTF8.self)
  }
}
