import CStoreFiles
import Glibc
import Synchronization

/// Work that is done on several threads at once: loading the parts of a large file, comparing the columns of two
/// graphs.
///
/// No thread outlives the call that started it, and results do not depend on the number of threads. Small inputs are
/// processed on the calling thread.
public enum ParallelWork {
  /// The maximum number of threads of one call, the calling thread included, from 1 to 256. By default the value of the
  /// environment variable `ATOMICSTORE_JOBS`, or else the number of processors that the process may use. It applies to
  /// the whole process; set it before opening stores.
  public static var jobs: Int {
    get {
      let chosen = setting.load(ordering: .relaxed)
      return chosen > 0 ? chosen : standard
    }
    set { setting.store(min(max(newValue, 1), greatest), ordering: .relaxed) }
  }

  /// 0 until it is set.
  private static let setting = Atomic<Int>(0)
  private static let greatest = 256
  private static let standard = environmentJobs() ?? min(max(Int(asf_processor_count()), 1), greatest)

  private static func environmentJobs() -> Int? {
    guard let text = getenv("ATOMICSTORE_JOBS"), let number = Int(String(cString: text)), number > 0 else { return nil }
    return min(number, greatest)
  }

  /// How many parts of an input of that many bytes are worth processing at the same time: 1 for small inputs.
  public static func partCount(forInput bytes: Int) -> Int { max(1, min(jobs, bytes / leastPart)) }

  /// The number of bytes of input for which a further thread is worth starting.
  package static let leastPart = 4 << 20

  /// Calls `body` once for each number from 0 to `count - 1`, on at most `jobs` threads, and returns when all calls
  /// have returned. Numbers are started in ascending order. The calling thread takes part; if the system does not
  /// provide a thread, the others do its work.
  ///
  /// - Parameters:
  ///   - count: The number of calls.
  ///   - jobs: The maximum number of threads, the calling thread included.
  ///   - body: May be called by several threads at the same time.
  public static func forEach(_ count: Int, jobs: Int = jobs, _ body: @escaping @Sendable (Int) -> Void) {
    guard jobs > 1, count > 1 else {
      for number in 0..<max(count, 0) { body(number) }
      return
    }
    let work = Work(count: count, body: body)
    let threads = threads(min(jobs, count) - 1) { work.run() }
    work.run()
    for thread in threads { pthread_join(thread, nil) }
  }

  /// Starts threads, which must be joined; fewer if the system does not provide as many.
  static func threads(_ count: Int, _ body: @escaping @Sendable () -> Void) -> [pthread_t] {
    var threads: [pthread_t] = []
    withBlockedSignals {
      while threads.count < count, let thread = SystemThread.start(body) { threads.append(thread) }
    }
    return threads
  }

  /// As ``forEach(_:jobs:_:)``, and returns whether `body` returned true for all numbers. After a false, greater
  /// numbers that were not started yet are skipped; all smaller ones are processed, so the least number with a false is
  /// the same for any number of threads.
  public static func allSatisfy(_ count: Int, jobs: Int = jobs, _ body: @escaping @Sendable (Int) -> Bool) -> Bool {
    let failed = Least()
    forEach(count, jobs: jobs) { number in
      if number < failed.number, !body(number) { failed.note(number) }
    }
    return failed.number == .max
  }

  /// The least of the numbers that were noted.
  private final class Least: Sendable {
    private let value = Atomic<Int>(.max)
    var number: Int { value.load(ordering: .acquiring) }
    func note(_ number: Int) { value.min(number, ordering: .acquiringAndReleasing) }
  }

  /// The calls that remain to be made.
  private final class Work: Sendable {
    private let next = Atomic<Int>(0)
    private let count: Int
    private let body: @Sendable (Int) -> Void

    init(count: Int, body: @escaping @Sendable (Int) -> Void) {
      self.count = count
      self.body = body
    }

    func run() {
      while true {
        let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
        guard number < count else { return }
        body(number)
      }
    }
  }

  /// Threads inherit the signal mask: the program's handlers run on the program's own threads.
  private static func withBlockedSignals(_ body: () -> Void) {
    var all = sigset_t()
    var before = sigset_t()
    sigfillset(&all)
    guard pthread_sigmask(SIG_SETMASK, &all, &before) == 0 else { return body() }
    body()
    pthread_sigmask(SIG_SETMASK, &before, nil)
  }
}
