// An empty shift first says that somebody is looking, so that a page without shifts scores 0 and not "unknown".
report("cls", { at: 0, score: 0 });
observe("layout-shift", (entry) => {
  if (!entry.hadRecentInput) {
    report("cls", { at: entry.startTime, score: entry.value });
  }
});
