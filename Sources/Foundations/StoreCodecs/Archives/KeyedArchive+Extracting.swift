public import StorePrimitives

extension KeyedArchive.Value {
  /// Whether this is a number with a fraction, be that nothing, and no object.
  public var isPlainReal: Bool { if case .real = value { true } else { false } }

  /// A separate keyed archive whose root is this object, with everything that it leads to.
  ///
  /// - Throws: `.malformed` where a reference is dangling; `.limitExceeded` where the archive is asked for more than
  ///   it can hold.
  public func archived() throws(PersistentStoreError) -> [UInt8] {
    var numbers: Set<Int> = []
    var waiting = [value]
    if let index { numbers.insert(index) }
    while let next = waiting.popLast() {
      switch next {
      case .uid(let number):
        guard let index = Int(exactly: number), storage.objects.indices.contains(index) else {
          throw malformed("a reference to object \(number), but there are \(storage.objects.count)")
        }
        if index > 0, numbers.insert(index).inserted { waiting.append(storage.objects[index]) }
      case .array(let elements): waiting += elements
      case .dictionary(let fields): waiting += fields.map(\.value)
      default: break
      }
    }
    // In the order of the archive, after the nil that every archive begins with.
    try spend(numbers.count)
    let kept = numbers.sorted()
    var renumbered: [Int: UInt64] = [0: 0]
    for (place, index) in kept.enumerated() { renumbered[index] = UInt64(place + 1) }
    var objects: [PropertyListValue] = [.string("$null")] + kept.map { storage.objects[$0].renumbered(renumbered) }
    var root = index.flatMap { renumbered[$0] }
    if root == nil {
      objects.append(value.renumbered(renumbered))
      root = UInt64(objects.count - 1)
    }
    return try PropertyList.encodeBinary([
      "$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": .uid(root ?? 0)],
      "$objects": .array(objects),
    ])
  }
}

extension PropertyListValue {
  /// The value with the numbers of objects changed. As deep as the decoder let the list be.
  fileprivate func renumbered(_ numbers: [Int: UInt64]) -> PropertyListValue {
    switch self {
    case .uid(let number): .uid(Int(exactly: number).flatMap { numbers[$0] } ?? 0)
    case .array(let elements): .array(elements.map { $0.renumbered(numbers) })
    case .dictionary(let fields):
      .dictionary(fields.reduce(into: PropertyListDictionary()) { $0[$1.key] = $1.value.renumbered(numbers) })
    default: self
    }
  }
}
