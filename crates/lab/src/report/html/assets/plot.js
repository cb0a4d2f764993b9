// One plot. uPlot provides axes, scales and zoom; lines, whiskers and markers are drawn here, because uPlot has neither
// hollow markers nor lines that turn back in x.

const HEIGHT = 300;
// Distances in pixels: hovering selects a point within NEAR; a click opens it within ON, else it may start a double-click.
const NEAR = 40;
const ON = 12;

function padded(low, high, isLog, fromZero) {
  if (isLog) {
    const margin = Math.max(Math.log10(high / low) * 0.04, 0.02);
    return [low / 10 ** margin, high * 10 ** margin];
  }
  const margin = (high - low) * 0.04 || Math.abs(high) * 0.1 || 1;
  return [fromZero ? 0 : low - margin, high + margin];
}

// For less than a decade.
function linearTicks(low, high) {
  const step = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2].map((share) => share * 10 ** Math.floor(Math.log10(high)));
  const size = step.find((one) => (high - low) / one <= 8) || high - low;
  const ticks = [];
  for (let k = Math.ceil(low / size); k * size <= high * 1.0001; k++) ticks.push(k * size);
  return ticks;
}

function logTicks(low, high) {
  const of = (factors) => {
    const ticks = [];
    for (let k = Math.floor(Math.log10(low)); k <= Math.ceil(Math.log10(high)); k++) {
      factors.forEach((factor) => ticks.push(factor * 10 ** k));
    }
    return ticks.filter((tick) => tick >= low * 0.9999 && tick <= high * 1.0001);
  };
  const ticks = of([1, 2, 5]);
  if (ticks.length < 3) return linearTicks(low, high);
  return ticks.length > 8 ? of([1]) : ticks;
}

// Ticks at the measured values, as many as fit, always the last.
function ticksAt(values, room) {
  return (u, axis, low, high) => {
    const within = values.filter((value) => value >= low && value <= high);
    if (within.length < 2) return logTicks(Math.max(low, 1e-3), high);
    const place = (value) => u.valToPos(value, 'x');
    const kept = [];
    within.reverse().forEach((value) => {
      if (!kept.length || place(kept[kept.length - 1]) - place(value) >= room) kept.push(value);
    });
    return kept.reverse();
  };
}

// Text alternative: first and last point of each line.
function wordsOf(series, isPlaced, xFigure, yFigure) {
  const lines = series.filter((line) => !line.dash && line.points.some(isPlaced));
  const ends = lines.map((line) => {
    const placed = line.points.filter(isPlaced);
    const at = (p) => `${yFigure.show(p.y)} at ${xFigure.tick(p.x)}`;
    const last = placed.length > 1 ? ` to ${at(placed[placed.length - 1])}` : '';
    return `${data.targets[line.target]} ${at(placed[0])}${last}`;
  });
  return `${yFigure.name} by ${xFigure.name}: ${ends.join('; ')}`;
}

// spec: {
//   x: { figure, or name, tick and unit; isLog, fromZero, ticks, label },  y: { figure, isLog },
//   series: [{ target, dash, points: [{ x, y, range, isTrusted, row }] }],
//   isDots: no lines,  band: [low, high] around 1,  breaks: values of x with a line,
//   points with a shade are cells of a heat map, as wide as the width of their series,  words: the text alternative,
//   offered: whether x is the value to reach,  warmup: its end,  stops: marked spans of x, with their words,
//   isBare: no markers,  describe(point, series)
// }
function plot(host, spec) {
  const xFigure = FIGURES[spec.x.figure] || spec.x;
  const yFigure = FIGURES[spec.y.figure];
  const isPlaced = (p) => p.y != null && p.x != null && (!spec.y.isLog || p.y > 0) && (!spec.x.isLog || p.x > 0);
  const visible = () => spec.series.filter((series) => !hidden.has(series.target));
  const byX = new Map();
  spec.series.forEach((series) => series.points.filter(isPlaced).forEach((p) => byX.set(p.x, p.y)));
  if (byX.size && spec.x.ends) spec.x.ends.forEach((x) => byX.set(x, byX.get(x) ?? null));
  const xs = [...byX.keys()].sort((a, b) => a - b);
  if (xs.length === 0) return;
  host.setAttribute('role', 'img');
  host.setAttribute('aria-label', spec.words || wordsOf(spec.series, isPlaced, xFigure, yFigure));

  // Visible range of x; uPlot requests it before that of y.
  let [min, max] = [0, 0];
  const xRange = (u, low, high) => {
    const isWhole = low <= xs[0] && high >= xs[xs.length - 1];
    [min, max] = isWhole ? padded(xs[0], xs[xs.length - 1], spec.x.isLog, spec.x.fromZero) : [low, high];
    return [min, max];
  };
  const yRange = () => {
    let [low, high] = [Infinity, -Infinity];
    visible().forEach((series) =>
      series.points.forEach((p) => {
        if (!isPlaced(p) || p.x < min || p.x > max) return;
        const [from, to] = p.range || [p.y, p.y];
        low = Math.min(low, p.y, from > 0 ? from : p.y);
        high = Math.max(high, p.y, to);
      }),
    );
    if (high < low) return [1, 10];
    return padded(low, high > 0 ? high : 1, spec.y.isLog, true);
  };

  const font = '12px system-ui, sans-serif';
  const axis = (figure, label) => ({
    stroke: () => colour('faint'),
    font,
    labelFont: font,
    label,
    labelSize: label ? 22 : 0,
    grid: { stroke: () => colour('grid'), width: 1 },
    ticks: { show: false },
    values: (u, splits) => splits.map((value) => (value == null ? '' : figure.tick(value))),
  });
  const named = xFigure.name + (xFigure.unit && ', ' + xFigure.unit) + (spec.x.isLog ? ' (log scale)' : '');
  const across = axis(xFigure, spec.x.label || named);
  across.grid.show = false;
  across.size = 28;
  if (spec.x.ticks) {
    across.splits = ticksAt(spec.x.ticks, 46);
    across.filter = (u, splits) => splits;
  }
  const up = axis(yFigure, '');
  up.size = 66;
  if (spec.y.isLog) {
    up.splits = (u, i, low, high) => logTicks(low, high);
    up.filter = (u, splits) => splits;
  }

  const at = (u, p, isCanvas) => [u.valToPos(p.x, 'x', isCanvas), u.valToPos(p.y, 'y', isCanvas)];
  const strokeThrough = (ctx, places) => {
    ctx.beginPath();
    places.forEach(([x, y], i) => (i ? ctx.lineTo(x, y) : ctx.moveTo(x, y)));
    ctx.stroke();
  };

  function drawCells(u, series) {
    const ctx = u.ctx;
    ctx.fillStyle = targetColour(series.target);
    series.points.forEach((p) => {
      const [left, right] = [-0.5, 0.5].map((part) => u.valToPos(p.x + part * series.width, 'x', true));
      const [bottom, top] = p.range.map((y) => u.valToPos(y, 'y', true));
      ctx.globalAlpha = 0.1 + (0.9 * p.shade) / (SHADES.length - 1);
      // Whole pixels: cells touch, and do not overlap.
      const [x, y] = [Math.round(left), Math.round(top)];
      ctx.fillRect(x, y, Math.max(Math.round(right) - x, 1), Math.max(Math.round(bottom) - y, 1));
    });
    ctx.globalAlpha = 1;
  }

  function drawSeries(u, series, ratio) {
    if (series.width) return drawCells(u, series);
    const ctx = u.ctx;
    ctx.globalAlpha = focused == null || focused === series.target ? 1 : 0.12;
    ctx.strokeStyle = targetColour(series.target);
    ctx.setLineDash(series.dash ? [4 * ratio, 4 * ratio] : []);
    ctx.lineWidth = (series.dash ? 1 : 2) * ratio;
    let part = [];
    const end = () => {
      if (part.length > 1) strokeThrough(ctx, part);
      part = [];
    };
    if (!spec.isDots) series.points.forEach((p) => (isPlaced(p) ? part.push(at(u, p, true)) : end()));
    end();
    if (series.dash) return;
    ctx.lineWidth = ratio;
    series.points
      .filter((p) => isPlaced(p) && p.range && p.range[0] < p.range[1])
      .forEach((p) => {
        const low = Math.max(p.range[0], spec.y.isLog ? u.scales.y.min : 0);
        strokeThrough(ctx, [at(u, { x: p.x, y: low }, true), at(u, { x: p.x, y: p.range[1] }, true)]);
      });
    if (spec.isBare) return;
    series.points.filter(isPlaced).forEach((p) => {
      const [x, y] = at(u, p, true);
      drawMarker(ctx, series.target, x, y, (spec.isDots ? 2.5 : 4) * ratio, p.isTrusted === false);
    });
  }

  // The margin around 1, and lines at 1 and where the targets were started anew.
  function drawBand(u, ratio) {
    const { ctx, bbox } = u;
    const inside = (y) => Math.min(Math.max(u.valToPos(y, 'y', true), bbox.top), bbox.top + bbox.height);
    const [low, one, high] = [spec.band[0], 1, spec.band[1]].map(inside);
    ctx.fillStyle = colour('shade');
    ctx.fillRect(bbox.left, high, bbox.width, low - high);
    ctx.strokeStyle = colour('faint');
    ctx.lineWidth = ratio;
    const right = bbox.left + bbox.width;
    strokeThrough(ctx, [
      [bbox.left, one],
      [right, one],
    ]);
    ctx.setLineDash([4 * ratio, 4 * ratio]);
    spec.breaks
      .map((x) => u.valToPos(x, 'x', true))
      .filter((x) => x > bbox.left && x < right)
      .forEach((x) =>
        strokeThrough(ctx, [
          [x, bbox.top],
          [x, bbox.top + bbox.height],
        ]),
      );
    ctx.setLineDash([]);
  }

  function draw(u) {
    const { ctx, bbox } = u;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.beginPath();
    // Markers on the frame are not clipped.
    ctx.rect(bbox.left - 5 * ratio, bbox.top - 5 * ratio, bbox.width + 10 * ratio, bbox.height + 10 * ratio);
    ctx.clip();
    if (spec.warmup) {
      const edge = Math.min(u.valToPos(spec.warmup, 'x', true), bbox.left + bbox.width);
      ctx.fillStyle = colour('shade');
      if (edge > bbox.left) ctx.fillRect(bbox.left, bbox.top, edge - bbox.left, bbox.height);
    }
    (spec.stops || []).forEach(({ from, until }) => {
      const [left, right] = [from, until].map((x) => u.valToPos(x, 'x', true));
      ctx.fillStyle = colour('stop');
      ctx.fillRect(left, bbox.top, Math.max(right - left, ratio), bbox.height);
    });
    if (spec.band) drawBand(u, ratio);
    if (spec.offered) {
      ctx.strokeStyle = colour('faint');
      ctx.lineWidth = ratio;
      ctx.setLineDash([2 * ratio, 3 * ratio]);
      // Many short segments: it is curved on a logarithmic axis.
      const values = [...Array(60).keys()].map((i) => min + ((max - min) * i) / 59).filter((x) => x > 0);
      strokeThrough(
        ctx,
        values.map((x) => at(u, { x, y: x }, true)),
      );
    }
    visible().forEach((series) => drawSeries(u, series, ratio));
    ctx.restore();
  }

  const ring = document.createElement('div');
  ring.className = 'ring';
  let near = null;
  // The points that can be selected, with their places.
  const places = (u) =>
    visible()
      .filter((series) => !series.dash)
      .flatMap((series) =>
        series.points
          .filter((p) => isPlaced(p) && p.x >= u.scales.x.min && p.x <= u.scales.x.max)
          .map((point) => {
            const [x, y] = at(u, point, false);
            return { series, point, x, y };
          }),
      );
  // Shows the tooltip of a point, or none.
  function select(u, found) {
    near = found;
    ring.hidden = !near;
    if (!near) return tip.hide();
    ring.style.transform = `translate(${near.x}px, ${near.y}px)`;
    const box = u.over.getBoundingClientRect();
    tip.show(spec.describe(near.point, near.series), box.left + near.x, box.top + near.y);
  }
  // From the mouse.
  const distance = (u, one) => Math.hypot(one.x - u.cursor.left, one.y - u.cursor.top);
  function hover(u) {
    if (u.cursor.left == null || u.cursor.left < 0) return;
    const found = least(places(u), (one) => distance(u, one));
    select(u, found && distance(u, found) < NEAR ? found : null);
  }
  const open = (opener) => near && near.point.row != null && showDetail(near.point.row, opener);
  // Half or twice of what is shown, around the selected point; all of it with null.
  function zoom(u, part) {
    const [first, last] = [xs[0], xs[xs.length - 1]];
    const [to, from] = spec.x.isLog ? [Math.log, Math.exp] : [(x) => x, (x) => x];
    const middle = near ? to(near.point.x) : (to(min) + to(max)) / 2;
    const half = ((to(max) - to(min)) / 2) * part;
    const [low, high] = [from(middle - half), from(middle + half)];
    const isAll = part == null || (low <= first && high >= last);
    u.setScale('x', isAll ? { min: first, max: last } : { min: Math.max(low, first), max: Math.min(high, last) });
  }
  // The tooltip stays at its point when scales or sizes change.
  function follow(u) {
    if (near) select(u, places(u).find((one) => one.point === near.point) || null);
  }

  const options = {
    width: host.clientWidth || 480,
    height: HEIGHT,
    padding: [10, 14, 0, 0],
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { show: false }, y: false },
    scales: {
      x: { time: false, distr: spec.x.isLog ? 3 : 1, range: xRange },
      y: { distr: spec.y.isLog ? 3 : 1, range: yRange },
    },
    axes: [across, up],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: { draw: [draw, follow], setCursor: [hover] },
  };
  const u = new uPlot(options, [xs, xs.map((x) => byX.get(x))], host);
  ring.hidden = true;
  u.over.append(ring);
  u.over.addEventListener('mouseleave', () => select(u, null));
  let pressed = 0;
  u.over.addEventListener('mousedown', (event) => (pressed = event.clientX));
  u.over.addEventListener('click', (event) => {
    if (near && distance(u, near) < ON && Math.abs(event.clientX - pressed) < 4) open();
  });
  bindKeys(host, {
    points: () => places(u),
    current: () => near,
    select: (found) => select(u, found),
    open: () => open(host),
    zoom: (part) => zoom(u, part),
  });
  const self = {
    refresh: () => u.setScale('x', { min: u.scales.x.min, max: u.scales.x.max }),
    remove: () => {
      resized.disconnect();
      plots.splice(plots.indexOf(self), 1);
      u.destroy();
    },
  };
  const resized = new ResizeObserver(() => host.clientWidth && u.setSize({ width: host.clientWidth, height: HEIGHT }));
  resized.observe(host);
  plots.push(self);
  return self;
}
