/// What asks the server for the objects of a page.
enum BrowserScript {
  static let source = #"""
      /* The answer has a problem where the question is wrong. */
      function ask(name, values) {
        return fetch(name + '?' + new URLSearchParams(values), { credentials: 'omit', cache: 'no-store' })
          .then(function (answer) { return answer.json(); })
          .catch(function () { return { problem: 'the server does not answer: is atomicstore browse still running?' }; });
      }
      function askRows(name, asked, values) {
        var column = asked.sort === null ? null : entities[asked.entity].columns[asked.sort];
        values.entity = asked.entity;
        if (asked.where) values.where = asked.where;
        if (column) { values.sort = column.property || column.name; values.descending = asked.descends ? 1 : 0; }
        return ask(name, values);
      }
      var source = {
        isEditable: true,
        rows: function (asked) { return askRows('rows', asked, { offset: asked.offset, limit: asked.limit }); },
        facet: function (asked) { return askRows('facet', asked, { column: asked.column }); },
        groups: function (asked) { return askRows('groups', asked, Object.assign({ by: asked.by, unit: asked.unit }, asked.of === null ? {} : { measure: asked.measure, of: asked.of })); },
        object: function (number) { return ask('object', { number: number }); },
        search: function (text) { return ask('search', { text: text }); }
      };

    """#
}
