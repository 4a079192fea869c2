import ArgumentParser
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc

/// What shells complete: types, and the entities and properties of the store or model that the line names.
///
/// A completion never fails: a store that cannot be read has no candidates.
enum Completions {
  /// Store types.
  static let types = CompletionKind.custom { _, _, _ in InstalledFormats.types }
  static let entities = CompletionKind.custom { words, _, _ in model(of: words)?.entities.map(\.name) ?? [] }
  /// Key paths, separated by commas, each with a dash before it if that is allowed.
  static let keyPaths = CompletionKind.custom { words, index, prefix in
    guard let entity = entity(of: words) else { return [] }
    return keyPaths(completing: word(words, index, prefix), for: entity)
  }
  /// `PROPERTY=`, with the property only.
  static let assignments = CompletionKind.custom { words, index, prefix in
    let word = word(words, index, prefix)
    guard !word.contains("="), let entity = entity(of: words) else { return [] }
    return entity.slots.map { $0.name + "=" }
  }
  /// The names of options that formats are read with.
  static let readOptions = CompletionKind.custom { _, _, _ in
    optionNames { $0.readOptions } + OptionsOfEveryFormat.all.map { $0.name + "=" }
  }
  /// The names of options that formats are written with.
  static let writeOptions = CompletionKind.custom { _, _, _ in optionNames { $0.writeOptions } }

  /// The word to complete. Shells that do not tell the prefix tell the index of the word.
  private static func word(_ words: [String], _ index: Int, _ prefix: String) -> String {
    prefix.isEmpty && words.indices.contains(index) ? words[index] : prefix
  }

  private static func optionNames(_ options: (StoreTraits) -> [StoreOption]) -> [String] {
    InstalledFormats.loadAll()
    let registry = InstalledFormats.registry
    let all = registry.storeTypes.flatMap { name in
      (try? registry.storeType(named: name)).map { options($0.traits) } ?? []
    }
    return Set(all.map { $0.name + "=" }).sorted()
  }

  /// Completes the last of several key paths, one relationship after the other.
  static func keyPaths(completing text: String, for entity: Entity) -> [String] {
    let end = text.lastIndex(of: ",").map { text.index(after: $0) } ?? text.startIndex
    var start = String(text[..<end])
    var path = text[end...]
    if path.hasPrefix("-") {
      start += "-"
      path = path.dropFirst()
    }
    var found: Entity = entity
    var rest = path
    while let dot = rest.firstIndex(of: ".") {
      let key = String(rest[..<dot])
      guard let slot = found.slots.first(where: { ScalarString($0.name) == ScalarString(key) }),
        let destination = slot.destination
      else { return [] }
      found = found.model.entity(at: destination)
      rest = rest[rest.index(after: dot)...]
    }
    start += path[..<rest.startIndex]
    return found.slots.map { start + $0.name }
  }

  /// What there is to choose from for an option without a value, and of what: for an error.
  static func choices(for option: String, _ words: [String]) -> (of: String, names: [String])? {
    try? InstalledFormats.load([], searches: !words.contains("--no-plugins"))
    switch option {
    case "--entity":
      guard let model = model(of: words) else { return nil }
      return ("the entities", model.entities.map(\.name))
    case "--to", "--from": return ("the types", InstalledFormats.types)
    default: return nil
    }
  }

  // MARK: The line

  private static func entity(of words: [String]) -> Entity? {
    guard let model = model(of: words) else { return nil }
    if let name = value(of: "--entity", in: words), let entity = model.entity(named: name) { return entity }
    return model.entities.count == 1 ? model.entities.first : nil
  }

  private static func value(of option: String, in words: [String]) -> String? {
    for (index, word) in words.enumerated() {
      if word == option, index + 1 < words.count { return unquoted(words[index + 1]) }
      if word.hasPrefix(option + "=") { return unquoted(String(word.dropFirst(option.count + 1))) }
    }
    return nil
  }

  /// The model of `--model`, or else of the first word that is a readable store or model.
  private static func model(of words: [String]) -> ManagedObjectModel? {
    if let path = value(of: "--model", in: words), let model = try? ModelChoice(path).model() { return model }
    for word in words.dropFirst() {
      let path = unquoted(word)
      guard !path.hasPrefix("-"), isReadable(path) else { continue }
      if let model = try? ModelChoice(path).model() { return model }
      let found = try? PersistentStoreCoordinator.metadataAndModelForPersistentStore(
        at: path, registry: InstalledFormats.registry)
      if let found { return found.model }
    }
    return nil
  }

  /// Whether a path is a file of an ordinary size, or a directory with a file name extension: others may be source
  /// trees, which take long to search. A pipe would not be there a second time.
  private static func isReadable(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0 else { return false }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: return !PathParts.fileExtension(of: path).isEmpty
    case S_IFREG: return status.st_size < 100_000_000
    default: return false
    }
  }

  /// A word as the shell will pass it: without the quotes and backslashes of the line.
  static func unquoted(_ word: String) -> String {
    var result = ""
    var quote: Character?
    var isEscaped = false
    for character in word {
      if isEscaped {
        result.append(character)
        isEscaped = false
      } else if character == "\\", quote != "'" {
        isEscaped = true
      } else if character == quote {
        quote = nil
      } else if quote == nil, character == "'" || character == "\"" {
        quote = character
      } else {
        result.append(character)
      }
    }
    return result.hasPrefix("~/")
      ? FileManager.default.homeDirectoryForCurrentUser.path(percentEncoded: false) + result.dropFirst() : result
  }
}
