'use strict';
(() => {
const $ = id => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const rows = data.rows;
const end = Math.max(data.end, 1);
const HEIGHT = 24;
const STATES = ['fulfilled', 'rejected', 'cancelled', 'pending', 'done'];

// MARK: Derived data

const string = index => index === undefined ? undefined : data.strings[index];
const threadName = number => data.threads[number] ?? 'thread ' + number;

rows.forEach((row, index) => {
  row.index = index;
  row.consumers = [];
  row.last = row.u === 'pending' ? end : row.s ?? end;
  row.words = ['#' + row.n, string(row.o), string(row.p), string(row.x), string(row.e),
    string(row.f), string(row.w), row.u].filter(Boolean).join(' ').toLowerCase();
});
for (const row of rows) {
  for (const other of [row.c, row.a, ...(row.i ?? [])]) {
    if (other !== undefined) rows[other].consumers.push(row.index);
  }
}

/// The summary that a folded chain shows in one row.
const summaries = new Map();
function summary(head) {
  let found = summaries.get(head);
  if (found) return found;
  found = { count: 0, pending: 0, rejected: 0, first: Infinity, last: 0, state: 'done' };
  for (let i = head; i < rows[head].z; i++) {
    const row = rows[i];
    found.count++;
    if (row.u === 'pending') found.pending++;
    if (row.u === 'rejected') found.rejected++;
    found.first = Math.min(found.first, row.m);
    found.last = Math.max(found.last, row.last);
    // The state of the chain's last promise; a task that awaits it has no result of its own.
    if (row.h === head && row.u !== 'done') found.state = row.u;
  }
  if (found.pending) found.state = 'pending';
  summaries.set(head, found);
  return found;
}

function time(microseconds) {
  const round = value => value < 10 ? value.toFixed(2) : value < 100 ? value.toFixed(1)
    : value.toFixed(0);
  const trim = text => text.includes('.') ? text.replace(/\.?0+$/, '') : text;
  const size = Math.abs(microseconds);
  if (size >= 1e6) return trim(round(microseconds / 1e6)) + ' s';
  if (size >= 1e3) return trim(round(microseconds / 1e3)) + ' ms';
  if (size === 0) return '0';
  if (size >= 1) return trim(round(microseconds)) + ' µs';
  return trim(round(microseconds * 1e3)) + ' ns';
}
/// Returns a time as text, with the digits that `precision` in microseconds needs.
function moment(microseconds, precision = 1) {
  const [unit, size] = end >= 1e6 ? ['s', 1e6] : end >= 1e3 ? ['ms', 1e3] : ['µs', 1];
  const digits = Math.max(0, Math.min(9, Math.ceil(Math.log10(size / precision) - 1e-9)));
  return (microseconds / size).toFixed(digits) + ' ' + unit;
}
const grouped = count => count.toLocaleString('en');
const plural = (count, word) => `${grouped(count)} ${word}${count === 1 ? '' : 's'}`;

// MARK: State

const isChain = row => row.z !== undefined && row.z - row.index > 1;
const folded = new Set();
const foldAll = () => rows.forEach(row => { if (isChain(row)) folded.add(row.index); });

/// Folds chains if there are too many rows, and unfolds as many as fit in the window.
function foldForOverview() {
  if (rows.length <= 300) return;
  foldAll();
  for (let opened = 0; opened < 20; opened++) {
    let count = 0, largest = null;
    for (let i = 0; i < rows.length; count++) {
      const row = rows[i];
      if (row.l) { i++; count--; continue; }
      if (!folded.has(i)) { i++; continue; }
      if (!largest || row.z - row.index > largest.z - largest.index) largest = row;
      i = row.z;
    }
    if (!largest || count >= 30) return;
    folded.delete(largest.index);
  }
}
foldForOverview();
let query = '', filter = 'all', showsLibrary = false;
let shown = [], position = new Map();
let from = 0, to = end;
let hovered = null, chosen = null;

/// The rows to show, in order.
function arrange() {
  shown = [];
  const isSearch = query !== '' || filter !== 'all';
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  for (let i = 0; i < rows.length;) {
    const row = rows[i];
    if (row.l && !showsLibrary && !isSearch) {
      i++;
    } else if (isSearch) {
      const fits = (filter === 'all' || row.u === filter)
        && words.every(word => row.words.includes(word));
      if (fits) shown.push(i);
      i++;
    } else {
      shown.push(i);
      i = folded.has(i) ? row.z : i + 1;
    }
  }
  position = new Map(shown.map((index, place) => [index, place]));
  $('count').textContent = isSearch
    ? `${grouped(shown.length)} of ${plural(rows.length, 'row')}`
    : plural(shown.length, 'row') + (folded.size ? ', some folded' : '');
  layOut();
}
const isFolded = index => query === '' && filter === 'all' && folded.has(index);

// MARK: Canvases

let colors = {};
function readColors() {
  const probe = document.createElement('span');
  document.body.append(probe);
  colors = {};
  for (const name of ['paper', 'panel', 'edge', 'grid', 'text', 'quiet', 'hover', 'chosen',
    'wait', 'queue', 'run', 'onrun', 'link', ...STATES]) {
    probe.style.color = `var(--${name})`;
    colors[name] = getComputedStyle(probe).color;
  }
  probe.remove();
}

function prepare(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const ratio = devicePixelRatio || 1;
  const columns = Math.round(width * ratio), lines = Math.round(height * ratio);
  if (canvas.width !== columns || canvas.height !== lines) {
    canvas.width = columns;
    canvas.height = lines;
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = '11px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
  context.textBaseline = 'middle';
  return { context, width, height };
}

const MARGIN = 10;
const scale = width => (width - 2 * MARGIN) / (to - from);
const toX = (instant, width) => MARGIN + (instant - from) * scale(width);
const toTime = (x, width) => from + (x - MARGIN) / scale(width);

function ticks(width) {
  const raw = (to - from) / Math.max(2, width / 110);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= raw);
  const found = [];
  for (let n = Math.ceil(from / step); n * step <= to; n++) found.push(n * step);
  return { moments: found, step };
}

// MARK: Drawing

let isDue = false;
function draw() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    drawOverview();
    drawAxis();
    drawRows();
  });
}

/// The numbers of pending promises and running handlers at each pixel, cached by width.
let density = null;
function measure(width) {
  if (density?.width === width) return density;
  const pending = new Float64Array(width + 1), running = new Float64Array(width + 1);
  const rejected = new Set();
  const pixel = instant => Math.max(0, Math.min(width - 1,
    Math.floor(MARGIN + instant / end * (width - 2 * MARGIN))));
  for (const row of rows) {
    if (row.k !== 'wait') {
      pending[pixel(row.m)]++;
      pending[pixel(row.last) + 1]--;
    }
    for (const [start, stop] of row.q) {
      running[pixel(start)]++;
      running[pixel(stop < 0 ? end : stop) + 1]--;
    }
    if (row.u === 'rejected' && row.s !== undefined) rejected.add(pixel(row.s));
  }
  for (let x = 1; x < width; x++) {
    pending[x] += pending[x - 1];
    running[x] += running[x - 1];
  }
  return density = { width, pending, running, rejected };
}

function drawOverview() {
  const { context, width, height } = prepare($('overview').querySelector('canvas'));
  const { pending, running, rejected } = measure(Math.floor(width));
  const most = Math.max(1, ...pending);
  const area = (counts, color) => {
    context.fillStyle = color;
    for (let x = 0; x < counts.length - 1; x++) {
      // Square root, so that one promise is visible among a thousand.
      const size = Math.sqrt(Math.max(0, counts[x]) / most) * (height - 8);
      if (size > 0) context.fillRect(x, height - size, 1, size);
    }
  };
  area(pending, colors.wait);
  area(running, colors.run);
  context.fillStyle = colors.rejected;
  for (const x of rejected) context.fillRect(x - 0.5, 0, 2, 5);
  const x = instant => MARGIN + instant / end * (width - 2 * MARGIN);
  const left = x(from), right = x(to);
  context.fillStyle = colors.panel;
  context.globalAlpha = 0.75;
  context.fillRect(0, 0, left, height);
  context.fillRect(right, 0, width - right, height);
  context.globalAlpha = 1;
  context.strokeStyle = colors.run;
  context.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), height - 1);
}

function drawAxis() {
  const { context, width, height } = prepare($('axis').querySelector('canvas'));
  context.fillStyle = colors.quiet;
  context.strokeStyle = colors.edge;
  context.textAlign = 'center';
  const { moments, step } = ticks(width);
  for (const tick of moments) {
    const x = toX(tick, width), text = tick === 0 ? '0' : moment(tick, step);
    const half = context.measureText(text).width / 2;
    context.fillText(text, Math.max(half + 2, Math.min(width - half - 2, x)), height / 2 - 1);
    context.beginPath();
    context.moveTo(x, height - 5);
    context.lineTo(x, height);
    context.stroke();
  }
  context.textAlign = 'left';
}

function drawRows() {
  const top = $('scroller').scrollTop;
  const { context, width, height } = prepare($('chart'));
  context.strokeStyle = colors.grid;
  for (const tick of ticks(width).moments) {
    context.beginPath();
    context.moveTo(Math.round(toX(tick, width)) + 0.5, 0);
    context.lineTo(Math.round(toX(tick, width)) + 0.5, height);
    context.stroke();
  }
  const first = Math.floor(top / HEIGHT);
  const count = Math.ceil(height / HEIGHT) + 1;
  const labels = [];
  for (let place = first; place < Math.min(shown.length, first + count); place++) {
    const row = rows[shown[place]];
    const y = place * HEIGHT - top;
    if (row.index === chosen || row.index === hovered) {
      context.fillStyle = row.index === chosen ? colors.chosen : colors.hover;
      context.fillRect(0, y, width, HEIGHT);
    }
    if (isFolded(row.index)) drawFolded(context, row, y, width);
    else drawRow(context, row, y + HEIGHT / 2, width);
    labels.push(label(row, y));
  }
  if (chosen !== null) drawArrows(context, rows[chosen], top, width, height);
  if (hovered !== null && hovered !== chosen) {
    drawArrows(context, rows[hovered], top, width, height);
  }
  const isFocused = $('labels').contains(document.activeElement);
  $('labels').replaceChildren(...labels);
  if (isFocused) $('scroller').focus({ preventScroll: true });
  if (!shown.length) {
    const empty = document.createElement('div');
    empty.className = 'empty';
    empty.textContent = rows.length ? 'No promise matches the search.' : 'No promise was recorded.';
    $('labels').append(empty);
  }
}

const waitsForOther = row => [row.c, row.a, ...(row.i ?? [])]
  .some(index => index !== undefined && rows[index].u === 'pending');

/// Draws a bar from one moment to another; a short one has a minimum width.
function bar(context, start, stop, y, thickness, color, width) {
  const left = toX(start, width);
  const size = Math.max(1.5, toX(stop, width) - left);
  if (left > width || left + size < 0) return;
  const begin = Math.max(-4, left);
  context.fillStyle = color;
  const visible = Math.min(width + 4, left + size) - begin;
  context.fillRect(begin, y - thickness / 2, visible, thickness);
}

function drawRow(context, row, y, width) {
  const runs = row.q;
  const isPending = row.u === 'pending';
  const begin = row.m;
  if (!runs.length) {
    // Only a promise that waits for no other one is drawn prominently.
    bar(context, begin, row.last, y, isPending && !waitsForOther(row) ? 4 : 2,
      isPending ? colors.pending : colors.wait, width);
  } else {
    const start = runs[0][0];
    const ready = Math.max(begin, Math.min(row.r ?? start, start));
    bar(context, begin, ready, y, 2, colors.wait, width);
    if (start > ready) bar(context, ready, start, y, 6, colors.queue, width);
    const stop = runs[runs.length - 1][1];
    if (stop >= 0 && row.last > stop) {
      bar(context, stop, row.last, y, 2, isPending ? colors.pending : colors.wait, width);
    }
  }
  if (isPending && !runs.some(run => run[1] < 0)) {
    // It continues beyond the end of the record.
    const x = toX(end, width);
    context.fillStyle = colors.pending;
    context.beginPath();
    context.moveTo(x, y - 5);
    context.lineTo(x + 7, y);
    context.lineTo(x, y + 5);
    context.fill();
  }
  for (const run of runs) drawRun(context, run, row, y, width);
  if (row.s !== undefined) marker(context, toX(row.s, width), y, colors[row.u]);
}

function drawRun(context, [start, stop, , callsClosure], row, y, width) {
  const isOpen = stop < 0;
  const color = isOpen ? colors.pending : row.k === 'wait' ? colors.cancelled : colors.run;
  bar(context, start, isOpen ? end : stop, y, callsClosure ? 14 : 6, color, width);
  const left = Math.max(0, toX(start, width));
  const room = Math.min(width, toX(isOpen ? end : stop, width)) - left - 10;
  const text = string(row.o);
  if (callsClosure && room > 24 && context.measureText(text).width < room) {
    context.fillStyle = colors.onrun;
    context.fillText(text, left + 5, y + 0.5);
  }
}

function marker(context, x, y, color) {
  context.fillStyle = color;
  context.strokeStyle = colors.paper;
  context.lineWidth = 1.5;
  context.beginPath();
  context.arc(x, y, 4, 0, 7);
  context.fill();
  context.stroke();
  context.lineWidth = 1;
}

function drawFolded(context, head, y, width) {
  const facts = summary(head.index);
  const middle = y + HEIGHT / 2;
  context.globalAlpha = 0.4;
  bar(context, facts.first, facts.last, middle, 10,
    facts.pending === facts.count ? colors.pending : colors.wait, width);
  context.globalAlpha = 1;
  let drawnTo = -Infinity;
  for (let i = head.index; i < head.z; i++) {
    for (const [start, stop] of rows[i].q) {
      const right = toX(stop < 0 ? end : stop, width);
      // Skips what would cover the same pixel.
      if (right <= drawnTo && stop >= 0) continue;
      bar(context, start, stop < 0 ? end : stop, middle, 10,
        stop < 0 ? colors.pending : colors.run, width);
      if (right - toX(start, width) < 1) drawnTo = Math.max(drawnTo, right + 0.5);
    }
  }
  for (let i = head.index; i < head.z && facts.rejected; i++) {
    if (rows[i].u === 'rejected' && rows[i].s !== undefined) {
      bar(context, rows[i].s, rows[i].s, middle, 14, colors.rejected, width);
    }
  }
  marker(context, toX(facts.last, width), middle, colors[facts.state]);
}

/// Draws arrows from the rows that triggered a row, and to the rows that it triggered.
function drawArrows(context, row, top, width, height) {
  const anchor = index => {
    let shownIndex = index;
    // A row inside a folded chain is represented by the chain.
    for (let i = index; !position.has(shownIndex) && i >= 0; i--) {
      if (position.has(i)) shownIndex = i;
    }
    const place = position.get(shownIndex);
    return place === undefined ? null : place * HEIGHT - top + HEIGHT / 2;
  };
  const arrow = (source, target) => {
    const y1 = anchor(source.index), y2 = anchor(target.index);
    if (y1 === null || y2 === null || y1 === y2 || source.s === undefined) return;
    if (Math.max(y1, y2) < 0 || Math.min(y1, y2) > height) return;
    const isSource = target.c === source.index;
    const x1 = toX(source.s, width);
    const x2 = toX(isSource && target.q.length ? target.q[0][0] : Math.max(target.m,
      Math.min(target.last, source.s)), width);
    const bend = Math.sign(y2 - y1) * 8;
    context.strokeStyle = context.fillStyle = colors.link;
    context.beginPath();
    context.moveTo(x1, y1);
    context.bezierCurveTo(x1, y1 + bend * 2, x2, y2 - bend * 2, x2, y2 - bend * 0.9);
    context.stroke();
    context.beginPath();
    context.moveTo(x2 - 4, y2 - bend * 1.4);
    context.lineTo(x2 + 4, y2 - bend * 1.4);
    context.lineTo(x2, y2 - bend * 0.7);
    context.fill();
  };
  for (const index of [row.c, row.a, ...(row.i ?? [])]) {
    if (index !== undefined) arrow(rows[index], row);
  }
  // The arrows of a promise with very many consumers would hide the chart.
  for (const index of row.consumers.slice(0, 200)) arrow(row, rows[index]);
}

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function label(row, y) {
  const made = element('div', 'row');
  if (row.index === chosen) made.classList.add('chosen');
  if (row.index === hovered) made.classList.add('hover');
  made.style.top = y + 'px';
  made.style.paddingLeft = 6 + Math.min(row.d, 10) * 14 + 'px';
  made.dataset.index = row.index;
  const facts = isFolded(row.index) ? summary(row.index) : null;
  if (isChain(row) && query === '' && filter === 'all') {
    const twist = element('button', 'twist', facts ? '\u25B6' : '\u25BC');
    twist.tabIndex = -1;
    twist.setAttribute('aria-label', facts ? 'Unfold' : 'Fold');
    made.append(twist);
  } else {
    made.append(element('span', 'twist'));
  }
  const dot = element('span', 'dot');
  dot.style.background = `var(--${facts ? facts.state : row.u})`;
  dot.title = facts ? facts.state : row.u;
  made.append(dot, element('span', 'name', string(row.o)),
    element('span', 'number', '#' + row.n));
  if (facts) {
    made.append(element('span', 'badge', '+' + grouped(facts.count - 1)));
    if (facts.pending) {
      made.append(element('span', 'badge open', `${grouped(facts.pending)} pending`));
    }
    if (facts.rejected) {
      made.append(element('span', 'badge bad', `${grouped(facts.rejected)} rejected`));
    }
  }
  if (row.p !== undefined) {
    // Truncated on the left, where the folder is.
    const place = element('span', 'place');
    place.append(element('bdi', '', string(row.p)));
    place.title = string(row.p);
    made.append(place);
  }
  return made;
}

// MARK: Details of a row

function facts(row) {
  const told = [];
  const tell = (name, value) => { if (value) told.push([name, value]); };
  tell('Made', `${moment(row.m)}, on ${threadName(row.t)}`);
  tell('At', string(row.p));
  tell('In', string(row.f));
  if (row.x !== undefined) tell('Executor', string(row.x) || 'a queue without a label');
  if (row.q.length) {
    const start = row.q[0][0];
    const ready = Math.max(row.m, Math.min(row.r ?? start, start));
    if (row.k !== 'wait') {
      tell('Waited', ready > row.m ? time(ready - row.m) : '');
      tell('Queued', time(start - ready));
    }
    for (const [begin, stop, thread, callsClosure] of row.q) {
      const verb = row.k === 'wait' ? 'Blocked' : callsClosure ? 'Ran' : 'Not called';
      tell(verb, stop < 0 ? `since ${moment(begin)}, on ${threadName(thread)}`
        : `${time(stop - begin)}, on ${threadName(thread)}`);
    }
  }
  if (row.s !== undefined && row.u !== 'done') {
    tell('Settled', moment(row.s) + (row.st === undefined ? '' : `, on ${threadName(row.st)}`));
    tell('Settled at', string(row.sp));
    tell('Life', time(row.s - row.m));
  } else if (row.u === 'pending') {
    tell('Pending', `${time(end - row.m)}; ${string(row.w) ?? 'waits'}`);
  }
  tell('Error', row.u === 'rejected' ? string(row.e) : '');
  return told;
}

function list(told) {
  const made = element('dl');
  for (const [name, value] of told) {
    made.append(element('dt', '', name), element('dd', '', value));
  }
  return made;
}

const title = row => `${string(row.o)} #${row.n}`;
function state(row) {
  const made = element('div', 'state', row.u === 'done' ? 'over' : row.u);
  made.style.color = `var(--${row.u})`;
  return made;
}

/// The rows through which this one's error passed, beginning with its origin.
function errorWay(row) {
  let first = row.index;
  for (const seen = new Set(); rows[first].v !== undefined && !seen.has(first);) {
    seen.add(first);
    first = rows[first].v;
  }
  const way = new Set([first]);
  for (const index of way) {
    for (const next of rows[index].consumers) if (rows[next].v === index) way.add(next);
  }
  return [...way];
}

function describe() {
  const panel = $('details');
  panel.hidden = chosen === null;
  if (chosen === null) return;
  const row = rows[chosen];
  const close = element('button', 'close', '\u2715');
  close.setAttribute('aria-label', 'Close');
  close.onclick = () => choose(null);
  panel.replaceChildren(close, element('h2', '', title(row)), state(row), list(facts(row)));
  const link = index => {
    const made = element('a', '', title(rows[index])
      + (rows[index].p === undefined ? '' : ' at ' + string(rows[index].p)));
    made.setAttribute('role', 'button');
    made.tabIndex = 0;
    made.onclick = () => reveal(index);
    made.onkeydown = event => { if (event.key === 'Enter') reveal(index); };
    return made;
  };
  const section = (name, indices, tag = 'ul') => {
    const known = indices.filter(index => index !== undefined);
    if (!known.length) return;
    panel.append(element('h3', '', name));
    const items = element(tag);
    for (const index of known.slice(0, 50)) {
      const item = element('li');
      item.append(link(index));
      items.append(item);
    }
    if (known.length > 50) items.append(element('li', '', `and ${known.length - 50} more`));
    panel.append(items);
  };
  section('Called on', [row.c]);
  section('Its handler returned', [row.a]);
  section('Made of', row.i ?? []);
  section('Made in the handler of', [row.b]);
  section('Settled in the handler of', [row.g]);
  section('Followed by', row.consumers);
  const way = errorWay(row);
  if (row.u === 'rejected' && way.length > 1) {
    section('Error path', way, 'ol');
  }
}

function showTip(event, row) {
  const tip = $('tip');
  tip.hidden = !row;
  if (!row) return;
  tip.replaceChildren(element('b', '', title(row)), state(row), list(facts(row)));
  if (isFolded(row.index)) {
    const folds = summary(row.index);
    const span = time(folds.last - folds.first);
    tip.append(list([['Chain', `${plural(folds.count, 'row')}, ${span}`]]));
  }
  const { offsetWidth: width, offsetHeight: height } = tip;
  const x = event.clientX + 16, y = event.clientY + 16;
  const left = x + width > innerWidth ? event.clientX - width - 12 : x;
  const top = y + height > innerHeight ? event.clientY - height - 12 : y;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, top) + 'px';
}

// MARK: Navigation

function look(newFrom, newTo) {
  const least = Math.min(end, 0.01);
  const span = Math.min(end, Math.max(least, newTo - newFrom));
  const middle = (newFrom + newTo) / 2;
  from = Math.min(Math.max(0, middle - span / 2), end - span);
  to = from + span;
  draw();
}
function zoom(factor, center = (from + to) / 2) {
  look(center - (center - from) * factor, center + (to - center) * factor);
}
const pan = part => look(from + (to - from) * part, to + (to - from) * part);

function choose(index) {
  chosen = index;
  describe();
  layOut();
}

/// Unfolds the chains that hide a row, and scrolls to it.
function reveal(index) {
  if (!position.has(index)) {
    if (rows[index].l) showLibrary(true);
    if (query !== '' || filter !== 'all') search('', 'all');
    for (const head of [...folded]) {
      if (head <= index && index < rows[head].z) folded.delete(head);
    }
    arrange();
  }
  const row = rows[index];
  if (row.m > to || row.last < from) look(row.m - (row.last - row.m), row.last * 2 - row.m);
  choose(index);
  const scroller = $('scroller'), y = position.get(index) * HEIGHT;
  if (y < scroller.scrollTop || y + HEIGHT > scroller.scrollTop + scroller.clientHeight) {
    scroller.scrollTop = y - scroller.clientHeight / 2;
  }
}

function search(newQuery, newFilter) {
  query = newQuery.trim();
  filter = newFilter;
  if ($('search').value.trim() !== query) $('search').value = newQuery;
  for (const button of $('filters').children) {
    button.setAttribute('aria-pressed', button.dataset.filter === filter);
  }
  hovered = null;
  arrange();
}

function showLibrary(isShown) {
  showsLibrary = isShown;
  $('library').setAttribute('aria-pressed', isShown);
  arrange();
}

function toggle(index) {
  if (!folded.delete(index)) folded.add(index);
  arrange();
}

function layOut() {
  const height = $('scroller').clientHeight;
  $('sticky').style.height = height + 'px';
  $('chart').style.height = height + 'px';
  $('spacer').style.height = Math.max(0, shown.length * HEIGHT + 8 - height) + 'px';
  // The strips above leave the space that the scroll bar and the panel take below.
  const room = $('overview').clientWidth - $('sticky').clientWidth;
  for (const id of ['overview', 'axis']) $(id).style.paddingRight = room + 'px';
  draw();
}

// MARK: Events

const rowAt = event => {
  const box = $('scroller').getBoundingClientRect();
  const place = Math.floor((event.clientY - box.top + $('scroller').scrollTop) / HEIGHT);
  return shown[place] === undefined ? null : rows[shown[place]];
};
const chart = $('chart'), sticky = $('sticky');
const timeAt = event =>
  toTime(event.clientX - chart.getBoundingClientRect().left, chart.clientWidth);

$('scroller').addEventListener('scroll', draw);
$('scroller').addEventListener('wheel', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) {
    event.preventDefault();
    zoom(Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.002)), timeAt(event));
  } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    event.preventDefault();
    pan((event.deltaX || event.deltaY) / chart.clientWidth);
  }
}, { passive: false });

let drag = null;
chart.addEventListener('pointerdown', event => {
  if (event.button) return;
  drag = { x: event.clientX, y: event.clientY, from, to, top: $('scroller').scrollTop };
  drag.moved = false;
  chart.setPointerCapture(event.pointerId);
});
chart.addEventListener('pointermove', event => {
  if (!drag) return;
  const x = event.clientX - drag.x, y = event.clientY - drag.y;
  if (!drag.moved && Math.hypot(x, y) < 4) return;
  drag.moved = true;
  chart.classList.add('dragged');
  const shift = x * (drag.to - drag.from) / (chart.clientWidth - 2 * MARGIN);
  look(drag.from - shift, drag.to - shift);
  $('scroller').scrollTop = drag.top - y;
});
for (const name of ['pointerup', 'pointercancel']) {
  chart.addEventListener(name, event => {
    const row = rowAt(event);
    if (drag && !drag.moved && name === 'pointerup') choose(row ? row.index : null);
    drag = null;
    chart.classList.remove('dragged');
  });
}
chart.addEventListener('dblclick', event => {
  const row = rowAt(event);
  if (!row) return;
  const [first, last] = isFolded(row.index)
    ? [summary(row.index).first, summary(row.index).last] : [row.m, row.last];
  const margin = Math.max(0.5, (last - first) * 0.08);
  look(first - margin, last + margin);
});
sticky.addEventListener('pointermove', event => {
  const row = drag?.moved ? null : rowAt(event);
  showTip(event, row);
  if (hovered !== (row?.index ?? null)) {
    hovered = row?.index ?? null;
    draw();
  }
});
sticky.addEventListener('pointerleave', () => {
  $('tip').hidden = true;
  hovered = null;
  draw();
});
// Uses the position and not the element, because each drawing replaces the elements.
$('labels').addEventListener('click', event => {
  const row = rowAt(event);
  if (!row) return;
  if (event.target.closest?.('.twist') && isChain(row) && query === '' && filter === 'all') {
    toggle(row.index);
  } else {
    choose(row.index);
  }
});
$('labels').addEventListener('dblclick', event => {
  const row = rowAt(event);
  if (row && isChain(row) && query === '' && filter === 'all') toggle(row.index);
});

const overview = $('overview').querySelector('canvas');
const overviewTime = event =>
  (event.offsetX - MARGIN) / (overview.clientWidth - 2 * MARGIN) * end;
let brush = null;
overview.addEventListener('pointerdown', event => {
  const start = overviewTime(event);
  // A drag inside the window moves it; outside, it draws a new one.
  const isInside = start >= from && start <= to && to - from < end * 0.999;
  brush = { start, from, to, isInside };
  overview.setPointerCapture(event.pointerId);
});
overview.addEventListener('pointermove', event => {
  if (!brush) return;
  const now = overviewTime(event);
  const shift = now - brush.start;
  if (brush.isInside) look(brush.from + shift, brush.to + shift);
  else look(Math.min(brush.start, now), Math.max(brush.start, now));
});
overview.addEventListener('pointerup', () => { brush = null; });
overview.addEventListener('dblclick', () => look(0, end));

$('search').addEventListener('input', event => search(event.target.value, filter));
$('fold').onclick = () => { foldAll(); arrange(); };
$('unfold').onclick = () => { folded.clear(); arrange(); };
$('library').onclick = () => showLibrary(!showsLibrary);
$('in').onclick = () => zoom(0.5);
$('out').onclick = () => zoom(2);
$('fit').onclick = () => look(0, end);
$('theme').onclick = () => {
  const root = document.documentElement.style;
  const isDark = root.colorScheme ? root.colorScheme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  root.colorScheme = isDark ? 'light' : 'dark';
  readColors();
  draw();
};
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  readColors();
  draw();
});

document.addEventListener('keydown', event => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === $('search')) {
    if (event.key === 'Escape') { search('', filter); $('search').blur(); }
    return;
  }
  const step = by => {
    const place = position.get(chosen);
    const next = place === undefined ? 0 : Math.max(0, Math.min(shown.length - 1, place + by));
    if (shown.length) reveal(shown[next]);
  };
  const actions = {
    '+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '0': () => look(0, end),
    ArrowLeft: () => pan(-0.15), ArrowRight: () => pan(0.15),
    ArrowDown: () => step(1), ArrowUp: () => step(-1),
    '/': () => $('search').focus(), Escape: () => choose(null),
  };
  if (event.key === 'Enter' && chosen !== null && isChain(rows[chosen])
    && event.target === $('scroller')) {
    toggle(chosen);
  } else if (actions[event.key]) {
    event.preventDefault();
    actions[event.key]();
  }
});
new ResizeObserver(layOut).observe($('scroller'));

// MARK: Frame

const counts = Object.fromEntries(STATES.map(name => [name, 0]));
for (const row of rows) counts[row.u]++;
const promises = rows.filter(row => row.k === 'promise').length;
$('facts').textContent = [plural(promises, 'promise'), time(end),
  counts.pending ? `${grouped(counts.pending)} pending` : 'nothing pending',
  counts.rejected ? `${grouped(counts.rejected)} rejected` : '']
  .filter(Boolean).join(' \u00B7 ');
for (const name of ['all', 'pending', 'rejected', 'cancelled']) {
  const text = name[0].toUpperCase() + name.slice(1)
    + (name === 'all' ? '' : ' ' + grouped(counts[name]));
  const button = element('button', '', text);
  button.dataset.filter = name;
  button.onclick = () => search(query, name);
  $('filters').append(button);
}
for (const notice of data.notices) $('notices').append(element('pre', '', notice));
for (const [name, kind, color] of [['waits', 'thin', 'wait'], ['queued', '', 'queue'],
  ['handler runs', '', 'run'], ['fulfilled', 'round', 'fulfilled'],
  ['rejected', 'round', 'rejected'], ['cancelled', 'round', 'cancelled'],
  ['pending', 'round', 'pending']]) {
  const made = element('span');
  const swatch = element('i', kind);
  swatch.style.background = `var(--${color})`;
  made.append(swatch, name);
  $('legend').append(made);
}
$('legend').append(element('span', 'keys', 'Drag to move \u00B7 Ctrl + wheel to zoom \u00B7 '
  + 'double click to zoom to a row \u00B7 arrow keys \u00B7 / to search'));
readColors();
search('', 'all');
showLibrary(false);
})();
