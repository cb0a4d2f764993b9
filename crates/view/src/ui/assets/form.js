// The form of a load: asks the server for the command that the fields stand for, as one types.
const ASKED_AFTER_MS = 150;

function startForm(form) {
  const get = (id) => document.getElementById(id);
  let timer = 0;
  let number = 0;

  async function ask() {
    number += 1;
    const own = number;
    let answer;
    try {
      const reply = await fetch('/command', {
        method: 'POST',
        headers: { Accept: 'application/json' },
        body: new URLSearchParams(new FormData(form)),
      });
      answer = reply.ok ? await reply.json() : { error: await reply.text() };
    } catch {
      answer = { error: 'no connection to brunt: it has ended' };
    }
    // An answer to older fields may come late.
    if (own !== number) return;
    if (answer.command !== undefined) get('command').textContent = answer.command;
    get('command').classList.toggle('stale', answer.command === undefined);
    get('command-error').textContent = answer.error || '';
  }

  form.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(ask, ASKED_AFTER_MS);
  });
  if (form.elements.url.value !== '') ask();
}
