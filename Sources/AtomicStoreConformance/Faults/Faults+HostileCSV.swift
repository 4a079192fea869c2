extension Faults {
  static let hostileCSV: [Fault] = []
}
