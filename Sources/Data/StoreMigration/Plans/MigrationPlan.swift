public import AtomicStoreSPI
import StoreCoordination

/// The steps from one model to another: inferred ones, ones with a mapping file, and ones that code completes.
///
/// ```swift
/// let plan = MigrationPlan(from: [version1], [
///   .inferred(to: version2),
///   .custom(to: version3) { old, new in
///     for person in old.handles(ofEntity: "Person") {
///       try new.setValue(.string(…), forKey: "fullName", of: person)
///     }
///   },
/// ])
/// let store = try coordinator.addPersistentStore(at: path, migration: plan)
/// ```
///
/// A store that is at one of the models takes the steps after it. Each step is a separate migration: what three
/// versions infer one after the other may be more than could be inferred at once.
public struct MigrationPlan: Sendable {
  /// One step.
  public struct Stage: Sendable {
    /// The model that the step leads to.
    public var model: ManagedObjectModel
    /// What it may do beyond inference.
    public var options: ModelMapping.Options
    /// Completes the objects that inference made; see ``MigrationPlan/Stage``.
    public var handler: (@Sendable (_ old: NodeTable, _ new: inout NodeTable) throws -> Void)?
    /// The name of the model's version, for messages.
    public var name: String?

    /// A step that Core Data could infer.
    public static func inferred(to model: ManagedObjectModel, name: String? = nil) -> Stage {
      Stage(model: model, options: ModelMapping.Options(), name: name)
    }

    /// A step of which a file says what cannot be inferred.
    public static func mapped(to model: ManagedObjectModel, by file: MappingFile, name: String? = nil) -> Stage {
      var options = ModelMapping.Options()
      options.file = file
      return Stage(model: model, options: options, name: name)
    }

    /// A step that code completes. Inference does what it can; what it cannot fill is null when the handler is called.
    ///
    /// - Parameters:
    ///   - model: The model that the step leads to.
    ///   - name: The name of the model's version, for messages.
    ///   - handler: Called with the objects before the step, and those after it, to be changed. An object has the same
    ///     reference in both. Required values that are still missing afterwards are an error.
    public static func custom(
      to model: ManagedObjectModel, name: String? = nil,
      _ handler: @escaping @Sendable (_ old: NodeTable, _ new: inout NodeTable) throws -> Void
    ) -> Stage {
      var options = ModelMapping.Options()
      options.leavesGaps = true
      return Stage(model: model, options: options, handler: handler, name: name)
    }
  }

  /// The models that a store may have before the first step, beside the one that it carries itself.
  public var sources: [ManagedObjectModel]
  /// The steps, in order.
  public var stages: [Stage]
  /// Whether objects and values may be lost that the destination has no entity or property for. Without, that is an
  /// error.
  public var allowsLoss = false
  /// Whether the steps are versions that no one chose: then where one cannot be inferred, the last model is tried at
  /// once.
  var mayBeCut = false
  /// Whether a store may keep a model in which only rules, defaults and the like differ from the last one's: where it
  /// is opened with the last one anyway.
  var keepsEqualModel = false

  /// Creates a plan.
  ///
  /// - Parameters:
  ///   - sources: Models of stores that do not carry their own: they are found by their version hashes.
  ///   - stages: The steps, in order; at least one.
  public init(from sources: [ManagedObjectModel] = [], _ stages: [Stage]) {
    self.sources = sources
    self.stages = stages
  }

  /// The model after the last step; nil for a plan without steps.
  public var model: ManagedObjectModel? { stages.last?.model }

  /// The steps for objects of a model: those after the last one that leads to it. If that is the last of all, and its
  /// model is not the very same, a step that gives the objects its model.
  func stages(from model: ManagedObjectModel) -> [Stage] {
    guard let index = stages.lastIndex(where: { $0.model.isSame(as: model) }) else { return stages }
    let rest = Array(stages[(index + 1)...])
    let last = stages[index]
    guard rest.isEmpty, !keepsEqualModel, last.model !== model,
      !last.model.differences(from: model.description, includingEverything: true).isEmpty
    else { return rest }
    return [Stage.inferred(to: last.model, name: last.name)]
  }
}

extension ManagedObjectModel {
  /// Whether a store of the other model opens with this one.
  func isSame(as other: ManagedObjectModel) -> Bool {
    self === other || differences(fromStoreOf: other).isEmpty
  }
}

extension NodeTable {
  /// The nodes of the entity of that name, its sub-entities not counted; none for a name that the model does not have.
  public func handles(ofEntity name: String) -> [NodeHandle] {
    model.entity(named: name).map { handles(of: $0.index) } ?? []
  }
}
