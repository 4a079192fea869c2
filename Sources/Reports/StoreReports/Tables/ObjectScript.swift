/// One object with all of its values and the trail by which one came, search, and addresses that lead to an object or
/// to the rows of a table.
enum ObjectScript {
  static let text = panel + navigation

  private static let panel = #"""
      var panel = element('aside'), before = null, trail = [], lastView = '';
      panel.id = 'object';
      panel.hidden = true;
      panel.tabIndex = -1;
      panel.setAttribute('aria-label', 'Object');
      document.body.appendChild(panel);
      function close() {
        if (panel.hidden) return;
        panel.hidden = true;
        trail = [];
        history.replaceState(null, '', lastView || location.pathname + location.search);
        if (before && before.isConnected) before.focus();
      }
      /* Shows the objects of one entity that refer to an object by a property. */
      function openTable(index, column, object) {
        var view = views[index];
        if (!view) return;
        clear(view);
        view.filters[column] = { values: [object] };
        view.facet.hidden = true;
        panel.hidden = true;
        trail = [];
        redraw(view);
        lastView = location.hash;
        view.node.closest('section').scrollIntoView();
        view.node.querySelector('button').focus({ preventScroll: true });
      }
      function entityOf(number) {
        return entities.findIndex(function (entity) { return number >= entity.first && number < entity.first + entity.count; });
      }
      function tables(node, object, column, members) {
        var counts = {};
        members.forEach(function (member) { if (member.number !== undefined) counts[entityOf(member.number)] = (counts[entityOf(member.number)] || 0) + 1; });
        Object.keys(counts).forEach(function (index) {
          var inverse = entities[index].columns.findIndex(function (other) { return (other.property || other.name) === column.inverse; });
          if (inverse < 0) return;
          node.appendChild(document.createTextNode(' '));
          node.appendChild(button('Table', 'Table of these objects of ' + entities[index].title, function () { openTable(index, inverse, object); }));
        });
      }
      function present(answer) {
        var bar = element('p'), parts = [bar];
        bar.appendChild(button('Close', null, close));
        if (answer.problem) return panel.replaceChildren(bar, element('p', answer.problem, 'error'));
        var object = answer.object, columns = entities[answer.entity].columns, list = element('dl');
        var known = trail.findIndex(function (other) { return other.number === object.number; });
        if (known >= 0) trail.length = known;
        trail.push(object);
        if (trail.length > 1) {
          var path = element('nav', null, 'trail');
          path.setAttribute('aria-label', 'Trail');
          trail.slice(-8).forEach(function (step, index, all) {
            if (index > 0) path.appendChild(document.createTextNode(' › '));
            path.appendChild(index + 1 < all.length ? link(step) : element('span', step.label));
          });
          parts.push(path);
        }
        answer.values.forEach(function (value, index) {
          var column = columns[index], name = column.name;
          if (column.kind === 'many' && value !== null) name += ' (' + grouped(value.total) + ')';
          list.appendChild(element('dt', name));
          var node = fillWhole(element('dd'), column, value, answer.contents[index]);
          if (column.kind === 'many' && value !== null && column.inverse) tables(node, object, column, value.members);
          list.appendChild(node);
        });
        answer.incoming.forEach(function (other) {
          list.appendChild(element('dt', 'in ' + entities[other.entity].columns[other.column].name));
          var node = element('dd', counted(other.count, 'object') + ' of ' + entities[other.entity].title + ' ');
          node.appendChild(button('Table', 'Table of these objects of ' + entities[other.entity].title, function () { openTable(other.entity, other.column, object); }));
          list.appendChild(node);
        });
        parts.push(element('h2', object.label), element('p', object.reference, 'soft'), list);
        panel.replaceChildren.apply(panel, parts);
      }
      function show() {
        var match = /^#object-(\d+)$/.exec(location.hash);
        if (!match) { panel.hidden = true; trail = []; return restore(); }
        if (panel.hidden) before = document.activeElement;
        source.object(Number(match[1])).then(function (answer) {
          present(answer);
          panel.hidden = false;
          panel.scrollTop = 0;
          panel.focus({ preventScroll: true });
        });
      }

    """#

  private static let navigation = #"""
      /* What a filter remembers of a value. */
      function kept(value) {
        return Number.isInteger(value.number) ? { number: value.number, uri: value.uri, label: String(value.label) }
          : { text: value.text, literal: typeof value.literal === 'string' ? value.literal : null };
      }
      /* What an address says that someone sent: only texts, numbers and lists of them are used. */
      function safeFilter(filter, kind) {
        var safe = {};
        var names = kind === 'text' ? ['contains'] : kind === 'number' || kind === 'date' ? ['from', 'to', 'below'] : [];
        names.forEach(function (name) { if (typeof filter[name] === 'string') safe[name] = filter[name]; });
        if (typeof filter.empty === 'boolean') safe.empty = filter.empty;
        if (Array.isArray(filter.values)) {
          safe.values = filter.values.filter(function (value) { return value && (typeof value.text === 'string' || Number.isInteger(value.number) && typeof value.uri === 'string'); })
            .map(kept);
        }
        return safe;
      }
      function restore() {
        lastView = location.hash;
        var match = /^#entity-(\d+)\?(.*)$/.exec(location.hash), view = match && views[Number(match[1])];
        if (!view) return;
        var values = new URLSearchParams(match[2]), sort = /^(-?)(\d+)$/.exec(values.get('sort') || ''), filters = {};
        clear(view);
        if (source.isEditable) view.typed = values.get('where') || '';
        try { filters = JSON.parse(values.get('filters') || '{}') || {}; } catch (_) { filters = {}; }
        view.columns.forEach(function (column, index) { if (filters[index] && typeof filters[index] === 'object') view.filters[index] = safeFilter(filters[index], column.kind); });
        if (sort && view.columns[sort[2]] && isSortable(view.columns[sort[2]])) { view.sort = Number(sort[2]); view.descends = sort[1] === '-'; }
        if (values.get('columns') !== null) {
          view.shown = values.get('columns').split('.').filter(Boolean).map(Number)
            .filter(function (index, place, all) { return view.columns[index] && all.indexOf(index) === place; });
        }
        view.grouping = groupingOf(view, values.get('group'));
        redraw(view);
        view.node.closest('section').scrollIntoView();
      }
      document.querySelectorAll('.rows').forEach(function (node) {
        var view = prepare(node);
        if (!source.isEditable) return load(view, 0);
        /* Asked for when it comes into sight. */
        var watcher = new IntersectionObserver(function (entries) {
          if (!entries.some(function (entry) { return entry.isIntersecting; })) return;
          watcher.disconnect();
          if (view.turn === 0) load(view, 0);
        }, { rootMargin: '400px' });
        watcher.observe(node);
      });
      window.addEventListener('hashchange', show);
      /* A link to where the page is already changes nothing by itself. */
      document.addEventListener('click', function (event) {
        var anchor = event.target.closest && event.target.closest('a[href^="#object-"]');
        if (!anchor) return;
        if (!panel.contains(anchor)) trail = [];
        if (!/^#object-/.test(location.hash)) lastView = location.hash;
        if (anchor.getAttribute('href') === location.hash) show();
      });
      var search = document.getElementById('search'), hits = document.getElementById('hits'), timer = null, searches = 0;
      function look() {
        var wanted = search.value.trim(), turn = ++searches;
        if (!wanted) { hits.hidden = true; return hits.replaceChildren(); }
        source.search(wanted).then(function (answer) {
          if (turn !== searches) return;
          hits.hidden = false;
          if (answer.problem) return hits.replaceChildren(element('p', answer.problem, 'error'));
          var list = element('ol'), count = answer.hits.length;
          answer.hits.forEach(function (hit) {
            var item = element('li');
            item.appendChild(link(hit.object));
            item.appendChild(element('span', ' ' + hit.object.reference + (hit.property ? ' ' + hit.property + ': ' : ''), 'soft'));
            if (hit.value !== null) item.appendChild(document.createTextNode(hit.value.slice(0, 120)));
            list.appendChild(item);
          });
          var title = !answer.isComplete ? 'The first ' + counted(count, 'object') : count === 0 ? 'No object' : counted(count, 'object');
          hits.replaceChildren(element('h2', title + ' with “' + wanted + '”'), list);
        });
      }
      search.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(look, 200); });
      document.addEventListener('keydown', function (event) {
        if (event.key !== 'Escape') return;
        if (!panel.hidden) close(); else if (document.activeElement === search) { search.value = ''; look(); }
      });
      show();
    })();
    """#
}
