import AtomicStoreSPI

extension ModelDiagram {
  /// The picture as a separate page, in which entities can be searched for; a click on one shows only its lines.
  ///
  /// - Parameter title: The title of the page.
  /// - Throws: `.limitExceeded` if the model is too large to be laid out.
  package func page(title: String) throws(PersistentStoreError) -> String {
    let picture = try embeddedSVG { "#entity-\($0)" }
    var body = "<header><h1>\(Markup.escaped(Markup.visible(title)))</h1>\n"
    body += "<p class=\"tools\"><label>Find <input id=\"find\" type=\"search\" autocomplete=\"off\"></label>"
    body += " <button id=\"smaller\" aria-label=\"Smaller\">−</button>"
    body +=
      " <button id=\"larger\" aria-label=\"Larger\">+</button> <button id=\"all\">Everything</button></p></header>\n"
    body += "<main class=\"canvas\" tabindex=\"0\" aria-label=\"Diagram\">\(picture)</main>\n"
    if isComparison {
      body += "<p class=\"legend\"><span class=\"added\">+ added</span> <span class=\"removed\">− removed</span>"
      body += " <span class=\"changed\">~ changed</span></p>\n"
    }
    return Page(
      title: title, body: body, style: PageStyle.common + SVGDrawing.style + PageStyle.diagram,
      script: DiagramScript.text
    ).text
  }
}

/// What makes a diagram on a page react.
enum DiagramScript {
  static let text = """
    (function () {
      'use strict';
      var svg = document.querySelector('svg.diagram');
      if (!svg) return;
      var boxes = Array.from(svg.querySelectorAll('.box'));
      var lines = Array.from(svg.querySelectorAll('.line'));
      function choose(test) {
        var near = {};
        var any = false;
        boxes.forEach(function (box) { if (test(box)) { near[box.dataset.box] = true; any = true; } });
        lines.forEach(function (line) {
          var ends = line.dataset.ends.split(' ');
          line.classList.toggle('dim', any && !near[ends[0]] && !near[ends[1]]);
        });
        boxes.forEach(function (box) {
          var touched = near[box.dataset.box] || lines.some(function (line) {
            var ends = line.dataset.ends.split(' ');
            return ends[0] === box.dataset.box && near[ends[1]] || ends[1] === box.dataset.box && near[ends[0]];
          });
          box.classList.toggle('dim', any && !touched);
        });
      }
      function all() { choose(function () { return false; }); }
      var find = document.getElementById('find');
      if (find && document.getElementById('smaller')) {
        boxes.forEach(function (box) {
          box.addEventListener('click', function (event) {
            event.preventDefault();
            choose(function (other) { return other === box; });
          });
        });
        find.addEventListener('input', function () {
          var text = find.value.toLowerCase();
          if (!text) return all();
          choose(function (box) { return box.textContent.toLowerCase().indexOf(text) >= 0; });
        });
        document.getElementById('all').addEventListener('click', function () { find.value = ''; all(); });
        document.addEventListener('keydown', function (event) { if (event.key === 'Escape') all(); });
      }
      var width = svg.viewBox.baseVal.width, height = svg.viewBox.baseVal.height, scale = 1;
      function zoom(factor) {
        scale = Math.min(4, Math.max(0.1, scale * factor));
        svg.setAttribute('width', Math.round(width * scale));
        svg.setAttribute('height', Math.round(height * scale));
      }
      var smaller = document.getElementById('smaller'), larger = document.getElementById('larger');
      /* A picture that is a little too wide is fitted; one that would become unreadable is not. */
      var room = svg.parentNode.clientWidth;
      if (width > room && width * 0.6 < room) zoom(room / width);
      if (smaller) smaller.addEventListener('click', function () { zoom(1 / 1.25); });
      if (larger) larger.addEventListener('click', function () { zoom(1.25); });
    })();
    """
}
