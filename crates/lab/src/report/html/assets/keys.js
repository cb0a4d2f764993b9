// Moves among the points of a plot with the keyboard: left and right within a line, up and down between lines, or between
// the cells of a column of a heat map.

// Points within this many pixels have the same place on an axis.
const SAME = 0.5;

const least = (points, measure) =>
  points.reduce((best, one) => (best == null || measure(one) < measure(best) ? one : best), null);

const leftmost = (points) => least(points, (one) => one.x);

// The point that a key leads to from `from`; null if there is none. Points have a series and a place in pixels, y downwards.
function neighbour(points, from, key) {
  const own = points.filter((one) => one.series === from.series);
  if (key === 'Home') return leftmost(own);
  if (key === 'End') return least(own, (one) => -one.x);
  if (key === 'ArrowLeft' || key === 'ArrowRight') {
    const ahead = (one) => (key === 'ArrowRight' ? one.x - from.x : from.x - one.x);
    // Of a column of cells, the one beside this.
    return least(
      own.filter((one) => ahead(one) > SAME),
      (one) => ahead(one) * 1e4 + Math.abs(one.y - from.y),
    );
  }
  const above = (one) => (key === 'ArrowUp' ? from.y - one.y : one.y - from.y);
  const column = own.filter((one) => Math.abs(one.x - from.x) <= SAME);
  const others = [...new Set(points.map((one) => one.series))]
    .filter((series) => series !== from.series)
    .map((series) =>
      least(
        points.filter((one) => one.series === series),
        (one) => Math.abs(one.x - from.x),
      ),
    );
  // Points in the same place follow each other in the order of the list.
  const order = (one) => above(one) * 1e4 + (points.indexOf(one) - points.indexOf(from)) * (key === 'ArrowUp' ? 1 : -1);
  return least(
    [...column, ...others].filter((one) => one !== from && order(one) > 0),
    order,
  );
}

// `points` lists the shown points, `current` is the selected one; `select` selects one, or none with null; `open` opens the
// trials of the selected one; `zoom` shows a part of the x axis around it: 0.5 is half of what is shown, null is all.
function bindKeys(host, { points, current, select, open, zoom }) {
  host.tabIndex = 0;
  // The point that was selected when the focus left.
  let left = null;
  host.addEventListener('focus', () => {
    if (!host.matches(':focus-visible')) return;
    const shown = points();
    select(shown.find((one) => one.point === left) || leftmost(shown));
  });
  host.addEventListener('blur', () => {
    const at = current();
    left = at && at.point;
    select(null);
  });
  host.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const { key } = event;
    const at = current();
    const actions = { Enter: open, ' ': open, Escape: () => select(null), '+': () => zoom(0.5), '-': () => zoom(2), 0: () => zoom(null) };
    if (/^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(key)) {
      const shown = points();
      const from = at && shown.find((one) => one.point === at.point);
      const next = from ? neighbour(shown, from, key) : leftmost(shown);
      if (next) select(next);
    } else if (actions[key]) actions[key]();
    else return;
    event.preventDefault();
  });
}
