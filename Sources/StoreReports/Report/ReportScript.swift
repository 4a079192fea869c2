/// What shows the objects of a page: tables of 25 rows, sorted by any column, links from object to object, search.
///
/// It writes names and values as text nodes only, never as markup.
enum ReportScript {
  static let text = PageScript.opening + tables + navigation

  private static let tables = #"""
      var data = JSON.parse(document.getElementById('data').textContent);
      var entities = data.entities, size = 25, views = {};
      var labels = ['name', 'title', 'displayName', 'fullName', 'label', 'caption', 'subject', 'text', 'identifier'];
      entities.forEach(function (entity) {
        entity.count = entity.references.length;
        entity.label = -1;
        for (var i = 0; i < labels.length && entity.label < 0; i++) {
          entity.label = entity.columns.findIndex(function (column) {
            return column.kind === 'text' && column.name.toLowerCase() === labels[i].toLowerCase();
          });
        }
      });
      /* The entity and the row of an object by its number. */
      function find(number) {
        for (var index = 0; index < entities.length; index++) {
          var entity = entities[index];
          if (number >= entity.first && number < entity.first + entity.count) return { index: index, row: number - entity.first };
        }
        return null;
      }
      function link(number) {
        var place = find(number), entity = entities[place.index];
        var reference = entity.name + '/' + entity.references[place.row];
        var label = entity.label < 0 ? null : entity.values[entity.label][place.row];
        if (label && label.length > 60) label = label.slice(0, 59) + '…';
        var anchor = element('a', label || reference);
        anchor.href = '#object-' + number;
        anchor.title = reference;
        return anchor;
      }
      function member(value) { return typeof value === 'number' ? link(value) : document.createTextNode(value); }
      function cell(column, value) {
        var node = element('td', null, column.kind === 'number' ? 'number' : '');
        if (value === null) {
          node.className += ' null';
          node.textContent = '–';
          node.setAttribute('aria-label', 'none');
        } else if (column.kind === 'one') {
          node.appendChild(member(value));
        } else if (column.kind === 'many') {
          var shown = Math.min(value.length, 8);
          for (var i = 0; i < shown; i++) {
            if (i > 0) node.appendChild(document.createTextNode(', '));
            node.appendChild(member(value[i]));
          }
          if (value.length > shown) {
            var more = element('details');
            more.appendChild(element('summary', 'more'));
            for (var j = shown; j < value.length; j++) {
              if (j > shown) more.appendChild(document.createTextNode(', '));
              more.appendChild(member(value[j]));
            }
            node.appendChild(more);
          }
        } else {
          node.textContent = value;
          if (value.length <= (column.kind === 'other' ? 40 : 28)) node.classList.add('short'); else if (value.length > 60) node.classList.add('long');
        }
        return node;
      }
      function compare(kind, one, other) {
        if (one === null || other === null) return one === other ? 0 : one === null ? 1 : -1;
        if (kind === 'number') return parseFloat(one) - parseFloat(other) || 0;
        if (kind === 'many') return one.length - other.length;
        return one < other ? -1 : one > other ? 1 : 0;
      }
      function sort(view, column, descends) {
        var entity = entities[view.index], order = [];
        for (var row = 0; row < entity.count; row++) order.push(row);
        if (column !== null) {
          var values = entity.values[column], kind = entity.columns[column].kind;
          order.sort(function (a, b) {
            var result = compare(kind, values[a], values[b]);
            if (values[a] !== null && values[b] !== null && descends) result = -result;
            return result || a - b;
          });
        }
        view.order = order;
        view.column = column;
        view.descends = descends;
        view.page = 0;
      }
      function heading(view, column, index) {
        var node = element('th', null, column.kind === 'number' ? 'number' : '');
        var arrow = view.column !== index ? '' : view.descends ? ' ▾' : ' ▴';
        var button = element('button', column.name + arrow);
        button.type = 'button';
        node.setAttribute('scope', 'col');
        if (view.column === index) node.setAttribute('aria-sort', view.descends ? 'descending' : 'ascending');
        button.addEventListener('click', function () {
          sort(view, index, view.column === index && !view.descends);
          draw(view);
          view.node.querySelectorAll('th button')[index].focus();
        });
        node.appendChild(button);
        return node;
      }
      function turn(view, text, label, page, isThere) {
        var button = element('button', text);
        button.type = 'button';
        button.setAttribute('aria-label', label);
        button.disabled = !isThere;
        button.addEventListener('click', function () {
          view.page = page;
          draw(view);
          var next = view.node.querySelector('button[aria-label="' + label + '"]');
          if (next && !next.disabled) next.focus();
        });
        return button;
      }
      function pager(view) {
        var entity = entities[view.index], pages = Math.ceil(entity.count / size);
        var node = element('div', null, 'pager');
        var last = Math.min(entity.count, (view.page + 1) * size);
        var text = grouped(view.page * size + 1) + '–' + grouped(last) + ' of ' + grouped(entity.count);
        if (entity.count < entity.total) text += ' on this page, of ' + grouped(entity.total) + ' in the store';
        if (pages > 1) {
          node.appendChild(turn(view, '«', 'First rows', 0, view.page > 0));
          node.appendChild(turn(view, '‹', 'Previous rows', view.page - 1, view.page > 0));
        }
        node.appendChild(element('span', text, 'soft'));
        if (pages > 1) {
          node.appendChild(turn(view, '›', 'Next rows', view.page + 1, view.page + 1 < pages));
          node.appendChild(turn(view, '»', 'Last rows', pages - 1, view.page + 1 < pages));
        }
        return node;
      }
      function draw(view) {
        var entity = entities[view.index], table = element('table'), head = element('thead'), body = element('tbody');
        var titles = element('tr');
        titles.appendChild(element('th', 'object'));
        entity.columns.forEach(function (column, index) { titles.appendChild(heading(view, column, index)); });
        head.appendChild(titles);
        view.order.slice(view.page * size, (view.page + 1) * size).forEach(function (row) {
          var line = element('tr');
          line.id = 'object-' + (entity.first + row);
          line.tabIndex = -1;
          line.appendChild(element('td', entity.references[row], 'soft'));
          entity.columns.forEach(function (column, index) { line.appendChild(cell(column, entity.values[index][row])); });
          body.appendChild(line);
        });
        table.appendChild(head);
        table.appendChild(body);
        var scroll = element('div', null, 'scroll');
        scroll.appendChild(table);
        scroll.tabIndex = 0;
        scroll.setAttribute('role', 'region');
        scroll.setAttribute('aria-label', 'Objects of ' + entity.name);
        view.node.replaceChildren(pager(view), scroll);
      }

    """#

  private static let navigation = #"""
      document.querySelectorAll('.rows').forEach(function (node) {
        var view = { index: Number(node.dataset.entity), node: node };
        if (!entities[view.index].count) return;
        sort(view, null, false);
        views[view.index] = view;
        draw(view);
      });
      var marked = null;
      function show() {
        var match = /^#object-(\d+)$/.exec(location.hash), place = match && find(Number(match[1]));
        if (marked) marked.classList.remove('target');
        if (!place) return;
        var view = views[place.index];
        view.page = Math.floor(view.order.indexOf(place.row) / size);
        draw(view);
        marked = document.getElementById('object-' + match[1]);
        marked.classList.add('target');
        marked.focus({ preventScroll: true });
        marked.scrollIntoView({ block: 'center' });
      }
      window.addEventListener('hashchange', show);
      /* A link to where the page is already changes nothing by itself. */
      document.addEventListener('click', function (event) {
        var anchor = event.target.closest && event.target.closest('a[href^="#object-"]');
        if (anchor && anchor.getAttribute('href') === location.hash) show();
      });
      var search = document.getElementById('search'), hits = document.getElementById('hits'), timer = null;
      function text(value) { return Array.isArray(value) ? '' : typeof value === 'number' ? '' : value || ''; }
      function look() {
        var wanted = search.value.trim().toLowerCase(), limit = 200, list = element('ol'), count = 0;
        hits.hidden = !wanted;
        if (!wanted) return hits.replaceChildren();
        for (var index = 0; index < entities.length && count < limit; index++) {
          var entity = entities[index];
          for (var row = 0; row < entity.count && count < limit; row++) {
            for (var column = -1; column < entity.columns.length; column++) {
              var value = column < 0 ? entity.name + '/' + entity.references[row] : text(entity.values[column][row]);
              var place = value.toLowerCase().indexOf(wanted);
              if (place < 0) continue;
              var item = element('li');
              item.appendChild(link(entity.first + row));
              var name = entity.name + (column < 0 ? '/' + entity.references[row] : '.' + entity.columns[column].name + ': ');
              item.appendChild(element('span', ' ' + name, 'soft'));
              if (column >= 0) {
                var start = Math.max(0, place - 30);
                item.appendChild(document.createTextNode((start ? '…' : '') + value.slice(start, place + wanted.length + 60)));
              }
              list.appendChild(item);
              count++;
              break;
            }
          }
        }
        var title = count ? (count === limit ? 'The first ' + limit + ' objects' : count === 1 ? '1 object' : count + ' objects') : 'No object';
        hits.replaceChildren(element('h2', title + ' with “' + search.value.trim() + '”'), list);
      }
      search.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(look, 150); });
      search.addEventListener('keydown', function (event) {
        if (event.key === 'Escape') { search.value = ''; look(); }
      });
      show();
    })();
    """#
}
