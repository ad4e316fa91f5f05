// What the page itself measured: User Timing, and elements that it named by `elementtiming`. Of each kind and name the
// first counts: pages write the same mark again and again. An empty one first says that somebody is looking.
const MOST_TIMINGS = 100;
const timings = new Set();
report("timing", {});
for (const kind of ["mark", "measure", "element"]) {
  observe(kind, (entry) => {
    const name = (kind === "element" ? entry.identifier : entry.name).slice(0, 200);
    const key = `${kind} ${name}`;
    if (timings.size < MOST_TIMINGS && !timings.has(key)) {
      timings.add(key);
      report("timing", { kind, name, at: entry.startTime, length: entry.duration });
    }
  });
}
