import FoundationEssentials

extension ConformanceSubject {
  /// What runs one check again, with the same choices.
  func again(_ id: String, seed: UInt64) -> String {
    if let fault { return "\(Self.program) --selftest --fault \(fault)" }
    // A test program is not asked by arguments.
    if Self.isTest { return "\(ConformanceFilter.check)=\(id) \(ConformanceFilter.seed)=\(seed) swift test" }
    return "\(Self.program) \(arguments) --only \(id) --seed \(seed)"
  }

  /// The command that runs this program, as a shell takes it: `atomicstore conform` runs atomicstore-conform.
  private static let program: String = {
    let suffix = "-conform"
    let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    let command = name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
    return (command.isEmpty || isTest ? "atomicstore" : quoted(command)) + " conform"
  }()

  private static let isTest: Bool = {
    guard let path = CommandLine.arguments.first else { return false }
    return path.hasSuffix(".xctest") || path.hasSuffix("/swiftpm-testing-helper")
      || CommandLine.arguments.contains("--testing-library")
  }()
}
