/// Numbers and dates, counted in ranges whose ends are round.
enum DistributionScript {
  static let text = #"""
      /* The ends of about ten ranges from the least to the greatest; none if there is nothing between them. */
      function starts(least, greatest, kind) {
        var place, end, list = [];
        if (!(least < greatest) || !isFinite(greatest - least)) return list;
        if (kind !== 'date') {
          var raw = (greatest - least) / 8, power = Math.pow(10, Math.floor(Math.log10(raw)));
          var digit = [1, 2, 5, 10].find(function (step) { return step * power >= raw; }) || 10;
          /* Divided where a step is a fraction: then the end of a range is the nearest number to what is shown. */
          var step = digit * power, parts = power < 1 ? Math.round(1 / power) : 0;
          end = function (index) { return parts ? index * digit / parts : index * step; };
          place = Math.floor(least / step);
        } else {
          var seconds = [1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200, 86400, 604800].find(function (step) { return (greatest - least) / step <= 12; });
          var months = [1, 3, 6, 12, 24, 60, 120, 240, 600, 1200, 6000, 12000, 60000].find(function (step) { return (greatest - least) / (step * 2629746) <= 12; }) || 120000;
          var first = new Date(least * 1000);
          end = seconds ? function (index) { return index * seconds; } : function (index) { return new Date(0).setUTCFullYear(0, index * months, 1) / 1000; };
          place = Math.floor(seconds ? least / seconds : (first.getUTCFullYear() * 12 + first.getUTCMonth()) / months);
        }
        /* Numbers that are nearly equal, or very small, have no round ends between them. */
        if (!isFinite(end(place)) || !isFinite(end(place + 1)) || Math.abs(place) > 9e15) return list;
        for (var back = 0; back < 3 && end(place) > least; back++) place--;
        for (; list.length < 20 && end(place) <= greatest; place++) {
          if (list.length && !(end(place) > list[list.length - 1])) return [];
          list.push(end(place));
        }
        return list.length > 1 && list.length < 20 ? list : [];
      }
      function bins(numbers, kind) {
        var least = Infinity, greatest = -Infinity;
        numbers.forEach(function (number) { least = Math.min(least, number); greatest = Math.max(greatest, number); });
        /* Beyond these, dates are not dates, and numbers here are not exactly those of the store. */
        var limit = kind === 'date' ? 8e12 : 9e15;
        var ends = Math.max(Math.abs(least), Math.abs(greatest)) > limit ? [] : starts(least, greatest, kind), counts = ends.map(function () { return 0; });
        numbers.forEach(function (number) {
          var bin = ends.length - 1;
          while (bin > 0 && number < ends[bin]) bin--;
          counts[bin]++;
        });
        function text(number) {
          if (kind !== 'date') return String(number);
          var date = new Date(number * 1000).toISOString().replace('.000Z', 'Z');
          return /T00:00:00Z$/.test(date) && /^\d{4}-/.test(date) ? date.slice(0, 10) : date;
        }
        return ends.map(function (start, index) {
          return { from: text(start), below: index + 1 < ends.length ? text(ends[index + 1]) : null, count: counts[index] };
        });
      }

    """#
}
