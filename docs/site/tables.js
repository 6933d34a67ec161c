/* SPDX-License-Identifier: GPL-2.0-only
 *
 * Long tables of the page can be sorted by each column and filtered: by text, and by the values of
 * each column in which rows share them. Without this script they are shown whole. */
"use strict";

(() => {
  const LONG = 20, CHOICES = 12;

  /** A cell such as "bulk: 83 %" has a kind, "bulk", and a value, which is sorted by. */
  const split = (cell) => {
    const [, kind, value] = cell.textContent.trim().match(/^(?:(.*): )?(.*)$/s);
    return { kind: kind ?? value, value };
  };

  /** The number that a text such as "up to 3 x" begins with; others come behind all numbers. */
  const number = (text) => Number(text.match(/^(?:[a-z]+ )*(-?\d+(?:\.\d+)?)/i)?.[1] ?? Infinity);
  const compare = (a, b) => number(a) - number(b) || a.localeCompare(b);

  function enhance(table) {
    const rows = [...table.tBodies[0].rows];
    const heads = [...table.tHead.rows[0].cells];
    const controls = document.createElement("p");
    controls.className = "filter";
    const text = document.createElement("input");
    Object.assign(text, { type: "search", placeholder: "Filter", ariaLabel: "Filter by text" });
    const choices = heads.map((head, column) => {
      const kinds = [...new Set(rows.map((row) => split(row.cells[column]).kind))].sort(compare);
      if (kinds.length < 2 || kinds.length > Math.min(CHOICES, rows.length / 2)) return null;
      const select = document.createElement("select");
      const name = head.textContent.trim();
      select.ariaLabel = name;
      select.append(new Option(`${name}: all`, ""), ...kinds.map((kind) => new Option(kind, kind)));
      return select;
    });
    const count = document.createElement("output");

    function filter() {
      const wanted = text.value.trim().toLowerCase();
      for (const row of rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted) || choices.some(
          (select, column) => select?.value && split(row.cells[column]).kind !== select.value,
        );
      }
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = `${shown} of ${rows.length}`;
    }

    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const order = head.ariaSort === "ascending" ? "descending" : "ascending";
        for (const each of heads) each.ariaSort = null;
        head.ariaSort = order;
        const value = (row) => split(row.cells[column]).value;
        rows.sort((a, b) => compare(value(a), value(b)) * (order === "ascending" ? 1 : -1));
        table.tBodies[0].append(...rows);
      });
    });
    controls.append(text, ...choices.filter(Boolean), count);
    controls.addEventListener("input", filter);
    (table.closest(".table-wrapper") ?? table).before(controls);
    filter();
  }

  for (const table of document.querySelectorAll("table.docutils")) {
    if (table.tBodies[0]?.rows.length >= LONG && table.tHead) enhance(table);
  }
})();
