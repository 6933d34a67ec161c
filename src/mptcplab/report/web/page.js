// SPDX-License-Identifier: GPL-2.0-only
// Draws the charts of a report when they come into view, filters them by scheduler, and opens runs.
// It stands in the head, so that a page is dark from the first moment.
"use strict";
(() => {
  const root = document.documentElement;
  const hidden = new Set();
  const sections = new Map(); // of each that was open, by its element, what its charts are made of
  const plots = new Map(); // by their element, what is drawn there: {traces, layout}
  const CONFIG = {
    responsive: true,
    displaylogo: false,
    // without a pointer it would always be there, in front of legends; fingers zoom without it
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false,
    modeBarButtonsToRemove: ["lasso2d", "select2d"],
    toImageButtonOptions: {format: "svg"},
  };
  // On A4: two charts side by side, and a run on a page
  const PRINTED = {width: 330, height: 230};
  const PRINTED_RUN = {width: 670, height: 880};

  // What is packed in the page, to be had as text or as a blob

  async function unpacked(id) {
    // the browser decodes such an address faster than a script does; it asks no network
    const packed = await fetch(`data:;base64,${document.getElementById(id).textContent}`);
    return new Response(packed.body.pipeThrough(new DecompressionStream("gzip")));
  }

  // The library is the largest part, and takes a second to start: all else is shown before it, the
  // first charts as pictures
  async function library() {
    await new Promise((shown) => requestAnimationFrame(() => setTimeout(shown)));
    performance.mark("page shown");
    const blob = await (await unpacked("plotly")).blob();
    const script = document.createElement("script");
    // from an address it is compiled beside the page's thread, as a text it would not be
    script.src = URL.createObjectURL(new Blob([blob], {type: "text/javascript"}));
    const loaded = new Promise((resolve, reject) => Object.assign(script, {
      onload: resolve, onerror: reject,
    }));
    document.head.append(script);
    await loaded;
    URL.revokeObjectURL(script.src);
    performance.mark("library ready");
  }
  let drawable;

  // Light and dark: as the system has it, until one is chosen

  const system = matchMedia("(prefers-color-scheme: dark)");
  function theme(name) {
    root.dataset.theme = name;
    redraw();
  }
  theme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => theme(system.matches ? "dark" : "light"));

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

  // On a narrow screen the titles of panels take two small lines, and begin above the axis

  function narrowed(layout, width) {
    if (!layout.annotations || width > 500) return layout;
    const annotations = layout.annotations.map((each) => {
      const comma = each.text.indexOf(", ", each.text.length / 2);
      const text = each.text.length < 60 || comma < 0 ? each.text :
        `${each.text.slice(0, comma + 1)}<br>${each.text.slice(comma + 2)}`;
      return {...each, text, xanchor: "left", align: "left", xshift: -60, font: {size: 9}};
    });
    return {...layout, annotations};
  }

  function draw(element, size = {autosize: true}) {
    const {traces, layout} = plots.get(element);
    const fitting = narrowed(layout, size.width || element.clientWidth);
    return Plotly.react(element, traces.flatMap(filtered), themed({...fitting, ...size}), CONFIG);
  }

  function redraw() {
    for (const element of plots.keys()) draw(element);
  }

  // A chart is drawn when it comes near the window, one after the other: hundreds are in a report,
  // and few are looked at

  function begin(element) {
    if (plots.has(element)) return;
    const section = sections.get(element.closest("[data-charts]"));
    plots.set(element, section[Number(element.dataset.chart)]);
    element.replaceChildren();
    draw(element);
    performance.mark("chart drawn");
  }

  const seen = new IntersectionObserver(async (entries) => {
    for (const entry of entries.filter((each) => each.isIntersecting)) {
      seen.unobserve(entry.target);
      await new Promise(requestAnimationFrame);
      begin(entry.target);
    }
  }, {rootMargin: "150px"});

  async function unfold(section) {
    if (sections.has(section) || section.open === false) return;
    const content = await (await unpacked(section.dataset.charts)).json();
    await drawable;
    sections.set(section, content);
    for (const element of section.querySelectorAll("[data-chart]")) seen.observe(element);
  }

  // Paper is white, has all charts of what is open, and is as wide as it is

  let before = "light";
  addEventListener("beforeprint", () => {
    before = root.dataset.theme;
    root.dataset.theme = "light";
    for (const section of sections.keys()) {
      for (const element of section.querySelectorAll("[data-chart]")) {
        if (element.closest("details:not([open])") === null) begin(element);
      }
    }
    for (const element of plots.keys()) {
      draw(element, element.classList.contains("run") ? PRINTED_RUN : PRINTED);
    }
  });
  addEventListener("afterprint", () => theme(before));

  // Runs

  function decisions(table) {
    const box = document.createElement("div");
    box.className = "scroll list";
    box.tabIndex = 0;
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

  function toggled(button, open) {
    button.textContent = open ? "close" : "open";
    const label = button.getAttribute("aria-label");
    button.setAttribute("aria-label", label.replace(/^\w+/, button.textContent));
    button.setAttribute("aria-expanded", open);
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
      toggled(button, false);
      return;
    }
    toggled(button, true);
    const opened = document.createElement("tr");
    opened.className = "opened";
    opened.dataset.scheduler = row.dataset.scheduler;
    const cell = opened.insertCell();
    cell.colSpan = row.cells.length;
    row.after(opened);
    const run = await (await unpacked(button.dataset.run)).json();
    const figure = cell.appendChild(document.createElement("figure"));
    const plot = figure.appendChild(document.createElement("div"));
    plot.className = "plot run";
    plots.set(plot, run.figure);
    if (run.decisions) figure.append(...decisions(run.decisions));
    await draw(plot);
  }

  // The scenario as a file, which mptcplab runs again

  async function save(button) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(await (await unpacked(button.dataset.save)).blob());
    link.download = "scenario.json";
    link.click();
    URL.revokeObjectURL(link.href);
  }

  // The filter

  function filter() {
    for (const element of document.querySelectorAll("[data-scheduler]")) {
      element.classList.toggle("hidden", hidden.has(element.dataset.scheduler));
    }
    redraw();
  }

  function show(boxes, shown) {
    for (const box of boxes) {
      box.checked = shown;
      if (shown) hidden.delete(box.value);
      else hidden.add(box.value);
    }
    filter();
  }

  // Once the page is there

  addEventListener("DOMContentLoaded", async () => {
    const boxes = document.querySelectorAll(".bar input");
    for (const box of boxes) {
      box.checked = true;
      box.addEventListener("change", () => show([box], box.checked));
    }
    const on = (id, what) => document.getElementById(id).addEventListener("click", what);
    on("all", () => show(boxes, true));
    on("none", () => show(boxes, false));
    on("theme", () => theme(root.dataset.theme === "dark" ? "light" : "dark"));
    for (const button of document.querySelectorAll("[data-save]")) {
      button.addEventListener("click", () => save(button));
    }
    drawable = library();
    const all = document.querySelectorAll("[data-charts]");
    for (const section of all) section.addEventListener("toggle", () => unfold(section));
    await Promise.all(Array.from(all, unfold));
    await drawable;
    for (const button of document.querySelectorAll("[data-run]")) {
      button.addEventListener("click", () => open(button));
      button.disabled = false;
    }
    root.dataset.ready = "yes";
  });
})();
