/// The page at `/`, which continuously loads pages and plots their latencies, lets you inject
/// faults, and shows some of `/metrics` and `/debug/pending`.
let livePage = #"""
  <!doctype html>
  <html lang="en">
  <meta charset="utf-8">
  <title>Gateway</title>
  <style>
    body { font: 15px system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; }
    canvas { width: 100%; height: 16em; border: 1px solid #8888; }
    table { border-collapse: collapse; } td, th { padding: .2em 1em .2em 0; text-align: left; }
    pre { background: #8881; padding: 1em; overflow: auto; max-height: 20em; }
    .page { color: #06c; } .async { color: #c50; } .failed { color: #d00; }
  </style>
  <h1>Gateway</h1>
  <p>This page loads ten pages a second from each endpoint. Each dot is a page, and its height is the
    latency: <b class="page">● /page (Pledge)</b>, <b class="async">● /async (async/await)</b>,
    <b class="failed">● failed</b>.</p>
  <canvas id="plot"></canvas>
  <p id="latencies"></p>
  <h2>Faults</h2>
  <table id="faults"><tr><th>Backend</th><th>Calls that stall for 1 s</th>
    <th>Calls that fail</th></tr></table>
  <h2>Calls to the backends</h2>
  <table id="calls"></table>
  <h2>Pending promises</h2>
  <pre id="pending"></pre>
  <script>
    const get = id => document.getElementById(id);
    const seconds = 30, dots = [];

    async function load(endpoint) {
      const start = performance.now();
      // Most pages are loaded once; a few popular ones come from the cache.
      const id = Math.floor(Math.random() * (Math.random() < 0.2 ? 5 : 1e6));
      const ok = await fetch(`/${endpoint}/${id}`).then(r => r.ok, () => false);
      dots.push({ endpoint, ok, time: performance.now(), took: performance.now() - start });
    }
    setInterval(() => { load('page'); load('async'); }, 100);

    function draw() {
      const canvas = get('plot'), context = canvas.getContext('2d'), now = performance.now();
      canvas.width = canvas.clientWidth; canvas.height = canvas.clientHeight;
      while (dots.length && now - dots[0].time > seconds * 1000) dots.shift();
      const y = ms => canvas.height * (1 - Math.log10(Math.max(ms, 1)) / 3.5);
      context.fillStyle = context.strokeStyle = '#8888';
      for (const ms of [10, 100, 1000]) {
        context.fillRect(0, y(ms), canvas.width, 1);
        context.fillText(`${ms} ms`, 4, y(ms) - 3);
      }
      for (const dot of dots) {
        const x = canvas.width * (1 - (now - dot.time) / (seconds * 1000));
        context.fillStyle = !dot.ok ? '#d00' : dot.endpoint === 'page' ? '#06c' : '#c50';
        context.fillRect(x - 2, y(dot.took) - 2, 4, 4);
      }
      requestAnimationFrame(draw);
    }
    draw();

    function percentile(endpoint, part) {
      const all = dots.filter(d => d.endpoint === endpoint).map(d => d.took).sort((a, b) => a - b);
      return all.length ? all[Math.min(all.length - 1, Math.floor(all.length * part))] : 0;
    }

    for (const backend of ['products', 'reviews', 'prices']) {
      const row = get('faults').insertRow();
      row.insertCell().textContent = backend;
      for (const fault of ['stalls', 'errors']) {
        const input = document.createElement('input');
        Object.assign(input, { type: 'range', min: 0, max: 0.5, step: 0.01, value: 0 });
        const label = document.createElement('span');
        const show = () => { label.textContent = ` ${Math.round(input.value * 100)} %`; };
        input.oninput = () => {
          show();
          fetch(`/faults/${backend}?${fault}=${input.value}`, { method: 'POST' });
        };
        fetch(`/faults/${backend}`).then(r => r.json()).then(f => { input.value = f[fault]; show(); });
        row.insertCell().append(input, label);
      }
    }

    const columns = ['calls', 'hedges', 'failures', 'rejected'];
    setInterval(async () => {
      get('latencies').textContent = ['page', 'async'].map(endpoint =>
        `/${endpoint}: p50 ${percentile(endpoint, 0.5).toFixed(1)} ms, ` +
        `p99 ${percentile(endpoint, 0.99).toFixed(1)} ms`).join('; ');
      const rows = {};
      for (const line of (await (await fetch('/metrics')).text()).split('\n')) {
        const found = line.match(
          /^backend_(\w+)_total\{backend="(\w+)",endpoint="(\w+)"\} (\d+)/);
        if (found) (rows[`/${found[3]}: ${found[2]}`] ??= {})[found[1]] = found[4];
      }
      get('calls').innerHTML = `<tr><th></th>${columns.map(c => `<th>${c}</th>`).join('')}</tr>` +
        Object.entries(rows).map(([name, row]) =>
          `<tr><td>${name}</td>${columns.map(c => `<td>${row[c] ?? 0}</td>`).join('')}</tr>`).join('');
      get('pending').textContent = await (await fetch('/debug/pending')).text();
    }, 1000);
  </script>
  """#
