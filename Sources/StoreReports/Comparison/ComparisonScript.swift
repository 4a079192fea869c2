/// What filters a page about two stores: by kind of difference, property and text.
enum ComparisonScript {
  static let text = #"""
    (function () {
      'use strict';
      var filter = document.getElementById('filter'), property = document.getElementById('property'), timer = null;
      if (!filter) return;
      var boxes = Array.from(document.querySelectorAll('input[data-kind]'));
      function apply() {
        var wanted = filter.value.trim().toLowerCase(), name = property.value, kinds = {}, any = false;
        boxes.forEach(function (box) { kinds[box.dataset.kind] = box.checked; });
        document.querySelectorAll('.group').forEach(function (group) {
          var isThere = false;
          if (kinds[group.dataset.kind]) {
            group.querySelectorAll('tbody').forEach(function (body) {
              /* A row matches by itself, an object by its name in each of its rows. */
              var shown = false;
              Array.from(body.rows).forEach(function (row) {
                var hit = (!name || row.dataset.property === name) && (!wanted || row.textContent.toLowerCase().indexOf(wanted) >= 0);
                row.hidden = !hit;
                row.cells[0].classList.toggle('repeated', hit && shown);
                if (hit) shown = true;
              });
              body.hidden = !shown;
              if (shown) isThere = true;
            });
          }
          group.hidden = !isThere;
          if (isThere) any = true;
        });
        document.querySelectorAll('#objects > section').forEach(function (section) {
          section.hidden = !section.querySelector('.group:not([hidden])');
        });
        document.getElementById('none').hidden = any;
      }
      boxes.forEach(function (box) { box.addEventListener('change', apply); });
      property.addEventListener('change', apply);
      filter.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(apply, 150); });
      filter.addEventListener('keydown', function (event) { if (event.key === 'Escape') { filter.value = ''; apply(); } });
    })();
    """#
}
