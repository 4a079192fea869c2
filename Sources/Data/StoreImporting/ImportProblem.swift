import AtomicStoreSPI
package import StoreMaintenance

/// Something in an imported table that cannot be taken as it is.
public struct ImportProblem: Sendable, Hashable, CustomStringConvertible {
  /// The kinds, a closed list so that reports can be compared.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// A text that its property cannot hold.
    case value
    /// A value is missing that the model requires.
    case missing
    /// A value that the model's rules forbid.
    case rule
    /// A key that another record has, or that is missing.
    case key
    /// A reference to a record that does not exist.
    case reference
    /// A record that is not well formed: an open quote, too few fields, JSON that is none.
    case record
    /// A column or a table as a whole.
    case table
  }
  /// The kind of problem.
  public var kind: Kind
  /// The name of the file.
  public var file: String
  /// The line, counted from 1; nil for a problem of the table as a whole.
  public var line: Int?
  /// The byte of the line that the field begins at, counted from 1.
  public var column: Int?
  /// The entity of the record.
  public var entity: String
  /// The record's key, as the file has it; nil where it has none.
  public var key: String?
  /// The property, or the column where no property is concerned.
  public var property: String?
  /// The field's text, cut after 200 characters.
  public var value: String?
  /// What is wrong, in one sentence.
  public var message: String

  /// `books.csv:7:12 (Book/3.price): 'abc' is not a Decimal`.
  public var description: String {
    var place = file
    if let line { place += ":\(line)" + (column.map { ":\($0)" } ?? "") }
    let object = entity + (key.map { "/" + $0 } ?? "") + (property.map { "." + $0 } ?? "")
    return "\(place) (\(object)): \(message)"
  }
}

/// An import that found problems. Nothing was made of the tables.
public struct ImportError: Error, Sendable, CustomStringConvertible {
  /// All that were found, in the order of the sources and their lines.
  public var problems: [ImportProblem]
  /// Whether the search ended at ``StoreImporter/maximumProblemCount``.
  public var isCut: Bool

  public var description: String {
    problems.map { "\($0)" }.joined(separator: "\n") + (isCut ? "\n(stopped here; there may be more)" : "")
  }
}

extension ImportError {
  /// What is wrong with the store of a directory of tables.
  package init(_ findings: [CheckFinding], in path: String) {
    problems = findings.map { finding in
      let kind: ImportProblem.Kind =
        switch finding.kind {
        case .missing: .missing
        case .inverse, .dangling: .reference
        default: .rule
        }
      return ImportProblem(
        kind: kind, file: path, entity: finding.object?.entityName ?? "",
        key: finding.object.map { "\($0.reference)" }, property: finding.property, value: finding.value,
        message: finding.message + (finding.kind == .derived ? ": an empty field is computed" : ""))
    }
    isCut = false
  }
}
