/// What filters a page about two stores: by kind of difference, entity, property and text. The address has what is
/// chosen, so that it leads to the same rows.
enum ComparisonScript {
  static let text = #"""
    (function () {
      'use strict';
      var filter = document.getElementById('filter'), property = document.getElementById('property'), entity = document.getElementById('entity'), timer = null;
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
        });
        document.querySelectorAll('#objects > section').forEach(function (section) {
          section.hidden = entity.value !== '' && section.id !== 'entity-' + entity.value || !section.querySelector('.group:not([hidden])');
          if (!section.hidden) any = true;
        });
        document.getElementById('none').hidden = any;
      }
      function change() {
        var values = new URLSearchParams(), without = boxes.filter(function (box) { return !box.checked; }).map(function (box) { return box.dataset.kind; });
        if (without.length) values.set('without', without.join('.'));
        [['entity', entity], ['property', property], ['text', filter]].forEach(function (field) { if (field[1].value) values.set(field[0], field[1].value); });
        history.replaceState(null, '', values.toString() ? '#filter?' + values : location.pathname + location.search);
        apply();
      }
      function restore() {
        var match = /^#filter\?(.*)$/.exec(location.hash), values = new URLSearchParams(match ? match[1] : ''), without = (values.get('without') || '').split('.');
        if (!match) return;
        boxes.forEach(function (box) { box.checked = without.indexOf(box.dataset.kind) < 0; });
        [['entity', entity], ['property', property]].forEach(function (field) {
          field[1].value = values.get(field[0]) || '';
          if (field[1].selectedIndex < 0) field[1].value = '';
        });
        filter.value = values.get('text') || '';
        apply();
      }
      boxes.concat(property, entity).forEach(function (field) { field.addEventListener('change', change); });
      filter.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(change, 150); });
      filter.addEventListener('keydown', function (event) { if (event.key === 'Escape') { filter.value = ''; change(); } });
      window.addEventListener('hashchange', restore);
      restore();
    })();
    """#
}
