// What a document tells at the end of its load: an expression behind faint.js, its value is told. Pictures that have
// more pixels than the page shows of them, the addresses that it asks to connect to ahead, how its largest text begins
// and whether that waits for its fonts, what its style sheets hide (of sheets that nobody may read, their addresses),
// and the links that held the paint up by the page's own word.
// Where the author lets the browser choose (srcset, picture), where a picture is hidden, cut out or leads to itself,
// nobody knows how large it will be shown: then nothing is said of its address. Nor of one that is a background as well.
(() => {
  const elements = [];
  const roots = [document];
  for (const root of roots) {
    for (const element of [...root.querySelectorAll("*")].slice(0, 5000 - elements.length)) {
      elements.push(element);
      if (element.shadowRoot) {
        roots.push(element.shadowRoot);
      }
    }
  }
  const scales = new Map();
  const sizes = new Map();
  for (const image of elements.filter((element) => element.localName === "img").slice(0, 2000)) {
    const url = image.currentSrc;
    if (!url.startsWith("http") || !image.complete || !image.naturalWidth || !image.naturalHeight) {
      continue;
    }
    const box = image.getBoundingClientRect();
    const scale = Math.max(box.width / image.naturalWidth, box.height / image.naturalHeight);
    const chosen = image.srcset || image.closest("picture");
    const cut = getComputedStyle(image).objectFit === "none";
    const link = image.closest("a[href]");
    const unknown = !scale || chosen || cut || (link && link.href === url);
    scales.set(url, Math.max(scales.get(url) || 0, unknown ? 1 : scale));
    sizes.set(url, [image.naturalWidth, image.naturalHeight]);
  }
  const large = [...scales].filter(([, scale]) => scale < 0.5);
  const parts = large.length ? [undefined, "::before", "::after"] : [];
  const backgrounds = elements
    .flatMap((element) => parts.map((part) => getComputedStyle(element, part).backgroundImage))
    .filter((image) => image.includes("url("));
  const pictures = large
    .filter(([url]) => !backgrounds.some((image) => image.includes(`"${url}"`)))
    .slice(0, 50)
    .map(([url, scale]) => [url.slice(0, 4096), ...sizes.get(url), scale]);
  const links = [...document.querySelectorAll("link[rel~=preconnect i]")].slice(0, 100);
  const hints = links.map((link) => link.href.slice(0, 4096));
  // The largest text, where no style sheet that is readable may have hidden it until a script came; and what it lies in.
  const observer = new PerformanceObserver(() => {});
  observer.observe({ type: "largest-contentful-paint", buffered: true });
  const largest = observer.takeRecords().at(-1);
  observer.disconnect();
  const within = [];
  for (let element = largest?.url ? null : largest?.element; element; element = element.parentElement) {
    within.push(element);
  }
  // A text is shown in its own font alone, for three seconds, unless the font's face says otherwise.
  const bare = (family) => family.trim().replace(/^["']|["']$/g, "").toLowerCase();
  const faces = [...document.fonts].slice(0, 1000).filter((face) => face.status !== "unloaded");
  const ownOf = (element) => {
    const families = getComputedStyle(element).fontFamily.split(",").map(bare);
    const family = families.find((name) => faces.some((face) => bare(face.family) === name));
    return faces.filter((face) => bare(face.family) === family);
  };
  const awaits = (own) => own.length > 0 && own.every((face) => ["auto", "block"].includes(face.display));
  const says = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  const saying = within.slice(0, 1).flatMap((text) => [text, ...text.querySelectorAll("*")].slice(0, 200).filter(says));
  const waits = faces.length && within.length ? saying.every((element) => awaits(ownOf(element))) : null;
  const hiding = [];
  // Of a sheet, or of a rule that holds others: as far as its media are those of this page.
  const readable = (sheet) => {
    try {
      return matchMedia(sheet.media?.mediaText || "all").matches ? [...(sheet.cssRules ?? [])] : [];
    } catch {
      return [];
    }
  };
  const most = { sheets: 200, rules: 20000, unread: 20 };
  const rules = [...document.styleSheets].slice(0, most.sheets).flatMap(readable).slice(0, most.rules);
  // What a rule speaks of, whatever it must lie in.
  const lastOf = (selector) => selector.trim().split(/[\s>+~]+(?![^(]*\))/).at(-1);
  const mayMatch = (selector) => within.some((element) => element.matches(lastOf(selector)));
  const veils = (rule) => {
    try {
      return faint(rule.style) && rule.selectorText.split(/,(?![^(]*\))/).some(mayMatch);
    } catch {
      return true;
    }
  };
  const closed = (sheet) => {
    try {
      return !sheet.cssRules;
    } catch {
      return true;
    }
  };
  const unread = [...document.styleSheets].filter(closed);
  // What scripts adopt they may change, and nobody sees that they did.
  let veiled = !waits || document.adoptedStyleSheets.length > 0 || document.styleSheets.length > most.sheets;
  for (const rule of rules) {
    veiled ||= Boolean(rule.selectorText) && veils(rule);
    if (!rule.selectorText) {
      unread.push(...[rule.styleSheet].filter((sheet) => sheet && closed(sheet)));
      rules.push(...readable(rule.styleSheet ?? rule).slice(0, most.rules - rules.length));
    } else if (/html|body|root|\*/.test(rule.selectorText) && hides(rule.style)) {
      hiding.push(rule.selectorText.slice(0, 1000));
    }
  }
  const blocking = performance
    .getEntriesByType("resource")
    .filter((entry) => entry.initiatorType === "link" && entry.renderBlockingStatus === "blocking")
    .map((entry) => entry.name.slice(0, 4096));
  const few = within.length > 0 && within.length <= 200;
  const words = few ? within[0].textContent.replace(/\s+/g, " ").trim().slice(0, 80) : null;
  const text = !veiled && rules.length < most.rules && unread.length <= most.unread && few && {
    words,
    unread: unread.map((sheet) => (sheet.href ?? "").slice(0, 4096)),
    styles: document.querySelectorAll("style").length,
    tags: within.map((element) => [
      element.localName.slice(0, 500),
      Object.fromEntries(
        [...element.attributes].slice(0, 100).map(({ name, value }) => [name.slice(0, 500), value.slice(0, 500)]),
      ),
    ]),
  };
  return { pictures, hints, waits, text, words, hiding: hiding.slice(0, 1000), blocking: blocking.slice(0, 200) };
})();
