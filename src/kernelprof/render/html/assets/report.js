"use strict";
(() => {
  const root = document.documentElement;
  const views = JSON.parse(document.getElementById("views").textContent);
  const drawn = new Map();

  const preferred = matchMedia("(prefers-color-scheme: dark)");
  function setTheme(theme) {
    root.dataset.theme = theme;
    document.getElementById("theme").textContent = theme === "dark" ? "Light" : "Dark";
    for (const container of drawn.keys()) draw(container);
  }

  function color(name) {
    return getComputedStyle(root).getPropertyValue(`--${name}`).trim();
  }

  function config() {
    const fg = color("fg"), muted = color("muted"), line = color("line");
    const colors = root.dataset.theme === "dark"
      ? ["#e69f00", "#2dc9a0", "#cc79a7", "#8a939c", "#56b4e9", "#f0e442"]
      : ["#b36b00", "#00795c", "#8a4a9e", "#7c858e", "#0066a1", "#6b6400"];
    return {
      background: null,
      font: "system-ui, sans-serif",
      view: { stroke: null },
      text: { color: fg, fontSize: 12 },
      axis: { labelColor: fg, titleColor: muted, gridColor: line, domainColor: line, tickColor: line, labelFontSize: 12, titleFontWeight: "normal" },
      legend: { labelColor: fg, titleColor: muted, orient: "bottom", columns: innerWidth < 600 ? 2 : 4, labelLimit: 220 },
      range: { category: colors },
    };
  }

  function rowsOf(container) {
    const kernel = Number(container.dataset.kernel);
    return kernel < 0 ? views.overview : views.kernels[kernel].charts[container.dataset.chart];
  }

  async function draw(container) {
    const values = rowsOf(container);
    if (!values || !values.length) return;
    const spec = structuredClone(views.specs[container.dataset.chart]);
    spec.data = { values };
    for (const param of spec.params || []) param.value = color(param.name);
    const before = drawn.get(container);
    drawn.set(container, null);
    if (before) before.finalize();
    const result = await vegaEmbed(container, spec, {
      actions: false, renderer: "svg", config: config(), ast: true, logLevel: 1,
      tooltip: { theme: root.dataset.theme },
    });
    drawn.set(container, result);
    const svg = container.querySelector("svg");
    if (svg) svg.setAttribute("aria-hidden", "true");
  }

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      seen.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "400px" });

  function prepare(part) {
    for (const container of part.querySelectorAll("[data-chart]")) {
      if (rowsOf(container)?.length) seen.observe(container);
    }
    for (const button of part.querySelectorAll("button.copy")) {
      button.addEventListener("click", () => copy(button));
    }
    for (const details of part.querySelectorAll("details.as-table")) {
      details.addEventListener("toggle", () => tabulate(details), { once: true });
    }
    for (const panel of part.querySelectorAll("details.metrics")) {
      panel.addEventListener("toggle", () => fill(panel), { once: true });
      panel.querySelector(".metric-filter").addEventListener("input", (event) => {
        filterRows(panel.querySelector("tbody"), event.target.value);
      });
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
    const columns = views.tables[details.dataset.table];
    const lines = views.kernels[Number(details.dataset.kernel)].charts[details.dataset.table] || [];
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

  function fill(panel) {
    const body = panel.querySelector("tbody");
    const lines = views.kernels[Number(panel.dataset.kernel)].metrics.map(([index, value]) => {
      const [name, unit, meaning] = views.metrics[index];
      const row = document.createElement("tr");
      for (const [position, text] of [name, value, unit, meaning].entries()) {
        const cell = row.insertCell();
        cell.textContent = text;
        if (position === 1) cell.className = "number";
      }
      return row;
    });
    body.replaceChildren(...lines);
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
    return cell.dataset.value === undefined ? cell.textContent.trim() : Number(cell.dataset.value);
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
      return sign * (typeof a === "number" ? a - b : a.localeCompare(b));
    });
    table.tBodies[0].append(...rows);
  }

  function open(anchor) {
    const section = document.getElementById(anchor);
    if (!section || !section.classList.contains("kernel")) return;
    const stored = document.querySelector(`script[data-card="${CSS.escape(anchor)}"]`);
    if (stored && !section.childElementCount) {
      section.innerHTML = stored.textContent.replaceAll("<\\/", "</");
      section.hidden = false;
      prepare(section);
    }
    section.scrollIntoView();
    section.setAttribute("tabindex", "-1");
    section.focus({ preventScroll: true });
  }

  const table = document.getElementById("kernels");
  if (table) {
    for (const [column, cell] of [...table.tHead.rows[0].cells].entries()) {
      cell.querySelector("button").addEventListener("click", () => sortBy(table, column));
    }
    const status = document.getElementById("shown");
    document.getElementById("filter").addEventListener("input", (event) => {
      const shown = filterRows(table.tBodies[0], event.target.value);
      status.textContent = event.target.value ? `${shown} of ${table.tBodies[0].rows.length} shown` : "";
    });
    table.addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#']");
      if (link) setTimeout(() => open(link.hash.slice(1)));
    });
  }

  document.getElementById("theme").addEventListener("click", () => {
    setTheme(root.dataset.theme === "dark" ? "light" : "dark");
  });
  const data = new Blob([document.getElementById("data").textContent], { type: "application/json" });
  document.getElementById("download-json").href = URL.createObjectURL(data);
  prepare(document);
  setTheme(preferred.matches ? "dark" : "light");
  preferred.addEventListener("change", () => setTheme(preferred.matches ? "dark" : "light"));
  addEventListener("hashchange", () => open(location.hash.slice(1)));
  if (location.hash.length > 1) open(location.hash.slice(1));
  addEventListener("beforeprint", () => {
    for (const container of document.querySelectorAll("[data-chart]")) {
      if (!drawn.has(container) && rowsOf(container)?.length) draw(container);
    }
  });
})();
