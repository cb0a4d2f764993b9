// Rows as objects, formatting by the rules of the printed report, and parsing of cells for sorting.

const { columns, data: records } = data.rows;
data.rows = records.map((values) => Object.fromEntries(columns.map((name, i) => [name, values[i]])));

const trim = (value) => String(Number(value.toPrecision(4)));

function time(us) {
  if (us < 99.95) return us.toFixed(1) + ' us';
  if (us < 999.5) return us.toFixed(0) + ' us';
  if (us < 9995) return (us / 1e3).toFixed(2) + ' ms';
  if (us < 99950) return (us / 1e3).toFixed(1) + ' ms';
  if (us < 999500) return (us / 1e3).toFixed(0) + ' ms';
  return (us / 1e6).toFixed(2) + ' s';
}

function timeTick(us) {
  if (us >= 1e6) return trim(us / 1e6) + ' s';
  if (us >= 1e3) return trim(us / 1e3) + ' ms';
  return trim(us) + ' us';
}

function count(value) {
  if (value >= 1e6) return trim(value / 1e6) + 'M';
  if (value >= 1e3) return trim(value / 1e3) + 'k';
  return trim(value);
}

const rate = (value) => (value >= 999.5 ? (value / 1e3).toFixed(1) + ' k req/s' : value.toFixed(1) + ' req/s');
const percent = (value) => value.toFixed(1) + ' %';

// The figures of plots: name, format of values, format of ticks, unit.
const FIGURES = {
  rate: { name: 'throughput', show: rate, tick: count, unit: 'req/s' },
  p50: { name: 'response p50', show: time, tick: timeTick, unit: '' },
  p99: { name: 'response p99', show: time, tick: timeTick, unit: '' },
  response: { name: 'response time', show: time, tick: timeTick, unit: '' },
  cpu: { name: 'server CPU', show: percent, tick: (value) => trim(value) + ' %', unit: '' },
  cost: { name: 'CPU per request', show: (us) => us.toFixed(2) + ' us', tick: (us) => trim(us) + ' us', unit: '' },
  offered: { name: 'offered rate', show: (value) => count(value) + ' req/s', tick: count, unit: 'req/s' },
  connections: { name: 'connections', show: count, tick: count, unit: '' },
  cores: { name: 'server cores', show: count, tick: count, unit: '' },
  ratio: { name: 'ratio to baseline', show: (value) => 'x' + value.toFixed(3), tick: (value) => 'x' + trim(value), unit: '' },
  second: { name: 'second', show: (s) => s.toFixed(1) + ' s', tick: trim, unit: 's' },
};

const UNITS = { us: 1, ms: 1e3, s: 1e6, k: 1e3, M: 1e6 };

// The leading number of a table cell, in the base unit of its column; null if there is none.
function numberOf(text) {
  const found = /^(\d[\d.]*)\s*([a-zA-Z]*)/.exec(text.replace(/^\d+ x /, ''));
  if (!found) return null;
  const factor = /^\d+ x /.test(text) ? parseFloat(text) : 1;
  return factor * parseFloat(found[1]) * (UNITS[found[2]] || 1);
}
