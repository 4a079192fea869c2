import ArgumentParser
import AtomicStoreKit
import CommandSupport
import StoreMaintenance

struct Anonymize: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "anonymize",
    abstract: "Copy a store with personal data replaced.",
    discussion: """
        atomicstore anonymize lib.xml Loan.borrower=hash Author.fullName=sequence:author- --salt "$SALT" -o shown.xml

      A rule is ENTITY.PROPERTY=hash, =mask, =fixed:TEXT or =sequence:PREFIX. hash gives equal values for equal ones,
      by the salt, which is to be kept secret; mask turns letters to x and digits to 0; fixed is one value for all;
      sequence numbers the objects. A rule of a sub-entity takes precedence over that of its super-entity. Null stays
      null, references stay as they are.
      """, aliases: ["anonymise"])
  @Argument(help: "The store; - for standard input.") var store: String
  @Argument(help: "ENTITY.PROPERTY=RULE.") var rules: [String]
  @Option(help: "The salt of hashes: a secret text.") var salt: String?
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Options for the result") var result: ResultOptions
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard result.output != nil else { throw CommandFailure("-o names the copy to make", exitCode: 64) }
      guard salt?.isEmpty == false || !rules.contains(where: { $0.hasSuffix("=hash") }) else {
        throw CommandFailure("hash needs --salt: without it values could be found by trying", exitCode: 64)
      }
      var anonymizer = StoreAnonymizer(salt: salt ?? "")
      for text in rules {
        let (entity, property, rule) = try Self.rule(text)
        guard anonymizer.rules[entity, default: [:]].updateValue(rule, forKey: property) == nil else {
          throw CommandFailure("there are two rules for \(entity).\(property)", exitCode: 64)
        }
      }
      let (coordinator, opened) = try source.open(store)
      defer { withExtendedLifetime(coordinator) {} }
      let (nodes, counts) = try anonymizer.anonymize(try opened.nodesWithDeferredValues())
      var metadata = opened.metadata
      metadata.model = nodes.model.description
      let written = try result.write(
        StoreSnapshot(nodes: nodes, metadata: metadata), describedAs: opened.type, madeOf: [opened],
        orType: opened.type)
      try result.tell(
        written, of: store, verb: ("anonymized", "would anonymize"), json: common.json,
        fields: [("replaced", .object(counts.map { ($0.property, .integer($0.count)) }))])
    }
  }

  private static func rule(_ text: String) throws -> (String, String, StoreAnonymizer.Rule) {
    let failure = CommandFailure(
      "'\(text)' is not ENTITY.PROPERTY=hash, =mask, =fixed:TEXT or =sequence:PREFIX", exitCode: 64)
    guard let equals = text.firstIndex(of: "="), let dot = text[..<equals].firstIndex(of: ".") else { throw failure }
    let value = text[text.index(after: equals)...]
    let rule: StoreAnonymizer.Rule
    if value == "hash" {
      rule = .hash
    } else if value == "mask" {
      rule = .mask
    } else if value.hasPrefix("fixed:") {
      rule = .fixed(String(value.dropFirst(6)))
    } else if value == "sequence" || value.hasPrefix("sequence:") {
      rule = .sequence(String(value.dropFirst(9)))
    } else {
      throw failure
    }
    return (String(text[..<dot]), String(text[text.index(after: dot)..<equals]), rule)
  }
}
