// What makes the demo sites worth measuring: an origin that works before it answers, and a CDN that says how old its copy is.

import fs from 'fs';

// Well beyond the 200 ms from which on thinking is a finding, so that every region finds it.
const THINK_MS = 250;
// What is counted anew for every visitor takes longer than what is only read.
const COUNT_MS = 340;

// `./dev demo slower` writes by how many per cent; no file, no difference.
function slowness(r) {
  try {
    return 1 + (parseFloat(fs.readFileSync(r.variables.demo_slower_file, 'utf8')) || 0) / 100;
  } catch (_) {
    return 1;
  }
}

function think(r) {
  const path = r.uri === '/' ? '/index.html' : r.uri;
  const work_ms = path.startsWith('/api/') ? COUNT_MS : THINK_MS;
  setTimeout(() => r.internalRedirect('/answers' + path), work_ms * slowness(r));
}

function age(r) {
  const stored = Date.parse(r.variables.upstream_http_date);
  return stored ? String(Math.max(0, Math.floor((Date.now() - stored) / 1000))) : '';
}

export default { think, age };
