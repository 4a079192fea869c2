import Foundation

/// What tests know of the machine: where the programs are that were built with them, and what these find in their
/// environment. Nothing else of the shell that started the tests reaches a program under test.
public enum TestEnvironment {
  /// The directory of the test program, and so of all programs that were built with it. It does not depend on the name
  /// by which the test program was started, which may be relative.
  public static let products: String = {
    let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    return ((program ?? "/") as NSString).deletingLastPathComponent
  }()

  /// The path of an executable that was built with the tests; nil if it was not built.
  public static func built(_ name: String) -> String? {
    let path = products + "/" + name
    return FileManager.default.isExecutableFile(atPath: path) ? path : nil
  }

  /// Variables that say where things are on this machine, and how sanitizers report.
  private static let kept: Set<String> = [
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "SDKROOT", "ASAN_OPTIONS", "LSAN_OPTIONS",
    "TSAN_OPTIONS", "UBSAN_OPTIONS", "SWIFT_BACKTRACE", "LLVM_PROFILE_FILE", "ATOMICSTORE_POSTGRES_URL",
    "ATOMICSTORE_PYTHON",
  ]

  /// No colors, no terminal, no plug-ins of the user, one language and one time zone.
  private static let fixed = [
    "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8", "TZ": "UTC", "XDG_DATA_HOME": "/nonexistent",
  ]

  /// What makes a program print colors on a terminal.
  public static let colors = ["NO_COLOR": "", "TERM": "xterm-256color"]

  /// Signals that end programs, which `nohup` and shells in the background make the test program ignore. What it
  /// ignores, every program that it starts ignores, too; what it catches has its usual effect there.
  private static let catchesSignals: Void = {
    for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
      var action = sigaction()
      guard sigaction(number, nil, &action) == 0, (action.sa_flags & SA_SIGINFO) == 0 else { continue }
      let handler = unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self)
      if handler == unsafeBitCast(SIG_IGN, to: Int.self) { signal(number) { _ in } }
    }
  }()

  /// The environment of a program that a test starts.
  ///
  /// - Parameter changes: What this test adds or replaces. With `HOME` and without `XDG_DATA_HOME`, the user's plug-ins
  ///   are those in `HOME`.
  public static func variables(_ changes: [String: String] = [:]) -> [String: String] {
    _ = catchesSignals
    var result = ProcessInfo.processInfo.environment.filter { kept.contains($0.key) }
    result.merge(fixed) { $1 }
    if changes["HOME"] != nil { result["XDG_DATA_HOME"] = nil }
    return result.merging(changes) { $1 }
  }
}
