package import AtomicStoreSPI

extension ModelMapping {
  /// Works out how objects of one model become those of another.
  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel, options: Options = Options()) {
    var inference = MappingInference(source, destination, options)
    inference.run()
    self.init(
      source: source, destination: destination, entities: inference.mappings,
      removedEntities: inference.removedEntities, obstacles: inference.obstacles)
  }
}
