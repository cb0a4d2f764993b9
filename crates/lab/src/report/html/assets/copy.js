// "Copy as Markdown": the page's texts and the shown columns of its tables.

(() => {
  const plain = (text) => text.replace(/\s+/g, ' ').trim().replace(/\|/g, '\\|').replace(/</g, '&lt;');
  const words = (element) => {
    // Verdicts stand next to each other without a space.
    const verdicts = [...element.querySelectorAll(':scope > b')];
    return plain(verdicts.length > 1 ? verdicts.map((verdict) => verdict.textContent).join(', ') : element.textContent);
  };
  const isShown = (element) => getComputedStyle(element).display !== 'none';
  const line = (cells) => `| ${cells.join(' | ')} |\n`;

  function tableWords(table) {
    const heads = [...table.tHead.rows[0].cells];
    const shown = heads.map((_, column) => column).filter((column) => isShown(heads[column]));
    const row = (cells) => line(shown.map((column) => words(cells[column])));
    const sides = line(shown.map((column) => (heads[column].classList.contains('n') ? '--:' : ':--')));
    return row(heads) + sides + [...table.tBodies[0].rows].map((one) => row(one.cells)).join('');
  }

  function markdown() {
    const parts = [...document.querySelectorAll('main :is(h1, h2, h3, p, ul.notes, .tally, table)')];
    const shown = parts.filter((part) => !part.closest('.needs-script, noscript') && isShown(part));
    return shown
      .map((part) => {
        if (part.tagName === 'TABLE') return tableWords(part);
        if (part.tagName === 'UL') return [...part.children].map((item) => `- ${plain(item.textContent)}\n`).join('');
        const text = part.classList.contains('tally') ? plain(part.textContent.replace(/\s+/g, ' ')) : words(part);
        if (!text) return '';
        if (part.classList.contains('answer')) return `**${text}**\n`;
        return '#'.repeat(Number(/^H(\d)$/.exec(part.tagName)?.[1] || 0)).replace(/#$/, '# ') + text + '\n';
      })
      .filter(Boolean)
      .join('\n');
  }

  // Where the clipboard is refused, the text is shown and selected.
  function offer(text) {
    const box = document.createElement('dialog');
    box.id = 'markdown';
    box.setAttribute('aria-label', 'The page as Markdown');
    const area = document.createElement('textarea');
    area.value = text;
    area.readOnly = true;
    area.setAttribute('aria-label', 'Markdown');
    const hint = document.createElement('p');
    const close = document.createElement('button');
    close.textContent = 'Close';
    close.className = 'close';
    close.addEventListener('click', () => box.close());
    box.append(close, hint, area);
    box.addEventListener('close', () => {
      box.remove();
      document.getElementById('copy').focus();
    });
    document.body.append(box);
    box.showModal();
    area.focus();
    area.select();
    const isCopied = document.execCommand('copy');
    hint.textContent = isCopied ? 'Copied.' : 'The text is selected: copy it with Ctrl+C or Cmd+C.';
  }

  document.getElementById('copy')?.addEventListener('click', async () => {
    const said = document.getElementById('copied');
    const text = markdown();
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = 'copied';
      setTimeout(() => (said.textContent = ''), 4000);
    } catch {
      offer(text);
    }
  });
})();
