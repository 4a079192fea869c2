package import AtomicStoreSPI

extension ModelMapping {
  /// Works out how objects of one model become those of another: by a mapping model if the options have one, or else by
  /// inference.
  package init(from source: ManagedObjectModel, to destination: ManagedObjectModel, options: Options = Options()) {
    guard options.mappingModels.isEmpty else {
      var translation = MappingModelTranslation(source, destination, options)
      translation.run()
      self.init(
        source: source, destination: destination, entities: translation.entities, removedEntities: [],
        obstacles: translation.obstacles, mappingModelPath: translation.path,
        droppedEntities: translation.droppedEntities)
      return
    }
    var inference = MappingInference(source, destination, options)
    inference.run()
    self.init(
      source: source, destination: destination, entities: inference.mappings,
      removedEntities: inference.removedEntities, obstacles: inference.obstacles)
  }
}
