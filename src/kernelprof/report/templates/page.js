"use strict";
(() => {
  const root = document.documentElement;

  // JSON beside the page. That of many kernels is packed; cards that are alike are packed together.
  const known = new Map();
  function read(script) {
    if (!known.has(script)) known.set(script, unpacked(script));
    return known.get(script);
  }
  async function textOf(script) {
    const text = script.textContent;
    if (!script.dataset.packed) return text;
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream(script.dataset.packed));
    return new Response(stream).text();
  }
  const unpacked = async (script) => JSON.parse(await textOf(script));
  const views = () => read(document.getElementById("views"));

  // Colours in the charts are the style's variables, so neither theme nor paper needs a new drawing.
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(theme) {
    root.dataset.theme = theme;
    document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  }

  function prepare(part) {
    for (const button of part.querySelectorAll("button.copy")) {
      button.addEventListener("click", () => copy(button));
    }
    for (const box of part.querySelectorAll(".code[data-show]")) {
      const line = document.getElementById(box.dataset.show);
      if (line) bring(line);
    }
    for (const panes of part.querySelectorAll(".panes")) {
      bring(costliest(panes) ?? costliest(panes, "tr.hot"));
      panes.addEventListener("click", (event) => {
        const row = event.target.closest("tr[data-line], tr[data-of]");
        if (!row || String(getSelection())) return;
        if (row.dataset.line) choose(row, { machine: true });
        else choose(panes.querySelector(`tr[data-line="${row.dataset.of}"]`), { source: true });
      });
      panes.addEventListener("keydown", (event) => step(panes, event));
    }
    for (const table of part.querySelectorAll("table[data-rows]")) {
      const fold = table.closest("details");
      if (!fold || fold.open) fill(table);
      else fold.addEventListener("toggle", () => fill(table), { once: true });
    }
    for (const box of part.querySelectorAll(".filtered")) {
      const field = box.querySelector("input.filter");
      field.addEventListener("input", () => {
        const body = box.querySelector("tbody");
        const shown = filterRows(body, field.value);
        box.querySelector(".shown").textContent = field.value ? `${shown} of ${body.rows.length} shown` : "";
      });
    }
    for (const table of part.querySelectorAll("table.sortable")) {
      for (const [column, cell] of [...table.tHead.rows[0].cells].entries()) {
        cell.querySelector("button")?.addEventListener("click", () => sortBy(table, column));
      }
    }
    for (const details of part.querySelectorAll("details.card")) {
      details.addEventListener("toggle", () => { if (details.open) unpack(details); });
    }
  }

  // A line of a source is chosen: its machine code is marked beside it.
  function bring(row) {
    const box = row?.closest(".code");
    if (box) box.scrollTop = row.offsetTop - box.clientHeight / 2;
  }
  const costliest = (panes, which = "tr.own") => [...panes.querySelectorAll(`.machine ${which}`)].reduce(
    (most, row) => (most && length(most) >= length(row) ? most : row), null);
  const length = (row) => parseFloat(row.cells[0].style.getPropertyValue("--share")) || 0;
  function choose(row, moved) {
    const panes = row?.closest(".panes");
    if (!panes) return;
    for (const each of panes.querySelectorAll("tr.own, tr.chosen")) each.classList.remove("own", "chosen");
    for (const button of panes.querySelectorAll("button[aria-pressed]")) {
      const isChosen = row.contains(button);
      button.setAttribute("aria-pressed", isChosen);
      button.tabIndex = isChosen ? 0 : -1;
    }
    row.classList.add("chosen");
    const own = panes.querySelectorAll(`tr[data-of="${row.dataset.line}"]`);
    for (const each of own) each.classList.add("own");
    panes.querySelector(".told").textContent =
      `Line ${row.dataset.line}: ${own.length} instruction${own.length === 1 ? "" : "s"}`;
    if (moved.machine) bring(costliest(panes));
    if (moved.source) bring(row);
  }
  function step(panes, event) {
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!by || !event.target.matches("button[aria-pressed]")) return;
    event.preventDefault();
    const all = [...panes.querySelectorAll("button[aria-pressed]")];
    const next = all[all.indexOf(event.target) + by];
    if (!next) return;
    choose(next.closest("tr"), { machine: true });
    next.focus();
  }

  async function copy(button) {
    const target = document.getElementById(button.dataset.copyTarget);
    try {
      await navigator.clipboard.writeText(target.textContent);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(target);
      const selection = getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      document.execCommand("copy");
      selection.removeAllRanges();
    }
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  }

  // The rows of a folded table: the number of its texts, which many tables share, and its numbers.
  async function fill(table) {
    const { tables, texts: shared } = await views();
    const numeric = [...table.tHead.rows[0].cells].map((cell) => cell.classList.contains("number"));
    table.tBodies[0].replaceChildren(...tables[Number(table.dataset.rows)].map(([at, ...numbers]) => {
      const texts = [...shared[at]];
      const row = document.createElement("tr");
      for (const isNumber of numeric) {
        const cell = row.insertCell();
        cell.textContent = (isNumber ? numbers : texts).shift();
        if (isNumber) cell.className = "number";
      }
      return row;
    }));
  }

  function filterRows(body, text) {
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of body.rows) {
      const titles = [...row.querySelectorAll("[title]")].map((cell) => cell.title);
      const content = [row.textContent, ...titles].join(" ").toLowerCase();
      row.hidden = !words.every((word) => content.includes(word));
      if (!row.hidden) shown += 1;
    }
    return shown;
  }

  function valueOf(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.value !== undefined) return Number(cell.dataset.value);
    const text = cell.textContent.trim();
    if (!cell.classList.contains("number")) return text;
    const number = parseFloat(text.replaceAll(",", ""));
    return Number.isNaN(number) ? -Infinity : number;
  }

  function sortBy(table, column) {
    const head = table.tHead.rows[0].cells;
    const numeric = head[column].classList.contains("number");
    const before = head[column].getAttribute("aria-sort");
    const order = before === "none" ? (numeric ? "descending" : "ascending")
      : before === "ascending" ? "descending" : "ascending";
    for (const cell of head) cell.setAttribute("aria-sort", "none");
    head[column].setAttribute("aria-sort", order);
    const sign = order === "ascending" ? 1 : -1;
    const rows = [...table.tBodies[0].rows];
    rows.sort((one, other) => {
      const a = valueOf(one, column), b = valueOf(other, column);
      if (typeof a !== "number") return sign * a.localeCompare(b);
      return a === b ? 0 : sign * (a < b ? -1 : 1);
    });
    table.tBodies[0].append(...rows);
  }

  // A card stands beside the page until it is opened.
  async function unpack(part) {
    const stored = document.querySelector(`script[data-cards~="${CSS.escape(part.id)}"]`);
    const place = part.querySelector(":scope > .place") ?? part;
    if (!stored || part.dataset.used) return;
    part.dataset.used = "yes";
    place.innerHTML = (await read(stored))[part.id];
    prepare(place);
  }

  async function open(anchor) {
    const card = anchor.replace(/-line-\d+$/, "");
    if (card !== anchor && !document.getElementById(anchor)) {  // a line of a card that is not open
      await open(card);
      document.getElementById(anchor)?.scrollIntoView();
    }
    const part = document.getElementById(anchor);
    if (part?.dataset.line) choose(part, { machine: true });
    const fold = part?.closest("details");
    if (fold && !fold.open) fold.open = true;
    if (isList && (anchor === "kernels" || part?.matches("main > section.kernel"))) await show(part);
    if (!part?.classList.contains("kernel")) return;
    await unpack(part);
    part.hidden = false;
    const target = part.querySelector(":scope > summary") ?? part;
    if (target === part) part.setAttribute("tabindex", "-1");
    (isList ? document.querySelector(".steps") : part).scrollIntoView();
    target.focus({ preventScroll: true });
  }

  // A list: one card at a time stands beside it.
  const isList = document.getElementById("main").classList.contains("list");
  function links() {
    const all = document.querySelectorAll("#kernels tbody tr:not([hidden]) td:first-child a");
    return [...new Map([...all].map((link) => [link.getAttribute("href"), link]).reverse()).values()].reverse();
  }
  async function show(part) {
    const isCard = part.id !== "kernels";
    root.classList.toggle("beside", isCard);
    for (const card of document.querySelectorAll("main > section.kernel")) card.hidden = card !== part;
    document.querySelector(".steps").hidden = !isCard;
    for (const link of document.querySelectorAll("#kernels a[aria-current]")) link.removeAttribute("aria-current");
    const all = links();
    const at = all.findIndex((link) => link.hash === `#${part.id}`);
    document.querySelector(".steps .place").textContent = at < 0 ? "" : `${at + 1} of ${all.length}`;
    if (!isCard) return;
    const list = document.getElementById("kernels");
    for (const link of list.querySelectorAll(`a[href="#${CSS.escape(part.id)}"]`)) link.setAttribute("aria-current", "true");
    const row = all[at]?.closest("tr");
    if (row) list.scrollTop = row.offsetTop - list.clientHeight / 2;
  }
  function stepBy(by) {
    const all = links();
    const at = all.findIndex((link) => link.getAttribute("aria-current"));
    const next = all[at + by];
    if (next) location.hash = next.hash;
  }
  if (isList) {
    for (const button of document.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => stepBy(Number(button.dataset.step)));
    }
    document.addEventListener("keydown", (event) => {
      if (!root.classList.contains("beside") || event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target.closest("input, [role=region]")) return;
      if (event.key === "ArrowRight") stepBy(1);
      else if (event.key === "ArrowLeft") stepBy(-1);
      else if (event.key === "Escape") location.hash = "#kernels";
    });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("main a[href^='#']");
    if (link && link.hash === location.hash) open(link.hash.slice(1));
  });

  document.getElementById("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  });
  const download = document.getElementById("download-json");
  if (download) {
    textOf(document.getElementById("data")).then((text) => {
      download.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    });
  }
  prepare(document);
  if (root.classList.contains("picture")) {
    root.dataset.height = Math.ceil(document.querySelector("main").getBoundingClientRect().bottom + 24);
  }
  setTheme(preferred.matches ? "dark" : "light");
  preferred.addEventListener("change", () => setTheme(preferred.matches ? "dark" : "light"));
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  if (location.hash.length > 1) open(location.hash.slice(1));
})();
