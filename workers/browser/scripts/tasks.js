// An empty task first says that somebody is looking, so that a page without long tasks has none and not "unknown".
report("task", { at: 0, length: 0 });
observe("longtask", (entry) => report("task", { at: entry.startTime, length: entry.duration }));
