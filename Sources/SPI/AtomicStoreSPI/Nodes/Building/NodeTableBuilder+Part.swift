/// Loading a part of a store: some of its properties.
extension NodeTableBuilder {
  /// Whether the store's model has a property whose values are not read, because the request does not use them.
  /// ``model`` does not have this property.
  ///
  /// It is false for all properties unless the format's traits have ``StoreTraits/leavesOutProperties``, and always
  /// while a store is opened for changes, saved, converted or compared.
  ///
  /// - Parameters:
  ///   - name: The name of a property in the store.
  ///   - entity: The entity's number.
  public func leavesOut(property name: String, entity: Int) -> Bool {
    guard let wholeModel, let whole = wholeModel.entity(named: model.entity(at: entity).name) else { return false }
    return whole.slot(named: name) != nil && model.entity(at: entity).slot(named: name) == nil
  }
}
