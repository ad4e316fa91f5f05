// Whether a style sheet, of which the text is told, names fonts and does nothing else, as hosts of fonts send them: an
// expression, a function. What is made of a text leaves out the sheets that it imports.
(text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return !/@import/i.test(text) && [...sheet.cssRules].every((rule) => rule instanceof CSSFontFaceRule);
};
