// Curves over time as SVG: the points are few, because the server merges them.
const SVG = 'http://www.w3.org/2000/svg';

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// Seconds as minutes and seconds, or hours too.
function clock(seconds) {
  const whole = Math.round(seconds);
  const two = (number) => String(number).padStart(2, '0');
  const [hours, minutes] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60];
  return hours > 0 ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

function digits(value) {
  return value === 0 || value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function rateText(value) {
  return value >= 1e6 ? `${digits(value / 1e6)}M` : value >= 1e3 ? `${digits(value / 1e3)}k` : digits(value);
}

function timeText(us) {
  return us >= 999500 ? `${digits(us / 1e6)} s` : us >= 999.5 ? `${digits(us / 1e3)} ms` : `${digits(us)} us`;
}

// 1, 2 or 5 times a power of ten, so that about `count` of them are in `span`.
function niceStep(span, count) {
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((factor) => factor * power >= raw) || 10);
}

function timeStep(span) {
  return [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 28800].find((step) => span / step <= 6) || 86400;
}

function linearTicks(most) {
  const step = niceStep(most, 4);
  const ticks = [];
  for (let tick = 0; tick <= most * 1.0001; tick += step) ticks.push(tick);
  return ticks;
}

// Powers of ten, and 2 and 5 times them if there are few.
function logTicks(low, high) {
  const factors = Math.log10(high / low) > 3 ? [1] : [1, 2, 5];
  const ticks = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1) {
    for (const factor of factors) ticks.push(factor * 10 ** power);
  }
  return ticks.filter((tick) => tick >= low * 0.999 && tick <= high * 1.001);
}

function valueScale(values, isLog) {
  if (!isLog) {
    const most = Math.max(...values) * 1.08 || 1;
    return { ticks: linearTicks(most), share: (value) => value / most };
  }
  const [low, high] = [Math.min(...values) / 1.3, Math.max(...values) * 1.3];
  const [from, span] = [Math.log(low), Math.log(high / low)];
  return { ticks: logTicks(low, high), share: (value) => (Math.log(value) - from) / span };
}

// A path with a gap wherever there is no value.
function line(values, x, y) {
  let path = '';
  let isOpen = false;
  values.forEach((value, index) => {
    if (value === null) { isOpen = false; return; }
    path += `${isOpen ? 'L' : 'M'}${x(index).toFixed(1)} ${y(value).toFixed(1)}`;
    // A point alone is a short stroke.
    if (!isOpen && (values[index + 1] === null || index + 1 === values.length)) path += 'h2';
    isOpen = true;
  });
  return path;
}

// Draws `series`, arrays parallel to `points.to_s`, into the figure.
function draw(figure, points, series, { isLog, text }) {
  const svg = figure.querySelector('svg[role=img]');
  const box = svg.getBoundingClientRect();
  const [width, height] = [Math.max(box.width, 200), Math.max(box.height, 120)];
  const [left, right, top, bottom] = [58, 10, 8, 24];
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const plausible = series.map((values) => values.map((value) => (isLog && !(value > 0) ? null : value)));
  const values = plausible.flat().filter((value) => value !== null);
  const drawn = [];
  if (values.length > 0) {
    const end = points.to_s[points.to_s.length - 1];
    const scale = valueScale(values, isLog);
    const x = (seconds) => left + (width - left - right) * (seconds / end);
    const y = (value) => top + (height - top - bottom) * (1 - scale.share(value));
    const warm = points.warmup.lastIndexOf(true);
    if (warm >= 0) {
      drawn.push(element('rect', { class: 'warm', x: left, y: top, width: x(points.to_s[warm]) - left, height: height - top - bottom }));
      if (x(points.to_s[warm]) - left > 60) drawn.push(element('text', { x: left + 4, y: top + 12, class: 'note' }, 'warm-up'));
    }
    for (const tick of scale.ticks) {
      drawn.push(element('path', { class: 'grid', d: `M${left} ${y(tick)}H${width - right}` }));
      drawn.push(element('text', { x: left - 6, y: y(tick) + 4, 'text-anchor': 'end' }, text(tick)));
    }
    const step = timeStep(end);
    for (let tick = 0; tick <= end; tick += step) {
      const anchor = tick === 0 ? 'start' : x(tick) > width - right - 16 ? 'end' : 'middle';
      drawn.push(element('text', { x: x(tick), y: height - 6, 'text-anchor': anchor }, clock(tick)));
    }
    plausible.forEach((own, number) => {
      drawn.push(element('path', { class: `line s${number}`, d: line(own, (index) => x(points.to_s[index]), y) }));
    });
  }
  svg.replaceChildren(...drawn);
  series.forEach((own, number) => {
    const last = own[own.length - 1];
    figure.querySelector(`[data-last="${number}"]`).textContent = last === null || last === undefined ? '-' : text(last);
  });
}
