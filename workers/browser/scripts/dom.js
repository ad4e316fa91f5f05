document.addEventListener("readystatechange", () => {
  const [navigation] = performance.getEntriesByType("navigation");
  if (document.readyState === "interactive" && navigation) {
    report("dom", { interactive: navigation.domInteractive });
  }
});
