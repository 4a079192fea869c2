import AtomicStoreSPI

/// Finds out what names of files and columns mean.
enum NameMatching {
  /// A name without case and without what separates words: `in_print`, `In Print` and `inPrint` are the same.
  static func folded(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        name.lowercased().unicodeScalars.filter { $0.properties.isAlphabetic || $0.properties.numericType != nil }))
  }

  /// What the column of a key may be named after: the words that make the folded name with one of those behind them, or
  /// before them.
  static func words(ofKey folded: String, _ after: [String], before: [String] = []) -> [String] {
    after.filter { folded.hasSuffix($0) }.map { String(folded.dropLast($0.count)) }
      + before.filter { folded.hasPrefix($0) }.map { String(folded.dropFirst($0.count)) }
  }

  /// The name of an entity for a file, where there is no model: `book_loans` is BookLoan.
  ///
  /// - Parameter columns: The folded names of the columns of all tables. Of several singular forms, the one that a
  ///   column of keys is called after is taken: with `cache_id`, `caches` is Cache.
  static func entityName(forFile stem: String, columns: Set<String> = []) -> String {
    var words = stem.split { !($0.isLetter || $0.isNumber) }.map(String.init)
    if let last = words.popLast() {
      let forms = EnglishPlural.singulars(last.lowercased())
      let before = folded(words.joined())
      let named = forms.first { form in
        ["id", "key", "fk"].contains { columns.contains(before + form + $0) || columns.contains(form + $0) }
      }
      let singular = named ?? forms[0]
      words.append(singular == last.lowercased() ? last : singular)
    }
    let name = words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return name.isEmpty || name.first?.isNumber == true ? "Table" + name : name
  }

  /// A column's name as a property has it: `in_print` is inPrint, `Author ID` is authorID.
  static func propertyName(forColumn column: String) -> String {
    let words = column.split { !($0.isLetter || $0.isNumber) }.map(String.init)
    guard let first = words.first else { return "column" }
    let isShouting = first == first.uppercased()
    let head = isShouting ? first.lowercased() : first.prefix(1).lowercased() + first.dropFirst()
    let name = head + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    return name.first?.isNumber == true ? "column" + name : name
  }
}

/// The concrete entities of a model by what files may be named after.
struct EntityNames {
  private let model: ManagedObjectModel
  /// By folded name and its singular forms.
  private var byForm: [String: Set<Int>] = [:]

  init(_ model: ManagedObjectModel) {
    self.model = model
    for entity in model.entities where !entity.isAbstract {
      let name = NameMatching.folded(entity.name)
      for form in EnglishPlural.singulars(name) { byForm[form, default: []].insert(entity.index) }
    }
  }

  /// The entity that a file is named after, in the singular or plural, without regard to case. Words behind the name
  /// are skipped: `loans-2026.csv` holds loans.
  func entity(forFile stem: String) -> Entity? {
    if let exact = model.entity(named: stem), !exact.isAbstract { return exact }
    var words = stem.split { !($0.isLetter || $0.isNumber) }.map(String.init)
    while !words.isEmpty {
      let forms = EnglishPlural.singulars(NameMatching.folded(words.joined()))
      let found = forms.reduce(into: Set<Int>()) { $0.formUnion(byForm[$1] ?? []) }
      if found.count == 1, let index = found.first { return model.entity(at: index) }
      words.removeLast()
    }
    return nil
  }
}
