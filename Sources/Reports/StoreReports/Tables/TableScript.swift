/// Tables of 25 rows: the columns that were chosen, sorted by any of them, with links from object to object, and what
/// is shown as a file or as a command.
///
/// It writes names and values as text nodes only, never as markup.
enum TableScript {
  static let text = cells + heads + parts

  private static let cells = #"""
      var size = 25;
      function link(object) {
        var label = object.label.length > 60 ? object.label.slice(0, 59) + '…' : object.label;
        if (object.number === undefined) return document.createTextNode(label);
        var anchor = element('a', label);
        anchor.href = '#object-' + object.number;
        anchor.title = object.reference;
        return anchor;
      }
      function members(node, value, limit) {
        function add(parent, from, to) {
          value.members.slice(from, to).forEach(function (member, index) {
            if (index > 0) parent.appendChild(document.createTextNode(', '));
            parent.appendChild(link(member));
          });
        }
        var rest = value.total - value.members.length;
        add(node, 0, limit);
        if (value.members.length > limit) {
          var more = element('details');
          more.appendChild(element('summary', 'more'));
          add(more, limit);
          node.appendChild(more);
        }
        if (rest > 0) node.appendChild(element('span', ' and ' + grouped(rest) + ' more', 'soft'));
      }
      function fill(node, kind, value, limit) {
        if (value === null) {
          node.className += ' null';
          node.textContent = '–';
          node.setAttribute('aria-label', 'none');
        } else if (kind === 'one') node.appendChild(link(value));
        else if (kind === 'many') members(node, value, limit);
        else {
          node.textContent = value;
          node.classList.add(value.length > 60 ? 'long' : value.length <= (kind === 'text' ? 28 : 40) ? 'short' : 'medium');
        }
        return node;
      }

    """#

  private static let heads = #"""
      function isSortable(column) { return ['text', 'number', 'date', 'boolean', 'other'].indexOf(column.kind) >= 0; }
      function heading(view, index) {
        var column = view.columns[index], isSorted = view.sort === index, node = element('th', null, column.kind === 'number' ? 'number' : '');
        node.setAttribute('scope', 'col');
        if (isSorted) node.setAttribute('aria-sort', view.descends ? 'descending' : 'ascending');
        if (isSortable(column)) {
          node.appendChild(button(column.name + (!isSorted ? '' : view.descends ? ' ▾' : ' ▴'), null, function () {
            view.descends = view.sort === index && !view.descends;
            view.sort = index;
            change(view, '.sort-' + index);
          })).className = 'sort-' + index;
        } else node.appendChild(document.createTextNode(column.name));
        var open = node.appendChild(button('⋮', 'Filter ' + column.name, function () { choose(view, view.open === index ? null : index); }));
        open.className = 'filter-' + index + (isEmpty(view.filters[index]) ? '' : ' active');
        open.setAttribute('aria-expanded', view.open === index ? 'true' : 'false');
        return node;
      }
      function pager(view, answer) {
        var node = element('div', null, 'pager'), total = answer.total, offset = answer.offset;
        var text = total === 0 ? 'no object' : grouped(offset + 1) + '–' + grouped(offset + answer.rows.length) + ' of ' + grouped(total);
        if (view.count < view.total) text += ' on this page, of ' + grouped(view.total) + ' in the store';
        function turn(symbol, label, place, isThere) {
          var control = button(symbol, label, function () { load(view, place, 'button[aria-label="' + label + '"]'); });
          control.disabled = !isThere;
          node.appendChild(control);
        }
        if (total > size) {
          turn('«', 'First rows', 0, offset > 0);
          turn('‹', 'Previous rows', Math.max(0, offset - size), offset > 0);
        }
        node.appendChild(element('span', text, 'soft'));
        if (total > size) {
          turn('›', 'Next rows', offset + size, offset + size < total);
          turn('»', 'Last rows', Math.floor((total - 1) / size) * size, offset + size < total);
        }
        return node;
      }
      function draw(view, answer, focus) {
        view.body.classList.remove('busy');
        view.error.textContent = answer.problem || '';
        view.error.hidden = !answer.problem;
        if (view.input) view.input.setAttribute('aria-invalid', answer.problem ? 'true' : 'false');
        if (answer.problem) return;
        var table = element('table'), head = element('thead'), body = element('tbody'), titles = element('tr');
        titles.appendChild(element('th', 'object'));
        view.shown.forEach(function (index) { titles.appendChild(heading(view, index)); });
        head.appendChild(titles);
        answer.rows.forEach(function (row) {
          var line = element('tr'), first = element('td', null, 'short'), anchor = element('a', row.reference);
          anchor.href = '#object-' + row.number;
          first.appendChild(anchor);
          line.appendChild(first);
          view.shown.forEach(function (index) {
            var kind = view.columns[index].kind;
            line.appendChild(fill(element('td', null, kind === 'number' ? 'number' : ''), kind, row.values[index], 8));
          });
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
        var next = focus && view.node.querySelector(focus);
        if (next && !next.disabled) next.focus();
      }
      function question(view) {
        return { entity: view.index, filters: view.filters, where: predicate(view), sort: view.sort, descends: view.descends };
      }
      function load(view, offset, focus) {
        var turn = ++view.turn, asked = question(view);
        asked.offset = offset;
        asked.limit = size;
        if (asked.where === null && source.isEditable) return Promise.resolve(draw(view, { problem: 'A filter is not a value of its column.' }));
        view.body.classList.add('busy');
        return source.rows(asked).then(function (answer) { if (turn === view.turn) draw(view, answer, focus); });
      }
      /* After another choice of rows: they are shown from the first, and the address leads to them. */
      function change(view, focus) {
        if (view.input) view.input.value = predicate(view) || '';
        setAddress(view);
        controls(view);
        drawGroups(view);
        return load(view, 0, focus);
      }

    """#

  private static let parts = #"""
      function setAddress(view) { history.replaceState(null, '', '#' + address(view)); }
      function address(view) {
        var values = new URLSearchParams(), filters = {};
        Object.keys(view.filters).forEach(function (index) { if (!isEmpty(view.filters[index])) filters[index] = view.filters[index]; });
        if (view.typed) values.set('where', view.typed);
        if (Object.keys(filters).length) values.set('filters', JSON.stringify(filters));
        if (view.sort !== null) values.set('sort', (view.descends ? '-' : '') + view.sort);
        if (view.shown.length !== view.columns.length || view.shown.some(function (column, index) { return column !== index; })) values.set('columns', view.shown.join('.'));
        if (view.grouping) values.set('group', [view.grouping.by, view.grouping.unit, view.grouping.measure, view.grouping.of === null ? '' : view.grouping.of].join('.'));
        var text = values.toString();
        return 'entity-' + view.index + (text ? '?' + text : '');
      }
      /* All rows, with their values as the page shows them. */
      function all(view) {
        var rows = [];
        function more() {
          var asked = question(view);
          asked.offset = rows.length;
          asked.limit = 1000;
          return source.rows(asked).then(function (answer) {
            if (answer.problem) return Promise.reject(answer.problem);
            rows = rows.concat(answer.rows);
            return answer.rows.length && rows.length < answer.total ? more() : rows;
          });
        }
        return more();
      }
      function plain(kind, value) {
        if (value === null) return null;
        if (kind === 'one') return value.reference;
        if (kind !== 'many') return value;
        var list = value.members.map(function (member) { return member.reference; });
        if (value.total > list.length) list.push('and ' + (value.total - list.length) + ' more');
        return list;
      }
      function file(view, rows, format) {
        var columns = view.shown.map(function (index) { return view.columns[index]; }), text;
        if (format === 'json') {
          text = JSON.stringify(rows.map(function (row) {
            /* A property may have any name, also that of the object itself. */
            var pairs = [[columns.some(function (column) { return column.name === 'object'; }) ? 'objectID' : 'object', view.name + '/' + row.reference]];
            view.shown.forEach(function (index, place) { pairs.push([columns[place].name, plain(columns[place].kind, row.values[index])]); });
            return Object.fromEntries(pairs);
          }), null, 2) + '\n';
        } else {
          var field = function (value) {
            if (value === null) return '';
            if (Array.isArray(value)) value = JSON.stringify(value);
            return value === '' || /[",\r\n]/.test(value) ? '"' + value.replace(/"/g, '""') + '"' : value;
          };
          text = [['object'].concat(columns.map(function (column) { return column.name; }))].concat(rows.map(function (row) {
            return [view.name + '/' + row.reference].concat(view.shown.map(function (index) { return plain(view.columns[index].kind, row.values[index]); }));
          })).map(function (line) { return line.map(field).join(','); }).join('\n') + '\n';
        }
        return new Blob([text], { type: format === 'json' ? 'application/json' : 'text/csv' });
      }
      function save(view, format) {
        all(view).then(function (rows) {
          var anchor = element('a'), url = URL.createObjectURL(file(view, rows, format));
          anchor.href = url;
          anchor.download = view.name + '.' + format;
          document.body.appendChild(anchor);
          anchor.click();
          anchor.remove();
          setTimeout(function () { URL.revokeObjectURL(url); }, 60000);
        }, function (problem) {
          view.error.textContent = problem;
          view.error.hidden = false;
        });
      }

    """#
}
