extension Faults {
  static let schema: [Fault] = []
}
