extension Checks {
  /// The checks of ``Conformance/smoke(for:)``.
  static let smokeIDs: Set<String> = [
    "REG-02", "INI-01", "INI-02", "INI-03", "INI-16", "MET-01", "MET-03", "MET-05", "LOD-01", "VAL-01", "VAL-03",
    "VAL-07", "VAL-17",
    "VAL-20", "VAL-28", "REL-01", "REL-03", "REL-07", "REF-04", "CHG-06", "CHG-10", "SAV-15", "SAV-16", "REM-01",
    "INC-02", "INC-03", "INC-11", "INC-12", "INC-13", "INC-19", "INC-20", "INC-22", "INC-23", "INC-24", "INC-28",
    "INC-33", "INC-36", "INC-38", "INC-39", "INC-41", "INC-43", "INC-47", "INC-49", "INC-50", "INC-52", "INC-59",
    "INC-64", "INC-65",
  ]
}
