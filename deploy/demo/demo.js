// What makes the demo sites worth measuring: an origin that works before it answers, and a CDN that says how old its copy is.

const THINK_MS = 60;
// What is counted anew for every visitor takes longer than what is only read.
const COUNT_MS = 140;

function think(r) {
  const path = r.uri === '/' ? '/index.html' : r.uri;
  setTimeout(() => r.internalRedirect('/answers' + path), path.startsWith('/api/') ? COUNT_MS : THINK_MS);
}

function age(r) {
  const stored = Date.parse(r.variables.upstream_http_date);
  return stored ? String(Math.max(0, Math.floor((Date.now() - stored) / 1000))) : '';
}

export default { think, age };
