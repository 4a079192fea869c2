import Glibc

/// Limits of tests are of processor time: how long they take on the clock depends on what else the machine does.
public enum ProcessorTime {
  /// The seconds of processor time that the calling thread spends in a closure.
  public static func seconds(_ body: () throws -> Void) rethrows -> Double {
    let start = now()
    try body()
    return now() - start
  }

  /// The seconds of processor time that the calling thread has used.
  public static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
  }
}
