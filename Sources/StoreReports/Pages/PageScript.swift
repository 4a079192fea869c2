/// What the scripts of pages that show objects begin with.
package enum PageScript {
  /// Opens a function, which the script closes: its names are its own. Texts become text nodes, never markup.
  package static let opening = #"""
    (function () {
      'use strict';
      function element(name, text, className) {
        var node = document.createElement(name);
        if (text !== undefined && text !== null) node.textContent = text;
        if (className) node.className = className;
        return node;
      }
      function grouped(number) { return String(number).replace(/\B(?=(\d{3})+$)/g, ','); }

    """#
}
