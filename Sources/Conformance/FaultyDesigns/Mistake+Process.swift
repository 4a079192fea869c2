import FoundationEssentials
import Glibc
import Synchronization

// What the mistakes do to the process.
extension Mistake {
  private static let held = Mutex<[[UInt8]]>([])

  static func leak(_ bytes: [UInt8]) { held.withLock { $0.append(bytes) } }

  /// Holds so many bytes for a moment, and touches all of them.
  static func makeRoom(_ count: Int) {
    guard count > 1 << 20 else { return }
    withExtendedLifetime([UInt8](repeating: 1, count: min(count, 1 << 28))) {}
  }

  static func disturbProcess() {
    switch current {
    case .changesDirectory: _ = chdir("/")
    case .changesMask: umask(0o077)
    case .blocksSignal:
      var set = sigset_t()
      sigemptyset(&set)
      sigaddset(&set, SIGINT)
      pthread_sigmask(SIG_BLOCK, &set, nil)
    case .ignoresBrokenPipes: signal(SIGUSR1, SIG_IGN)
    case .changesLocale: setlocale(LC_ALL, "C.UTF-8")
    case .changesTimeZone:
      setenv("TZ", "UTC", 1)
      tzset()
    case .changesEnvironment: setenv("PAGED_VERSION", "1", 1)
    case .changesRounding: fesetround(FE_UPWARD)
    case .replacesStandardInput:
      let null = open("/dev/zero", O_RDONLY | O_CLOEXEC)
      dup2(null, 0)
      close(null)
    default: disturbLimits()
    }
  }

  private static func disturbLimits() {
    switch current {
    case .changesFileLimit: setLimit(RLIMIT_NOFILE.rawValue) { $0 - 1 }
    case .changesStackLimit: setLimit(RLIMIT_STACK.rawValue) { min($0, 8 << 20) / 2 }
    case .changesPriority: setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 5)
    case .makesInputNonBlocking: _ = fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK)
    case .startsTimer: alarm(3_600)
    case .handlesSignal: signal(SIGUSR2) { _ in }
    case .renamesThread:
      let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
      write(file, "store", 5)
      close(file)
    case .leavesThread: Thread.detach()
    case .leavesChildProcess:
      var child: pid_t = 0
      var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("true"), nil]
      posix_spawnp(&child, "true", nil, nil, &arguments, nil)
      free(arguments[0])
    default: break
    }
  }

  private static func setLimit(_ kind: UInt32, _ change: (rlim_t) -> rlim_t) {
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(kind), &limits)
    limits.rlim_cur = change(limits.rlim_cur)
    setrlimit(__rlimit_resource_t(kind), &limits)
  }

  /// A thread that does nothing for as long as the process lives.
  private enum Thread {
    static func detach() {
      var thread = pthread_t()
      let started = pthread_create(
        &thread, nil,
        { _ in
          sleep(3_600)
          return nil
        }, nil)
      if started == 0 { pthread_detach(thread) }
    }
  }

  /// What is done to the process by a save, or by a load that is refused.
  static func disturbSave() { if Self.is(.changesMaskInSave) { umask(0o027) } }
  static func disturbRefusal() { if Self.is(.changesDirectoryWhenRefusing) { _ = chdir("/") } }

  /// Keeps the processor busy for a time that grows with the square of a number.
  static func burnProcessorTime(_ count: Int) {
    guard Self.is(.takesLongerForEach), count > 0 else { return }
    // As long as the rest takes at some thousand objects, and ten times as long at a hundred thousand.
    #if DEBUG
      let wanted = count * count
    #else
      let wanted = count * count / 10
    #endif
    var sum: UInt64 = 1
    for step in 0..<wanted { sum = (sum ^ UInt64(truncatingIfNeeded: step)) &* 1_099_511_628_211 }
    // The compiler would leave out a loop whose result is not used.
    if sum == 0 { _ = getpid() }
  }
}
