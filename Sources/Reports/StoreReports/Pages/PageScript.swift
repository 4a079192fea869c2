/// What the scripts of pages that show objects begin with.
enum PageScript {
  /// Opens a function, which the script closes: its names are its own. Texts become text nodes, never markup.
  static let opening = #"""
    (function () {
      'use strict';
      function element(name, text, className) {
        var node = document.createElement(name);
        if (text !== undefined && text !== null) node.textContent = text;
        if (className) node.className = className;
        return node;
      }
      function button(text, label, action) {
        var node = element('button', text);
        node.type = 'button';
        if (label) node.setAttribute('aria-label', label);
        node.addEventListener('click', action);
        return node;
      }
      function grouped(number) { return String(number).replace(/\B(?=(\d{3})+$)/g, ','); }
      function counted(number, noun) { return number === 1 ? '1 ' + noun : (number === 0 ? 'no' : grouped(number)) + ' ' + noun + 's'; }
      /* Without case and accents, as [cd] compares. */
      function folded(text) { return text.normalize('NFD').replace(/\p{M}+/gu, '').toLowerCase(); }
      var entities = JSON.parse(document.getElementById('data').textContent).entities, views = [];

    """#

  /// The script of a page with tables of objects.
  ///
  /// - Parameter source: Defines `source`, which has the functions `rows`, `facet`, `object` and `search`; each returns
  ///   a promise.
  static func tables(from source: String) -> String {
    compact(
      opening + source + PredicateScript.text + TableScript.text + DistributionScript.text + FilterScript.text
        + GroupScript.text + ContentScript.text + ObjectScript.text)
  }

  /// A script without the indentation and the lines of comments, a fifth of it.
  private static func compact(_ script: String) -> String {
    script.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.hasPrefix("/*") }.joined(separator: "\n")
  }
}
