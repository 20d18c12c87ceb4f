"use strict";
(() => {
  const root = document.documentElement;
  const views = JSON.parse(document.getElementById("views").textContent);
  const drawn = new Set();

  // Colours in the charts are the style's variables, so neither theme nor paper needs a new drawing.
  const preferred = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(theme) {
    root.dataset.theme = theme;
    document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
  }

  const rowsOf = (part) => views.charts[Number(part.dataset.rows)];

  async function draw(container) {
    const kind = container.dataset.chart;
    if (drawn.has(container) || !container.checkVisibility()) return;
    drawn.add(container);
    seen.unobserve(container);
    await vegaEmbed(container, { ...views.specs[kind], data: { values: rowsOf(container) } }, {
      actions: false, renderer: "svg", config: views.config, ast: true, logLevel: 1,
      tooltip: { theme: "page" },
    });
    container.querySelector("svg")?.setAttribute("aria-hidden", "true");
  }

  // What is looked at is drawn first. The rest follows when there is time, so that it can be printed.
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) draw(entry.target);
  }, { rootMargin: "400px" });
  const later = [];
  const idle = window.requestIdleCallback ?? ((step) => setTimeout(step, 50));
  async function drawLater() {
    const container = later.shift();
    if (!container) return;
    await draw(container);
    idle(drawLater);
  }

  function prepare(part) {
    for (const container of part.querySelectorAll("[data-chart]")) {
      seen.observe(container);
      later.push(container);
    }
    idle(drawLater);
    for (const button of part.querySelectorAll("button.copy")) {
      button.addEventListener("click", () => copy(button));
    }
    for (const details of part.querySelectorAll("details.as-table")) {
      details.addEventListener("toggle", () => tabulate(details), { once: true });
    }
    for (const box of part.querySelectorAll(".code[data-show]")) {
      const line = document.getElementById(box.dataset.show);
      box.scrollTop = line.offsetTop - box.clientHeight / 2;
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

  const forms = {
    text: (value) => value,
    tip: (value) => views.tips[value],
    number: (value) => Number(value.toPrecision(4)).toLocaleString("en"),
    share: (value) => `${(100 * value).toFixed(1)} %`,
    times: (value) => `${Number(value.toPrecision(3)).toLocaleString("en")}x`,
  };

  function tabulate(details) {
    const columns = views.columns[details.dataset.table];
    const first = columns[0][1];
    const lines = rowsOf(details).filter((line) => line[first]);
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    for (const [title] of columns) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = title;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const line of lines) {
      const row = body.insertRow();
      for (const [, field, form] of columns) {
        const value = line[field];
        row.insertCell().textContent = value === null || value === undefined ? "-" : forms[form](value);
      }
    }
    const box = document.createElement("div");
    box.className = "scroll";
    box.append(table);
    details.append(box);
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
  function fill(table) {
    const numeric = [...table.tHead.rows[0].cells].map((cell) => cell.classList.contains("number"));
    table.tBodies[0].replaceChildren(...views.tables[Number(table.dataset.rows)].map(([at, ...numbers]) => {
      const texts = [...views.texts[at]];
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
      const content = row.textContent.toLowerCase();
      const title = row.querySelector("[title]")?.title.toLowerCase() || "";
      row.hidden = !words.every((word) => content.includes(word) || title.includes(word));
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

  // A card of many stands in the page as text until it is opened.
  function unpack(part) {
    const stored = document.querySelector(`script[data-card="${CSS.escape(part.id)}"]`);
    const place = part.querySelector(":scope > .place") ?? part;
    if (!stored || stored.dataset.used) return;
    stored.dataset.used = "yes";
    place.innerHTML = stored.textContent.replaceAll("<\\/", "</");
    part.hidden = false;
    prepare(place);
  }

  function open(anchor) {
    const part = document.getElementById(anchor);
    const fold = part?.closest("details");
    if (fold && !fold.open) fold.open = true;
    if (!part?.classList.contains("kernel")) return;
    unpack(part);
    part.scrollIntoView();
    const target = part.querySelector(":scope > summary") ?? part;
    if (target === part) part.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest("main a[href^='#']");
    if (link) setTimeout(() => open(link.hash.slice(1)));
  });

  document.getElementById("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  });
  const download = document.getElementById("download-json");
  if (download) {
    const data = new Blob([document.getElementById("data").textContent], { type: "application/json" });
    download.href = URL.createObjectURL(data);
  }
  prepare(document);
  setTheme(preferred.matches ? "dark" : "light");
  preferred.addEventListener("change", () => setTheme(preferred.matches ? "dark" : "light"));
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  if (location.hash.length > 1) open(location.hash.slice(1));
  addEventListener("beforeprint", () => document.querySelectorAll("[data-chart]").forEach(draw));
})();
