import StoreReports

/// What asks for the objects of a page and shows them: tables of 25 rows with a predicate, sorted by any column; one
/// object with all of its values; search.
///
/// It writes names and values as text nodes only, never as markup.
enum BrowserScript {
  static let text = PageScript.opening + parts + tables + navigation

  private static let parts = #"""
      var size = 25, views = {};
      /* Asks the server; the answer has a problem where the question is wrong. */
      function ask(name, values) {
        return fetch(name + '?' + new URLSearchParams(values), { credentials: 'omit', cache: 'no-store' })
          .then(function (answer) { return answer.json(); })
          .catch(function () { return { problem: 'the server does not answer: is atomicstore browse still running?' }; });
      }
      function link(object) {
        var anchor = element('a', object.label.length > 60 ? object.label.slice(0, 59) + '…' : object.label);
        anchor.href = '#object-' + object.number;
        anchor.title = object.reference;
        return anchor;
      }
      function members(node, value) {
        value.members.forEach(function (member, index) {
          if (index > 0) node.appendChild(document.createTextNode(', '));
          node.appendChild(link(member));
        });
        var rest = value.total - value.members.length;
        if (rest > 0) node.appendChild(element('span', ' and ' + grouped(rest) + ' more', 'soft'));
      }
      function cell(kind, value) {
        var node = element('td', null, kind === 'number' ? 'number' : '');
        if (value === null) {
          node.className += ' null';
          node.textContent = '–';
          node.setAttribute('aria-label', 'none');
        } else if (kind === 'one') node.appendChild(link(value));
        else if (kind === 'many') members(node, value);
        else {
          node.textContent = value;
          if (value.length <= (kind === 'other' ? 40 : 28)) node.classList.add('short');
          else if (value.length > 60) node.classList.add('long');
        }
        return node;
      }

    """#

  private static let tables = #"""
      function heading(view, column) {
        var node = element('th', null, column.kind === 'number' ? 'number' : '');
        node.setAttribute('scope', 'col');
        if (column.kind === 'one' || column.kind === 'many') {
          node.textContent = column.title;
          return node;
        }
        var isSorted = view.sort === column.name;
        var button = element('button', column.title + (!isSorted ? '' : view.descends ? ' ▾' : ' ▴'));
        button.type = 'button';
        if (isSorted) node.setAttribute('aria-sort', view.descends ? 'descending' : 'ascending');
        button.addEventListener('click', function () {
          view.descends = isSorted && !view.descends;
          view.sort = column.name;
          view.sortTitle = column.title;
          load(view, 0, 'th');
        });
        node.appendChild(button);
        return node;
      }
      function turn(view, text, label, offset, isThere) {
        var button = element('button', text);
        button.type = 'button';
        button.setAttribute('aria-label', label);
        button.disabled = !isThere;
        button.addEventListener('click', function () { load(view, offset, label); });
        return button;
      }
      function pager(view, answer) {
        var node = element('div', null, 'pager'), total = answer.total, offset = answer.offset;
        var text = total === 0 ? 'no object' : grouped(offset + 1) + '–' + grouped(offset + answer.rows.length) + ' of ' + grouped(total);
        if (total > size) {
          node.appendChild(turn(view, '«', 'First rows', 0, offset > 0));
          node.appendChild(turn(view, '‹', 'Previous rows', Math.max(0, offset - size), offset > 0));
        }
        node.appendChild(element('span', text, 'soft'));
        if (total > size) {
          node.appendChild(turn(view, '›', 'Next rows', offset + size, offset + size < total));
          node.appendChild(turn(view, '»', 'Last rows', Math.floor((total - 1) / size) * size, offset + size < total));
        }
        return node;
      }
      function draw(view, answer, focus) {
        view.body.classList.remove('busy');
        view.error.textContent = answer.problem || '';
        view.error.hidden = !answer.problem;
        view.input.setAttribute('aria-invalid', answer.problem ? 'true' : 'false');
        if (answer.problem) return;
        var table = element('table'), head = element('thead'), body = element('tbody'), titles = element('tr');
        titles.appendChild(element('th', 'object'));
        view.columns.forEach(function (column) { titles.appendChild(heading(view, column)); });
        head.appendChild(titles);
        answer.rows.forEach(function (row) {
          var line = element('tr'), first = element('td', null, 'short'), anchor = element('a', row.reference);
          anchor.href = '#object-' + row.number;
          first.appendChild(anchor);
          line.appendChild(first);
          row.values.forEach(function (value, index) { line.appendChild(cell(view.columns[index].kind, value)); });
          body.appendChild(line);
        });
        table.appendChild(head);
        table.appendChild(body);
        var scroll = element('div', null, 'scroll');
        scroll.tabIndex = 0;
        scroll.setAttribute('role', 'region');
        scroll.setAttribute('aria-label', 'Objects of ' + view.name);
        scroll.appendChild(table);
        view.body.replaceChildren(pager(view, answer), scroll);
        if (!focus) return;
        var next = Array.from(view.body.querySelectorAll('button')).find(function (button) {
          return button.getAttribute('aria-label') === focus || focus === 'th' && button.textContent.indexOf(view.sortTitle + ' ') === 0;
        });
        if (next && !next.disabled) next.focus();
      }
      function load(view, offset, focus) {
        var values = { entity: view.index, offset: offset }, turn = ++view.turn;
        if (view.input.value.trim()) values.where = view.input.value.trim();
        if (view.sort !== null) { values.sort = view.sort; values.descending = view.descends ? 1 : 0; }
        view.body.classList.add('busy');
        return ask('rows', values).then(function (answer) { if (turn === view.turn) draw(view, answer, focus); });
      }
      document.querySelectorAll('.rows').forEach(function (node) {
        var view = { index: Number(node.dataset.entity), name: node.dataset.name, columns: JSON.parse(node.dataset.columns), sort: null, descends: false, turn: 0 };
        var form = element('form', null, 'query'), button = element('button', 'Fetch');
        view.input = element('input');
        view.input.setAttribute('aria-label', 'Predicate for ' + view.name);
        view.input.placeholder = 'predicate, such as ' + (view.columns.length ? view.columns[0].title : 'SELF') + ' != nil';
        view.input.autocomplete = 'off';
        view.input.spellcheck = false;
        view.error = element('p', null, 'error');
        view.error.setAttribute('role', 'alert');
        view.error.hidden = true;
        view.body = element('div');
        form.appendChild(view.input);
        form.appendChild(button);
        form.addEventListener('submit', function (event) { event.preventDefault(); load(view, 0); });
        node.replaceChildren(form, view.error, view.body);
        views[view.index] = view;
        /* Asked for when it comes into sight. */
        var watcher = new IntersectionObserver(function (entries) {
          if (!entries.some(function (entry) { return entry.isIntersecting; })) return;
          watcher.disconnect();
          if (view.turn === 0) load(view, 0);
        }, { rootMargin: '400px' });
        watcher.observe(node);
      });

    """#

  private static let navigation = #"""
      var panel = element('aside'), before = null;
      panel.id = 'object';
      panel.hidden = true;
      panel.tabIndex = -1;
      panel.setAttribute('aria-label', 'Object');
      document.body.appendChild(panel);
      function close() {
        if (panel.hidden) return;
        panel.hidden = true;
        history.replaceState(null, '', location.pathname + location.search);
        if (before && before.isConnected) before.focus();
      }
      function present(answer) {
        var bar = element('p'), done = element('button', 'Close');
        done.type = 'button';
        done.addEventListener('click', close);
        bar.appendChild(done);
        if (answer.problem) return panel.replaceChildren(bar, element('p', answer.problem, 'error'));
        var list = element('dl');
        answer.values.forEach(function (property) {
          list.appendChild(element('dt', property.name));
          var value = element('dd');
          if (property.value === null) { value.textContent = '–'; value.className = 'null'; }
          else if (property.kind === 'one') value.appendChild(link(property.value));
          else if (property.kind === 'many') members(value, property.value);
          else value.textContent = property.value;
          list.appendChild(value);
        });
        panel.replaceChildren(bar, element('h2', answer.label || answer.reference), element('p', answer.reference, 'soft'), list);
      }
      function show() {
        var match = /^#object-(\d+)$/.exec(location.hash);
        if (!match) { panel.hidden = true; return; }
        if (panel.hidden) before = document.activeElement;
        ask('object', { number: match[1] }).then(function (answer) {
          present(answer);
          panel.hidden = false;
          panel.scrollTop = 0;
          panel.focus({ preventScroll: true });
        });
      }
      window.addEventListener('hashchange', show);
      document.addEventListener('click', function (event) {
        var anchor = event.target.closest && event.target.closest('a[href^="#object-"]');
        if (anchor && anchor.getAttribute('href') === location.hash) show();
      });
      var search = document.getElementById('search'), hits = document.getElementById('hits'), timer = null, searches = 0;
      function look() {
        var wanted = search.value.trim(), turn = ++searches;
        if (!wanted) { hits.hidden = true; return hits.replaceChildren(); }
        ask('search', { text: wanted }).then(function (answer) {
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
          var title = !answer.isComplete ? 'The first ' + count + ' objects' : count === 0 ? 'No object' : count === 1 ? '1 object' : count + ' objects';
          hits.replaceChildren(element('h2', title + ' with “' + wanted + '”'), list);
        });
      }
      search.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(look, 250); });
      document.addEventListener('keydown', function (event) {
        if (event.key !== 'Escape') return;
        if (!panel.hidden) close(); else if (document.activeElement === search) { search.value = ''; look(); }
      });
      show();
    })();
    """#
}
