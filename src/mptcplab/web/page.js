// SPDX-License-Identifier: GPL-2.0-only
// Draws the charts of a report when they come into view, filters them by scheduler, and opens runs.
"use strict";
(() => {
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("data").textContent);
  const hidden = new Set();
  const plots = new Map(); // by their element, what is drawn there: {traces, layout}
  const CONFIG = {
    responsive: true,
    displaylogo: false,
    modeBarButtonsToRemove: ["lasso2d", "select2d"],
    toImageButtonOptions: {format: "svg"},
  };
  // On A4: two charts side by side, and a run on a page
  const PRINTED = {width: 330, height: 230};
  const PRINTED_RUN = {width: 670, height: 880};

  // What depends on light or dark

  function themed(layout) {
    const style = getComputedStyle(root);
    const [ink, rule, card] = ["--ink", "--rule", "--card"].map((name) =>
      style.getPropertyValue(name).trim());
    const made = {
      ...layout,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      font: {color: ink, size: 12, family: "system-ui, sans-serif"},
      hoverlabel: {bgcolor: card, bordercolor: rule, font: {color: ink}, namelength: -1},
    };
    for (const name of Object.keys(made).filter((key) => /^[xy]axis\d*$/.test(key))) {
      made[name] = {...made[name], gridcolor: rule, zerolinecolor: rule, linecolor: rule};
    }
    return made;
  }

  function inked(trace) {
    const ink = getComputedStyle(root).getPropertyValue("--ink").trim();
    const made = {...trace};
    if (trace.error_y) made.error_y = {color: ink, ...trace.error_y};
    if (!trace.meta || !trace.meta.ink) return made;
    if (trace.line) made.line = {...trace.line, color: ink};
    if (trace.marker) made.marker = {...trace.marker, color: ink};
    return made;
  }

  // What is left of a trace: nothing of a hidden scheduler, and no bar of one
  function filtered(trace) {
    const meta = trace.meta || {};
    if (meta.scheduler !== undefined && hidden.has(meta.scheduler)) return [];
    if (meta.schedulers === undefined) return [inked(trace)];
    const kept = meta.schedulers.map((name) => !hidden.has(name));
    const left = (values) => values.filter((_, index) => kept[index]);
    return [inked({...trace, x: left(trace.x), y: left(trace.y)})];
  }

  function draw(element, size = {autosize: true}) {
    const {traces, layout} = plots.get(element);
    return Plotly.react(element, traces.flatMap(filtered), themed({...layout, ...size}), CONFIG);
  }

  function redraw() {
    for (const element of plots.keys()) draw(element);
  }

  // A chart is drawn when it comes near the window, one after the other: hundreds are in a report,
  // and few are looked at

  function begin(element) {
    if (plots.has(element)) return;
    plots.set(element, data.charts[Number(element.dataset.chart)]);
    draw(element);
  }

  const seen = new IntersectionObserver(async (entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      seen.unobserve(entry.target);
      await new Promise(requestAnimationFrame);
      begin(entry.target);
    }
  }, {rootMargin: "150px"});
  const waiting = document.querySelectorAll("[data-chart]");

  // Filter

  function filter() {
    for (const element of document.querySelectorAll("[data-scheduler]")) {
      element.classList.toggle("hidden", hidden.has(element.dataset.scheduler));
    }
    redraw();
  }

  for (const box of document.querySelectorAll(".bar input")) {
    box.checked = true;
    box.addEventListener("change", () => {
      if (box.checked) hidden.delete(box.value);
      else hidden.add(box.value);
      filter();
    });
  }
  function all(shown) {
    for (const box of document.querySelectorAll(".bar input")) {
      box.checked = shown;
      if (shown) hidden.delete(box.value);
      else hidden.add(box.value);
    }
    filter();
  }
  document.getElementById("all").addEventListener("click", () => all(true));
  document.getElementById("none").addEventListener("click", () => all(false));

  // Light and dark: as the system has it, until one is chosen

  const system = matchMedia("(prefers-color-scheme: dark)");
  function theme(name) {
    root.dataset.theme = name;
    redraw();
  }
  theme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => theme(system.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => {
    theme(root.dataset.theme === "dark" ? "light" : "dark");
  });

  // Paper is white, has all charts of what is open, and is as wide as it is

  let before = "light";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const element of waiting) {
      if (element.closest("details:not([open])") === null) begin(element);
    }
    for (const element of plots.keys()) {
      draw(element, element.classList.contains("run") ? PRINTED_RUN : PRINTED);
    }
  });
  addEventListener("afterprint", () => theme(before));

  // Runs

  async function unpacked(id) {
    const packed = document.getElementById(id).textContent;
    const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  function decisions(table) {
    const box = document.createElement("div");
    box.className = "scroll list";
    const made = box.appendChild(document.createElement("table"));
    const head = made.createTHead().insertRow();
    for (const name of table.columns) {
      head.appendChild(document.createElement("th")).textContent = name;
    }
    const body = made.createTBody();
    for (const row of table.rows) {
      const line = body.insertRow();
      for (const value of row) line.insertCell().textContent = value === null ? "" : value;
    }
    const note = document.createElement("p");
    note.className = "faint";
    note.textContent = table.note;
    return [note, box];
  }

  async function open(button) {
    const row = button.closest("tr");
    const next = row.nextElementSibling;
    if (next && next.classList.contains("opened")) {
      for (const plot of next.querySelectorAll(".plot")) {
        plots.delete(plot);
        Plotly.purge(plot);
      }
      next.remove();
      button.textContent = "open";
      return;
    }
    button.textContent = "close";
    const opened = document.createElement("tr");
    opened.className = "opened";
    opened.dataset.scheduler = row.dataset.scheduler;
    const cell = opened.insertCell();
    cell.colSpan = row.cells.length;
    row.after(opened);
    const run = JSON.parse(await unpacked(button.dataset.run));
    const figure = cell.appendChild(document.createElement("figure"));
    const plot = figure.appendChild(document.createElement("div"));
    plot.className = "plot run";
    plots.set(plot, run.figure);
    if (run.decisions) figure.append(...decisions(run.decisions));
    await draw(plot);
  }


  // The scenario as a file, which mptcplab runs again

  for (const button of document.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => {
      const text = document.getElementById(button.dataset.save).textContent;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([text], {type: "application/json"}));
      link.download = "scenario.json";
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  // The library is the largest part: tables are shown, and read, while it comes

  async function library() {
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
    const script = document.createElement("script");
    script.textContent = await unpacked("plotly");
    document.head.append(script);
    for (const element of waiting) seen.observe(element);
    for (const button of document.querySelectorAll("[data-run]")) {
      button.addEventListener("click", () => open(button));
      button.disabled = false;
    }
    root.dataset.ready = "yes";
  }
  library();
})();
