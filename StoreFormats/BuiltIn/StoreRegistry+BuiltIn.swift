public import AtomicStoreSPI

extension StoreRegistry {
  /// The formats that come with the kit.
  public static var builtIn: StoreRegistry {
    let registry = StoreRegistry()
    return registry
  }
}
