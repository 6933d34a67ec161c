/* SPDX-License-Identifier: GPL-2.0-only
 *
 * The moving picture at the top of the site. It draws the records of moving.py, which the page has:
 * each packet travels for the delay of its path and then waits in the queue until it arrives.
 * Times are in hundredths of a ms. */
"use strict";

(() => {
  const figure = document.querySelector("figure.moving");
  const data = JSON.parse(figure.querySelector("script").textContent);
  const SLOWER = 20, STILL = 0.8, REST_MS = 1500; // the still shows this part of the time
  const EDGE = 18, DOT = 5.5, ROWS = 5, ROW = 48, HEAD = 22, BLOCK = HEAD + 2 * ROW + 46;
  const FALL = 4000; // how long a lost packet is seen
  const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;

  const svg = figure.querySelector("svg");
  const add = (kind, attributes, parent = svg) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    return parent.appendChild(made);
  };
  const state = (path, at) => path.states.findLast((each) => each[0] <= at);
  const mega = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
  const most = Math.max(...data.runs.map(({ received }) => {
    const [, done, waiting] = received.at(-1);
    return done + waiting;
  }));

  let width, link, views;

  /** Everything that does not move, for the width that the page has. */
  function lay() {
    width = figure.clientWidth;
    link = width - 2 * EDGE - Math.min(width / 4, 84); // of it, the queue takes a part
    svg.replaceChildren();
    svg.setAttribute("viewBox", `0 0 ${width} ${BLOCK * data.runs.length}`);
    views = data.runs.map((run, number) => {
      const top = add("g", { transform: `translate(0 ${number * BLOCK})` });
      add("text", { y: 15, class: "name" }, top).textContent = run.scheduler;
      for (const [x, end] of [[0, "sender"], [width - EDGE, "receiver"]]) {
        const place = { x, y: HEAD, width: EDGE, height: 2 * ROW, rx: 3, class: "end" };
        add("rect", place, top);
        const middle = `translate(${x + EDGE / 2 + 4} ${HEAD + ROW}) rotate(-90)`;
        add("text", { transform: middle, "text-anchor": "middle" }, top).textContent = end;
      }
      const rows = data.paths.map((_path, index) => {
        const y = HEAD + index * ROW + 32;
        add("path", { d: `M${EDGE} ${y}h${link}`, class: "link" }, top);
        const queue = { x: EDGE + link, y: y - 14, width: width - 2 * EDGE - link, height: 28 };
        add("rect", { ...queue, class: "queue" }, top);
        return {
          y,
          label: add("text", { x: EDGE + 6, y: y - 18 }, top),
          queue: add("text", { x: width - EDGE - 6, y: y - 18, "text-anchor": "end" }, top),
          dots: ["sent", "again", "lost"].map((kind) =>
            add("path", { class: `${kind} path${index}` }, top)),
        };
      });
      const y = HEAD + 2 * ROW + 8;
      add("rect", { y, width, height: 10, class: "all" }, top);
      const bars = ["waiting", "done"].map((kind) => add("rect", { y, height: 10, class: kind }, top));
      return { rows, bars, text: add("text", { y: y + 25 }, top) };
    });
  }

  function draw(at) {
    data.runs.forEach((run, number) => {
      const { rows, bars, text } = views[number];
      rows.forEach(({ y, label, queue, dots }, index) => {
        const path = data.paths[index], drawn = ["", "", ""];
        let waiting = 0;
        for (const [sent, arrived, again] of run.packets[index]) {
          if (sent > at) break;
          const [, delay] = state(path, sent);
          if (arrived < 0) {
            const fallen = (at - sent) / FALL;
            if (fallen < 1) drawn[2] += `M${EDGE + 8} ${y + 14 * fallen}h.01`;
          } else if (at < sent + delay) {
            drawn[again] += `M${EDGE + (link * (at - sent)) / delay} ${y}h.01`;
          } else if (at < arrived) {
            const column = Math.floor(waiting / ROWS), row = waiting % ROWS;
            const x = width - EDGE - DOT * (column + 0.8);
            drawn[again] += `M${x} ${y + DOT * (row - (ROWS - 1) / 2)}h.01`;
            waiting += 1;
          }
        }
        dots.forEach((dot, kind) => dot.setAttribute("d", drawn[kind]));
        const [, delay, rate] = state(path, at);
        label.textContent = `${path.name}: ${rate / 1e6} Mbit/s, ${delay / 100} ms`;
        label.classList.toggle("changed", rate !== path.states[0][2]);
        queue.textContent = `queue: ${waiting}`;
      });
      const [, done, waits] = run.received.findLast((each) => each[0] <= at) ?? run.received[0];
      bars[0].setAttribute("width", (width * (done + waits)) / most);
      bars[1].setAttribute("width", (width * done) / most);
      text.textContent = `in order: ${mega(done)}, waiting for earlier data: ${mega(waits)}`;
    });
    clock.textContent = `${(at / 1e5).toFixed(3)} s`;
    slider.value = at;
  }

  const [button, slider, clock] = figure.querySelectorAll("button, input, output");
  let at = data.begin, isPlaying = false, last;

  function step(now) {
    if (!isPlaying) return;
    at += ((now - last) * 100) / SLOWER;
    last = now;
    if (at > data.end + (REST_MS * 100) / SLOWER) at = data.begin;
    draw(Math.min(at, data.end));
    requestAnimationFrame(step);
  }

  function play(wanted) {
    isPlaying = wanted;
    button.textContent = wanted ? "Pause" : "Play";
    if (!wanted) return;
    last = performance.now();
    requestAnimationFrame(step);
  }

  button.addEventListener("click", () => play(!isPlaying));
  slider.addEventListener("input", () => {
    play(false);
    at = Number(slider.value);
    draw(at);
  });
  Object.assign(slider, { min: data.begin, max: data.end, step: 10 });
  figure.hidden = false;
  new ResizeObserver(() => {
    if (figure.clientWidth === width) return;
    lay();
    draw(Math.min(at, data.end));
  }).observe(figure);
  if (isStill) at += STILL * (data.end - data.begin);
  lay();
  draw(at);
  play(!isStill);
})();
