extension Faults {
  static let changes: [Fault] = []
}
