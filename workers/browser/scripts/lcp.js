function describe(element) {
  if (!element) {
    return null;
  }
  const id = element.id ? `#${element.id}` : "";
  const classes = [...element.classList].slice(0, 3).map((name) => `.${name}`);
  return `${element.localName}${id}${classes.join("")}`.slice(0, 200);
}

// Every candidate is told; the last one stands.
observe("largest-contentful-paint", (entry) => {
  report("lcp", { at: entry.startTime, element: describe(entry.element), url: (entry.url || "").slice(0, 2048) });
});
