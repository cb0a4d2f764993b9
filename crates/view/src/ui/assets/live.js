// The page of a load: shows each state that the server sends, and keeps the last one only.
const SPOKEN_EVERY_MS = 5000;

function live(root) {
  const get = (id) => document.getElementById(id);
  const events = new EventSource(root.dataset.events);
  let last = null;
  let spoken = { at: 0, text: '' };

  function set(id, text) {
    if (get(id).textContent !== text) get(id).textContent = text;
  }

  function showVerdict(state) {
    get('verdict').className = `v-${(state.kind || 'none').replace(/ /g, '-')}`;
    const heading = get('verdict').querySelector('h2');
    if (heading.textContent !== state.verdict) heading.textContent = state.verdict;
    const list = get('verdict').querySelector('ul');
    list.replaceChildren(...state.issues.map(([why, remedy]) => {
      const item = document.createElement('li');
      item.textContent = `${why}; ${remedy}`;
      return item;
    }));
  }

  function showFigures(rows) {
    get('figures').replaceChildren(...rows.map(([name, text]) => {
      const [row, term, value] = ['div', 'dt', 'dd'].map((tag) => document.createElement(tag));
      row.className = `row-${name}`;
      term.textContent = name;
      value.textContent = text;
      row.append(term, value);
      return row;
    }));
  }

  function showCharts() {
    if (last === null || last.points === undefined) return;
    const points = last.points;
    draw(get('rate'), points, [points.offered, points.answered], { isLog: false, text: rateText });
    draw(get('times'), points, [points.p50, points.p99, points.p999], { isLog: true, text: timeText });
  }

  function showJob(job) {
    const stop = get('stop');
    if (stop) stop.hidden = !(job && job.running);
    get('job').hidden = !job;
    if (job) set('job', [job.command, ...(job.ended ? [`The load ${job.ended}.`] : []), ...(job.messages || [])].join('\n'));
  }

  function speak(text) {
    const now = Date.now();
    if (text === spoken.text || now - spoken.at < SPOKEN_EVERY_MS) return;
    spoken = { at: now, text };
    set('spoken', text);
  }

  function show(state) {
    last = state;
    showJob(state.job);
    if (state.error !== undefined) {
      set('state', state.error);
      return;
    }
    set('headline', state.headline);
    document.title = `${state.state} - brunt`;
    set('state', state.state);
    const progress = get('progress');
    progress.hidden = state.end_s === null && !state.ended;
    progress.value = state.ended ? 1 : Math.min(1, state.at_s / (state.end_s || 1));
    get('result').hidden = !state.ended;
    showVerdict(state);
    showFigures(state.rows);
    showCharts();
    speak(`${state.state}. ${state.verdict}. ${state.rows[0][1]}`);
  }

  events.addEventListener('state', (event) => show(JSON.parse(event.data)));
  events.addEventListener('end', () => {
    events.close();
    root.dataset.over = 'true';
  });
  events.addEventListener('error', () => {
    if (last === null || !last.ended) set('state', 'no connection to brunt: it has ended, or is busy');
  });
  let frame = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(showCharts);
  });
}
