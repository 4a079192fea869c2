extension Faults {
  static let moreValues: [Fault] = []
}
