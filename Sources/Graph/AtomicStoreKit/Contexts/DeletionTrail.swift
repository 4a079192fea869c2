/// The paths of a deletion, shared by all steps: written out, the paths of a long chain would need space quadratic in
/// its length.
final class DeletionTrail {
  private var names: [String] = []
  private var origins: [Int] = []

  /// The index of a name that follows another name; nil for the first.
  func add(_ name: String, after place: Int?) -> Int {
    names.append(name)
    origins.append(place ?? -1)
    return names.count - 1
  }

  func path(to place: Int) -> String {
    var parts: [String] = []
    var next = place
    while next >= 0 {
      parts.append(names[next])
      next = origins[next]
    }
    return parts.reversed().joined(separator: ".")
  }
}
