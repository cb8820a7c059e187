// Draws the iterations of the page: one at a time, what is in sight of it. The data is explained in
// Note [The timeline of a report], engine/report/html/Timeline.h.
'use strict';
(() => {
  const source = document.getElementById('timeline-data');
  if (!source) return;
  const data = JSON.parse(source.textContent);
  const LANES = ['phases', 'gradients', 'hook', 'communication'];
  const LEFT = 118, RIGHT = 10, TOP = 24, ROW = 17, GAP = 5, HEAD = 20;
  const ZOOM = 1.25, PAN = 0.15, SHORTEST_NS = 200;

  // What kinds of spans are coloured as; all others are neutral.
  const STYLES = {
    step: 'step', data: 'data', forward: 'forward', backward: 'backward', kernels: 'backward',
    optimizer: 'optimizer', bucket_optimizer: 'optimizer', evaluate: 'evaluate',
    checkpoint: 'evaluate', user_phase: 'evaluate', operator: 'forward', device_kernel: 'forward',
    device_copy: 'copy', parallel_apply: 'forward', broadcast_buffers: 'rebuild',
    rebuild_buckets: 'rebuild', search_unused: 'rebuild', copy_in: 'copy', copy_out: 'copy',
    wait: 'wait', used_map: 'wait', off_core: 'no-core', finalize: 'finalize', hook_encode: 'encode',
    hook_communicate: 'communicate', hook_decode: 'decode', collective: 'carried',
    nccl_call: 'carried', nccl_kernel: 'carried', sync_batch_norm: 'carried',
    zero_broadcast: 'carried', scatter: 'carried', replicate: 'carried', gather: 'carried',
    reduce_gradients: 'carried', checked: 'check', fingerprint: 'check', gradient_check: 'check',
    shaped: 'link', gradient_ready: 'gradient', bucket_ready: 'gradient',
    bucket_launched: 'gradient', collective_queued: 'gradient', marked_unused: 'rebuild',
    fault: 'fault', gap: 'fault',
  };
  const DARK = new Set(['backward', 'gradient', 'wait', 'encode']);

  const view = document.getElementById('timeline-view');
  view.innerHTML = '<div class="choices" role="tablist"></div><svg tabindex="0" role="img"></svg>' +
      '<div class="tip" hidden></div>';
  const [choices, svg, tip] = view.children;

  let shown = null;  // {iteration, rows, spans, height}
  let from = 0, to = 1;  // ns in sight
  let width = 0;
  let pending = false;

  // Spans of a lane that overlap lie in rows below each other, each from the row of its kind on.
  function layOut(iteration) {
    const spans = [], lanes = [];
    let y = TOP;
    for (const rank of iteration.ranks) {
      lanes.push({y, rank: rank.name});
      y += HEAD;
      for (let lane = 0; lane < LANES.length; ++lane) {
        const mine = rank.spans.filter((span) => data.kinds[span[0]].lane === lane);
        if (mine.length === 0) continue;
        const ends = [];  // by row
        const placed = mine.map((span) => {
          const kind = data.kinds[span[0]];
          let row = kind.row;
          while (!kind.instant && ends[row] > span[1]) ++row;
          if (!kind.instant) ends[row] = span[1] + span[2];
          return {span, kind, row, rank: rank.name};
        });
        const used = [...new Set(placed.map((one) => one.row))].sort((a, b) => a - b);
        for (const one of placed) {
          one.y = y + used.indexOf(one.row) * ROW;
          one.index = spans.push(one) - 1;
        }
        lanes.push({y, lane: LANES[lane]});
        y += used.length * ROW + GAP;
      }
    }
    return {iteration, spans, lanes, height: y + 4};
  }

  // Somewhere in it there was no core for so many ns.
  const isOffCore = (one) => one.kind.name === 'off_core';
  const nameOf = (kind) => kind.name === 'off_core' ? 'no core' : kind.name.replaceAll('_', ' ');
  const title = (one) => {
    const text = one.span[4] >= 0 ? data.texts[one.span[4]] : '';
    const bucket = one.span[3] >= 0 ? `bucket ${one.span[3]}` : '';
    const kind = nameOf(one.kind);
    if (isOffCore(one)) return `no core for ${duration(one.span[5])} of it`;
    return [kind === 'collective' && text ? text : kind, kind === 'collective' ? '' : text, bucket]
        .filter(Boolean).join(', ');
  };
  const label = (one) => {
    if (isOffCore(one)) return `no core ${duration(one.span[5])}`;
    const text = one.span[4] >= 0 ? data.texts[one.span[4]] : '';
    const name = one.kind.name === 'step' ? shown.iteration.title
               : text || nameOf(one.kind).replace(/^hook /, '');
    return one.span[3] >= 0 && one.kind.lane !== 0 ? `${name} b${one.span[3]}` : name;
  };
  const duration = (ns) => ns < 1e3 ? `${ns} ns` : ns < 1e6 ? `${(ns / 1e3).toPrecision(3)} µs`
                         : ns < 1e9 ? `${(ns / 1e6).toPrecision(3)} ms` : `${(ns / 1e9).toPrecision(3)} s`;
  const bytes = (n) => n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toPrecision(3)} KiB`
                     : `${(n / 1048576).toPrecision(3)} MiB`;
  const escape = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  function grid(x) {
    const length = to - from;
    const power = 10 ** Math.floor(Math.log10(length / 8));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= length / 8);
    let html = '';
    for (let ns = Math.ceil(from / step) * step; ns <= to; ns += step) {
      html += `<line class="grid" x1="${x(ns).toFixed(1)}" x2="${x(ns).toFixed(1)}" y1="18" y2="${shown.height}"/>` +
          `<text x="${x(ns).toFixed(1)}" y="13" text-anchor="middle">${ns === 0 ? '0' : duration(Math.round(ns))}</text>`;
    }
    return html;
  }

  function draw() {
    pending = false;
    if (!shown) return;
    width = view.clientWidth;
    const plot = width - LEFT - RIGHT;
    const x = (ns) => LEFT + (ns - from) / (to - from) * plot;
    let html = grid(x);
    let labels = '';
    for (const lane of shown.lanes) {
      labels += lane.rank === undefined
          ? `<text x="${LEFT - 8}" y="${lane.y + 12}" text-anchor="end">${lane.lane}</text>`
          : `<text class="rank" x="8" y="${lane.y + 15}">${escape(lane.rank)}</text>`;
    }
    const drawn = new Map();  // by row: the last pixel that has a span narrower than one
    let marks = '';
    for (const one of shown.spans) {
      const begin = one.span[1], end = begin + one.span[2];
      if (end < from || begin > to) continue;
      const left = Math.max(LEFT, x(begin));
      const wide = Math.min(width - RIGHT, x(end)) - left;
      const style = STYLES[one.kind.name] || 'neutral';
      if (wide < 1) {
        if (drawn.get(one.y) === Math.floor(left)) continue;
        drawn.set(one.y, Math.floor(left));
      }
      // Marks lie over what takes time.
      const bar = (name, top, high) => `<rect class="span ${name}" data-i="${one.index}" x="${left.toFixed(1)}" y="${(one.y + top).toFixed(1)}" width="${Math.max(wide, one.kind.instant ? 1.5 : 0.8).toFixed(1)}" height="${high.toFixed(1)}"/>`;
      let rect = bar(isOffCore(one) ? `${style} part-of-it` : style, 0, ROW - 2);
      if (isOffCore(one)) {  // filled from below by the part that was waited
        const high = Math.max(1, (ROW - 2) * Math.min(1, one.span[5] / Math.max(1, one.span[2])));
        rect += bar(style, ROW - 2 - high, high);
      }
      if (one.kind.instant) { marks += rect; continue; }
      html += rect;
      if (wide > 26) {
        const text = label(one);
        const fits = Math.floor((wide - 8) / 6.4);
        if (fits >= Math.min(text.length, 3)) {
          const cut = text.length > fits ? text.slice(0, Math.max(1, fits - 1)) + '…' : text;
          html += `<text class="label${DARK.has(style) ? ' light' : ''}" x="${(left + 4).toFixed(1)}" y="${one.y + 11.5}">${escape(cut)}</text>`;
        }
      }
    }
    svg.setAttribute('viewBox', `0 0 ${width} ${shown.height}`);
    svg.style.height = `${shown.height}px`;
    svg.innerHTML = html + marks + labels;
  }
  function redraw() {
    if (!pending) {
      pending = true;
      requestAnimationFrame(draw);
    }
  }

  function look(begin, end) {
    const whole = shown.iteration.ns;
    const length = Math.min(whole, Math.max(SHORTEST_NS, end - begin));
    from = Math.min(Math.max(0, begin), whole - length);
    to = from + length;
    redraw();
  }
  function zoom(factor, at) {
    look(at - (at - from) / factor, at + (to - at) / factor);
  }
  const nsAt = (pixel) => from + (Math.max(LEFT, pixel) - LEFT) / (width - LEFT - RIGHT) * (to - from);
  const pixelOf = (event) => event.clientX - svg.getBoundingClientRect().left;

  function choose(index) {
    shown = layOut(data.iterations[index]);
    [...choices.children].forEach((button, i) => {
      button.setAttribute('aria-selected', String(i === index));
      button.tabIndex = i === index ? 0 : -1;
    });
    svg.setAttribute('aria-label', `${shown.iteration.title}, ${shown.iteration.about}`);
    look(0, shown.iteration.ns);
  }

  data.iterations.forEach((iteration, index) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.setAttribute('role', 'tab');
    button.append(iteration.title);
    const about = document.createElement('small');
    about.textContent = iteration.about;
    button.append(about);
    button.addEventListener('click', () => choose(index));
    choices.append(button);
  });
  choices.addEventListener('keydown', (event) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
    if (!by) return;
    const buttons = [...choices.children];
    const next = (buttons.indexOf(document.activeElement) + by + buttons.length) % buttons.length;
    choose(next);
    buttons[next].focus();
  });

  svg.addEventListener('wheel', (event) => {
    const whole = from <= 0 && to >= shown.iteration.ns;
    // Where there is nothing more to zoom out of, the page scrolls.
    if (!event.shiftKey && event.deltaY > 0 && whole) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      const by = Math.sign(event.deltaX || event.deltaY) * PAN * (to - from);
      look(from + by, to + by);
    } else {
      zoom(event.deltaY < 0 ? ZOOM : 1 / ZOOM, nsAt(pixelOf(event)));
    }
  }, {passive: false});
  let grabbed = null;
  svg.addEventListener('pointerdown', (event) => {
    grabbed = {pixel: event.clientX, from, to};
    svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener('pointerup', () => { grabbed = null; });
  svg.addEventListener('pointercancel', () => { grabbed = null; });
  svg.addEventListener('pointermove', (event) => {
    if (!grabbed) {
      point(event);
      return;
    }
    tip.hidden = true;
    const by = (grabbed.pixel - event.clientX) / (width - LEFT - RIGHT) * (to - from);
    look(grabbed.from + by, grabbed.to + by);
  });
  svg.addEventListener('pointerleave', () => { tip.hidden = true; });
  svg.addEventListener('dblclick', () => look(0, shown.iteration.ns));
  svg.addEventListener('keydown', (event) => {
    const middle = (from + to) / 2, step = PAN * (to - from);
    const keys = {
      ArrowLeft: () => look(from - step, to - step), ArrowRight: () => look(from + step, to + step),
      '+': () => zoom(ZOOM, middle), '=': () => zoom(ZOOM, middle), '-': () => zoom(1 / ZOOM, middle),
      '0': () => look(0, shown.iteration.ns), Home: () => look(0, shown.iteration.ns),
    };
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  function point(event) {
    const over = event.target.dataset && event.target.dataset.i;
    tip.hidden = over === undefined;
    if (tip.hidden) return;
    const one = shown.spans[over];
    const [, begin, length, , , size] = isOffCore(one) ? one.span.slice(0, 5) : one.span;
    tip.textContent = `${title(one)}\n${one.rank}` +
        (one.kind.instant ? '' : `, ${duration(length)}`) + ` at ${duration(begin)}` +
        (size === undefined ? '' : `\n${bytes(size)}`);
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.min(event.clientX + 14, innerWidth - box.width - 8)}px`;
    tip.style.top = `${event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18}px`;
  }

  addEventListener('resize', redraw);
  addEventListener('beforeprint', draw);
  choose(0);
})();
