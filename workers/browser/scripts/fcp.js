observe("paint", (entry) => {
  if (entry.name === "first-contentful-paint") {
    report("fcp", { at: entry.startTime });
  }
});
