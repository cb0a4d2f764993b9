// The plots of the page: `data.views` describes them, `data.rows` has the figures.

function seriesOf(view) {
  const byTarget = new Map();
  view.rows.forEach((number) => {
    const row = data.rows[number];
    const list = byTarget.get(row.target) || byTarget.set(row.target, []).get(row.target);
    const range = view.y === 'rate' ? row.rateInterval : view.y === 'p99' ? row.p99Interval : null;
    list.push({ x: row[view.x], y: row[view.y], along: row[view.along], range, isTrusted: row.isTrusted, row: number });
  });
  const targets = [...byTarget.keys()].sort((a, b) => a - b);
  return targets.map((target) => ({ target, points: byTarget.get(target).sort((a, b) => a.along - b.along) }));
}

// Linear scaling from the first point.
function idealOf(series) {
  const first = series.points.find((p) => p.y != null);
  const last = series.points[series.points.length - 1];
  if (!first || !last || last.x === first.x) return [];
  const points = [first.x, last.x].map((x) => ({ x, y: (first.y / first.x) * x }));
  return [{ target: series.target, dash: true, points }];
}

function drawView(figure, view) {
  const series = seriesOf(view);
  const ideal = view.ideal ? series.flatMap(idealOf) : [];
  const ticks =
    view.x === view.along ? [...new Set(series.flatMap((s) => s.points.map((p) => p.x)))].sort((a, b) => a - b) : null;
  plot(figure.querySelector('.plot'), {
    x: { figure: view.x, isLog: view.xLog, ticks, fromZero: view.x !== 'connections' && view.x !== 'offered' },
    y: { figure: view.y, isLog: view.yLog },
    series: [...ideal, ...series],
    offered: view.offered,
    describe: (point) => describeRow(point.row, view.y, point.y),
  });
}

const PERCENTILES = new Map([
  [1, '0 %'],
  [2, '50 %'],
  [10, '90 %'],
  [100, '99 %'],
  [1e3, '99.9 %'],
  [1e4, '99.99 %'],
  [1e5, '99.999 %'],
  [1e6, '99.9999 %'],
]);
const percentile = (odds) =>
  PERCENTILES.get(odds) || (100 * (1 - 1 / odds)).toFixed(Math.max(1, Math.ceil(Math.log10(odds)))) + ' %';

function drawSpectrum(host, rows) {
  const series = rows
    .filter((n) => data.rows[n].spectrum.length)
    .map((n) => {
      const row = data.rows[n];
      const points = row.spectrum.map((y, i) => ({ x: data.odds[i], y, row: n }));
      return { target: row.target, points };
    });
  return plot(host, {
    x: {
      name: 'percentile',
      tick: percentile,
      unit: '',
      label: 'percentile of requests (log scale of the rest)',
      isLog: true,
      ticks: [...PERCENTILES.keys()],
    },
    y: { figure: 'response', isLog: true },
    series,
    isBare: true,
    describe: (point, s) => {
      const content = describeRow(point.row, 'response', point.y);
      content.figures = [
        [percentile(point.x) + ' within', time(point.y)],
        ['repeats, added up', String(data.rows[point.row].done)],
      ];
      return content;
    },
  });
}

function drawSeconds(host, rows, key) {
  let warmup = 0;
  const stops = rows.flatMap((n) => (data.rows[n].seconds ? data.rows[n].seconds.stops : []));
  const series = rows
    .filter((n) => data.rows[n].seconds)
    .map((n) => {
      const { at, warm, repeat } = data.rows[n].seconds;
      warmup = Math.max(warmup, warm);
      const points = at.map((x, i) => ({ x, y: data.rows[n].seconds[key][i], row: n, repeat }));
      return { target: data.rows[n].target, points };
    });
  return plot(host, {
    x: { figure: 'second', label: stops.length ? 'seconds; shaded: warm-up; red: down or throttled' : 'seconds since the load began; shaded: warm-up', fromZero: true },
    y: { figure: key, isLog: false },
    series,
    warmup,
    stops,
    describe: (point) => {
      const content = describeRow(point.row, key, point.y);
      content.figures = [
        [FIGURES[key].name, FIGURES[key].show(point.y)],
        ['until', point.x.toFixed(1) + ' s'],
        ['repeat', String(point.repeat)],
        ...stops.filter((stop) => stop.from - 0.5 <= point.x && point.x <= stop.until + 0.5).map((stop) => ['then', stop.words]),
      ];
      return content;
    },
  });
}

// Distribution and time series of the selected load.
function bindLoads() {
  const choice = document.getElementById('load');
  if (!choice) return;
  let shown = [];
  const show = () => {
    shown.forEach((plot) => plot && plot.remove());
    const load = Number(choice.value);
    const rows = data.rows.map((_, n) => n).filter((n) => data.rows[n].load === load);
    const host = (name) => document.querySelector(`[data-detail="${name}"] .plot`);
    shown = [
      drawSpectrum(host('spectrum'), rows),
      ...['rate', 'p99', 'cpu'].map((key) => drawSeconds(host(key), rows, key)),
      ...drawHeats(rows),
    ];
    document.querySelectorAll('[data-detail]').forEach((card) => {
      card.classList.toggle('empty', !card.querySelector('.uplot'));
    });
  };
  choice.addEventListener('change', show);
  show();
}
