import AtomicStoreSPI

/// Finds out what names of files and columns mean.
enum NameMatching {
  /// A name without case and without what separates words: `in_print`, `In Print` and `inPrint` are the same.
  static func folded(_ name: String) -> String {
    String(
      String.UnicodeScalarView(
        name.lowercased().unicodeScalars.filter { $0.properties.isAlphabetic || $0.properties.numericType != nil }))
  }

  /// Singular forms that an English plural may have, the word itself first.
  static func singulars(_ word: String) -> [String] {
    var forms = [word]
    if word.hasSuffix("ies") { forms.append(word.dropLast(3) + "y") }
    if word.hasSuffix("es") { forms.append(String(word.dropLast(2))) }
    if word.hasSuffix("s"), !word.hasSuffix("ss") { forms.append(String(word.dropLast())) }
    if let irregular = irregular[word] { forms.append(irregular) }
    return forms
  }
  private static let irregular = [
    "people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse",
  ]

  /// The plural that a to-many relationship to a table's records is called.
  static func plural(_ word: String) -> String {
    let lower = word.lowercased()
    if lower.hasSuffix("y"), let before = lower.dropLast().last, !"aeiou".contains(before) {
      return word.dropLast() + "ies"
    }
    return word + (["s", "x", "z", "ch", "sh"].contains { lower.hasSuffix($0) } ? "es" : "s")
  }

  /// The entity that a file is named after, in the singular or plural, without regard to case. Words behind the name
  /// are passed over: `loans-2026.csv` holds loans.
  static func entity(forFile stem: String, in model: ManagedObjectModel) -> Entity? {
    let concrete = model.entities.filter { !$0.isAbstract }
    if let exact = concrete.first(where: { ScalarString($0.name) == ScalarString(stem) }) { return exact }
    var words = stem.split { !($0.isLetter || $0.isNumber) }.map(String.init)
    while !words.isEmpty {
      let forms = singulars(folded(words.joined()))
      let found = concrete.filter { entity in
        let name = folded(entity.name)
        return forms.contains(name) || singulars(name).contains { forms.contains($0) }
      }
      if found.count == 1 { return found[0] }
      words.removeLast()
    }
    return nil
  }

  /// The name of an entity for a file, where there is no model: `book_loans` is BookLoan.
  static func entityName(forFile stem: String) -> String {
    var words = stem.split { !($0.isLetter || $0.isNumber) }.map(String.init)
    if let last = words.popLast() {
      let forms = singulars(last.lowercased())
      let singular = forms.count > 1 ? (irregular[last.lowercased()] ?? forms[1]) : forms[0]
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
