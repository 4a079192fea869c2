import FoundationEssentials
import Glibc
import Synchronization

// What the mistakes do to the process.
extension Mistake {
  private static let held = Mutex<[[UInt8]]>([])

  static func leak(_ bytes: [UInt8]) { held.withLock { $0.append(bytes) } }

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
    default: break
    }
  }

  /// Keeps the processor busy for a time that grows a little faster than a number.
  static func toil(_ count: Int) {
    guard Self.is(.toilsALittleMoreForEach), count > 0 else { return }
    // n to the power of 1.5: what a search of a sorted list of pages costs.
    let wanted = Int(Double(count) * Double(count).squareRoot()) * 3
    var sum: UInt64 = 1
    for step in 0..<wanted { sum = (sum ^ UInt64(truncatingIfNeeded: step)) &* 1_099_511_628_211 }
    withExtendedLifetime(sum) {}
  }
}
