/// English nouns in singular and plural, as far as names of tables need it.
enum EnglishPlural {
  /// Singular forms that a word in lower case may have, the likeliest first, the word itself last. A word that is
  /// singular already has only itself.
  static func singulars(_ word: String) -> [String] {
    var forms: [String] = []
    func add(_ form: String) { if !form.isEmpty, !forms.contains(form) { forms.append(form) } }
    add(singular(word))
    if word.hasSuffix("s"), !word.hasSuffix("ss") {
      add(String(word.dropLast()))
      if word.hasSuffix("es") { add(String(word.dropLast(2))) }
      if word.hasSuffix("ies") { add(word.dropLast(3) + "y") }
    }
    add(word)
    return forms
  }

  /// The likeliest singular.
  private static func singular(_ word: String) -> String {
    if let known = irregular[word] { return known }
    func ends(_ suffixes: String...) -> Bool { suffixes.contains { word.hasSuffix($0) } }
    guard ends("s"), word.count > 2, !uninflected.contains(word), !ends("ss", "us", "is") else { return word }
    let withoutS = String(word.dropLast())
    // movie, cookie, tie: words that end with -ie keep it.
    if ends("ies") { return wordsInIE.contains(withoutS) || word.count <= 4 ? withoutS : word.dropLast(3) + "y" }
    let withoutES = String(word.dropLast(2))
    // house, clause and use against status, bus and virus.
    if ends("uses") { return ends("ouses", "auses") || wordsInUSE.contains(withoutS) ? withoutS : withoutES }
    if ends("yses") { return withoutES + "is" }
    if ends("sses", "shes", "ches", "xes", "zzes") { return wordsInE.contains(withoutS) ? withoutS : withoutES }
    if ends("oes") { return wordsInOE.contains(withoutS) ? withoutS : withoutES }
    return withoutS
  }

  /// The plural that a to-many relationship to a table's records is called.
  static func plural(_ word: String) -> String {
    let lower = word.lowercased()
    if uninflected.contains(lower) { return word }
    if lower.hasSuffix("y"), let before = lower.dropLast().last, !"aeiou".contains(before) {
      return word.dropLast() + "ies"
    }
    return word + (["s", "x", "z", "ch", "sh"].contains { lower.hasSuffix($0) } ? "es" : "s")
  }

  private static let irregular = [
    "people": "person", "children": "child", "men": "man", "women": "woman", "mice": "mouse", "feet": "foot",
    "teeth": "tooth", "geese": "goose", "leaves": "leaf", "knives": "knife", "shelves": "shelf", "wolves": "wolf",
    "lives": "life", "wives": "wife", "halves": "half", "loaves": "loaf", "thieves": "thief", "calves": "calf",
    "crises": "crisis", "theses": "thesis", "hypotheses": "hypothesis", "diagnoses": "diagnosis", "axes": "axis",
    "gases": "gas", "aliases": "alias", "lenses": "lens", "atlases": "atlas", "canvases": "canvas",
    "quizzes": "quiz", "indices": "index", "vertices": "vertex", "matrices": "matrix", "criteria": "criterion",
    "menus": "menu", "gurus": "guru",
  ]
  /// Words with an s at the end that is not that of a plural, or with a plural like the singular.
  private static let uninflected: Set<String> = [
    "news", "series", "species", "means", "gas", "alias", "lens", "atlas", "canvas", "bias", "mathematics", "physics",
    "statistics", "analytics", "economics", "logistics", "electronics", "premises", "headquarters", "goods", "data",
  ]
  private static let wordsInIE: Set<String> = [
    "movie", "cookie", "zombie", "rookie", "brownie", "calorie", "selfie", "hoodie", "genie", "smoothie", "birdie",
    "prairie", "pixie", "hippie", "groupie", "indie", "necktie", "magpie", "foodie", "newbie", "freebie", "talkie",
  ]
  private static let wordsInUSE: Set<String> = ["use", "excuse", "fuse", "muse", "ruse", "refuse", "abuse", "recluse"]
  private static let wordsInE: Set<String> = ["cache", "niche", "headache", "toothache", "avalanche", "axe", "psyche"]
  private static let wordsInOE: Set<String> = ["shoe", "toe", "foe", "oboe", "canoe", "woe", "horseshoe"]
}
