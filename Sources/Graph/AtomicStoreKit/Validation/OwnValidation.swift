/// Which classes have their own ``ManagedObject/validate(_:forKey:)``: only for these does a save make the values that
/// it gets. A to-many of a thousand members is a thousand objects.
///
/// Swift does not say whether a method is overridden. A class has a table of its methods, and which entry is that of
/// `validate` follows from two subclasses of ``ManagedObject``, of which one overrides it and nothing else. If there is
/// no such entry, all classes count as those that override it.
enum OwnValidation {
  private class Plain: ManagedObject {}
  private class Overriding: ManagedObject {
    override func validate(_ value: inout Any?, forKey key: String) throws { value = nil }
  }

  static func exists(in type: ManagedObject.Type) -> Bool {
    if type == ManagedObject.self { return false }
    guard let place else { return true }
    // Every subclass has all entries of ManagedObject, at the same places.
    return method(place, of: type) != method(place, of: ManagedObject.self)
  }

  private static func method(_ place: Int, of type: ManagedObject.Type) -> UInt {
    unsafeBitCast(type, to: UnsafePointer<UInt>.self)[place]
  }

  /// The number of the entry, in words.
  private static let place: Int? = {
    let base = unsafeBitCast(ManagedObject.self as ManagedObject.Type, to: UnsafeRawPointer.self)
    // Of the layout of a class without Objective-C: its superclass, and how many bytes it has, behind its address
    // and before it.
    let superclassOffset = 8
    let sizes = (32, 36)
    let plain = unsafeBitCast(Plain.self as ManagedObject.Type, to: UnsafeRawPointer.self)
    guard MemoryLayout<Int>.size == 8, plain.load(fromByteOffset: superclassOffset, as: UnsafeRawPointer?.self) == base
    else { return nil }
    let size = Int(base.load(fromByteOffset: sizes.0, as: UInt32.self))
    let before = Int(base.load(fromByteOffset: sizes.1, as: UInt32.self))
    guard size > before, size - before < 1 << 16 else { return nil }
    let places = (0..<(size - before) / 8).filter { place in
      method(place, of: Plain.self) == method(place, of: ManagedObject.self)
        && method(place, of: Overriding.self) != method(place, of: ManagedObject.self)
    }
    return places.count == 1 ? places.first : nil
  }()
}
