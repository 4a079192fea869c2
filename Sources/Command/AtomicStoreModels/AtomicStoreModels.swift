import Foundation
import PackagePlugin

/// Writes the classes of each model in a target before the target is compiled, and again when the model has changed.
///
/// A model is a directory or file with the extension `xcdatamodeld` or `xcdatamodel` anywhere in the target's
/// directory, but not in hidden directories, such as the one that SwiftPM builds in. `App.xcdatamodeld` gives one
/// source file in the build directory, with the classes of its current version and the type `AppModel`, which registers
/// them. The classes are internal: for public ones, run `atomicstore model swift --public`.
@main
struct AtomicStoreModels: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) async throws -> [Command] {
    let tool = try context.tool(named: "atomicstore-model-classes").url
    var outputs: [String: URL] = [:]
    return Self.models(in: target.directoryURL).compactMap { model in
      let name = model.deletingPathExtension().lastPathComponent + "Model+Generated.swift"
      if let other = outputs.updateValue(model, forKey: name.lowercased()) {
        Diagnostics.error("\(model.path) and \(other.path) have the same name: rename one of the models")
        return nil
      }
      let output = context.pluginWorkDirectoryURL.appending(path: name)
      return .buildCommand(
        displayName: "Writing the classes of \(model.lastPathComponent)", executable: tool,
        arguments: [model.path, output.path], inputFiles: Self.files(of: model), outputFiles: [output])
    }
  }

  private static func models(in directory: URL) -> [URL] {
    var models: [URL] = []
    let entries = FileManager.default.enumerator(
      at: directory, includingPropertiesForKeys: nil, options: [.skipsHiddenFiles])
    while let entry = entries?.nextObject() as? URL {
      guard ["xcdatamodeld", "xcdatamodel"].contains(entry.pathExtension) else { continue }
      entries?.skipDescendants()
      models.append(entry)
    }
    return models.sorted { $0.path < $1.path }
  }

  /// All files of a model: a change to any of them may change the classes.
  private static func files(of model: URL) -> [URL] {
    let entries = FileManager.default.enumerator(at: model, includingPropertiesForKeys: [.isDirectoryKey])
    var files: [URL] = []
    while let entry = entries?.nextObject() as? URL {
      let isDirectory = (try? entry.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory ?? false
      if !isDirectory { files.append(entry) }
    }
    return files.isEmpty ? [model] : files.sorted { $0.path < $1.path }
  }
}
