import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension ConformanceReport {
  /// When, where and how checks were run.
  package struct Circumstances: Sendable, Codable, Equatable {
    /// When the run began, in UTC: `2026-11-22 09:30:00 UTC`.
    var date: String
    /// The version of the kit.
    var kitVersion: String
    /// System, processor and number of processors.
    var machine: String
    /// The seed of the random choices.
    var seed: UInt64
    /// How long the run took, in seconds of wall time.
    var seconds: Double
    /// How many checks ran at the same time.
    var width: Int
    /// Whether the program was built for debugging, where some checks try fewer and smaller cases.
    var isDebugBuild: Bool

    /// Describes a run on this machine that ends now.
    package init(seed: UInt64, seconds: Double, width: Int) {
      date = Self.text(Date(timeIntervalSinceNow: -seconds))
      kitVersion = StorePlugin.kitVersion
      machine = Self.machineName
      self.seed = seed
      self.seconds = seconds
      self.width = width
      #if DEBUG
        isDebugBuild = true
      #else
        isDebugBuild = false
      #endif
    }

    private static func text(_ date: Date) -> String {
      var time = time_t(date.timeIntervalSince1970)
      var parts = tm()
      gmtime_r(&time, &parts)
      func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
      return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) "
        + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) UTC"
    }

    private static var machineName: String {
      var info = utsname()
      guard uname(&info) == 0 else { return "unknown" }
      func text<Field>(_ field: Field) -> String {
        withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
      }
      let processors = ProcessInfo.processInfo.activeProcessorCount
      return "\(text(info.sysname)) \(text(info.release)), \(text(info.machine)), "
        + (processors == 1 ? "1 processor" : "\(processors) processors")
    }

    /// Names and texts, for people.
    var rows: [(name: String, text: String)] {
      [
        ("Date", date), ("Kit", kitVersion + (isDebugBuild ? ", built for debugging" : "")), ("Machine", machine),
        ("Seed", "\(seed)"), ("Duration", "\(Int(seconds.rounded())) s, \(width) at a time"),
      ]
    }
  }

  /// The notes of all checks, as text: what was seen on the way.
  package var notes: String {
    var text = ""
    for (check, result) in zip(checks, results) where !result.notes.isEmpty {
      text += "\(check.id) \(check.title)\n" + result.notes.map { "  \($0)\n" }.joined()
    }
    return text
  }
}
