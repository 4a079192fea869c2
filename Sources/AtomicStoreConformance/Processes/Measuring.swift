import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What a process has of the machine's memory.
enum Memory {
  static func status(_ key: String) -> Int {
    let text = String(decoding: Files.read("/proc/self/status") ?? [], as: UTF8.self)
    for line in text.split(separator: "\n") where line.hasPrefix(key + ":") {
      return (Int(line.dropFirst(key.count + 1).filter(\.isNumber)) ?? 0) << 10
    }
    return 0
  }

  /// How much more than before was in use at a time while this ran.
  static func growth(_ body: () throws -> Void) throws -> Int {
    guard Files.write(Array("5".utf8), to: "/proc/self/clear_refs") else {
      throw Skipped(reason: "this system does not tell how much memory is used")
    }
    let before = status("VmRSS")
    try body()
    return max(0, status("VmHWM") - before)
  }

  static var inUse: Int {
    csf_trim()
    return status("VmRSS")
  }
}

/// The processor's time that this process used.
enum Stopwatch {
  static func seconds(_ body: () throws -> Void) rethrows -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
    }
    let start = now()
    try body()
    return now() - start
  }
}
