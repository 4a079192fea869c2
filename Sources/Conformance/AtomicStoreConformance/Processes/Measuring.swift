import AtomicStoreKit
import AtomicStoreSPI
import CConformance
import FoundationEssentials
import Glibc

/// What a process has of the machine's memory.
enum Memory {
  static func status(_ key: String, of process: String = "self") -> Int {
    let text = String(decoding: Files.read("/proc/\(process)/status") ?? [], as: UTF8.self)
    for line in text.split(separator: "\n") where line.hasPrefix(key + ":") {
      return (Int(line.dropFirst(key.count + 1).filter(\.isNumber)) ?? 0) << 10
    }
    return 0
  }

  /// What an interpreter needs before it has read anything.
  private static let interpreter = 64 << 20

  /// The processes that this one has started and that run: of a format that is a program.
  private static var children: [String] {
    Files.names(in: "/proc/self/task").flatMap { thread in
      String(decoding: Files.read("/proc/self/task/\(thread)/children") ?? [], as: UTF8.self)
        .split(separator: " ").map(String.init)
    }
  }

  /// The most that a process had that this one has started, and that has ended.
  private static var endedChildren: Int {
    var usage = rusage()
    getrusage(RUSAGE_CHILDREN.rawValue, &usage)
    return usage.ru_maxrss << 10
  }

  /// How much more than before was in use at a time while this ran, here or in a program.
  static func growth(_ body: () throws -> Void) throws -> Int {
    guard Files.write(Array("5".utf8), to: "/proc/self/clear_refs") else {
      throw Skipped(reason: "this system does not tell how much memory is used")
    }
    let before = status("VmRSS")
    let (ended, running) = (endedChildren, children)
    for child in running { Files.write(Array("5".utf8), to: "/proc/\(child)/clear_refs") }
    let used = Dictionary(running.map { ($0, status("VmRSS", of: $0)) }, uniquingKeysWith: max)
    try body()
    let programs = children.map { status("VmHWM", of: $0) - (used[$0] ?? interpreter) }
    let most = max(ended == endedChildren ? 0 : endedChildren - interpreter, programs.max() ?? 0)
    return max(0, status("VmHWM") - before, most)
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

/// How work grows with a size, by the processor's time: the counters of instructions are not there in most virtual
/// machines.
struct TimeGrowth {
  let sizes: [Int]
  /// The least time that each size took. What else the machine does only adds to it.
  private(set) var least: [Double]

  init(_ sizes: [Int]) {
    self.sizes = sizes
    least = sizes.map { _ in .infinity }
  }

  mutating func add(_ times: [Double]) { least = zip(least, times).map { min($0, $1) } }

  /// The exponent of the size in the time of the last three sizes: 1 if the time is in proportion to the size, 2 if to
  /// its square. In the differences, what each run does once cancels.
  var exponent: Double {
    let count = sizes.count
    let (more, before) = (least[count - 1] - least[count - 2], least[count - 2] - least[count - 3])
    let (size, smaller) = (sizes[count - 1] - sizes[count - 2], sizes[count - 2] - sizes[count - 3])
    guard more > 0, before > 0 else { return more > 0 ? .infinity : 0 }
    return 1 + log(more / before / (Double(size) / Double(smaller)))
      / log(Double(sizes[count - 1]) / Double(sizes[count - 2]))
  }

  /// Below that a time is noise.
  var isMeasurable: Bool { (least.last ?? 0) >= 0.1 }
}
