// Whether a style sheet, of which the text is told, can hide nothing, as those of hosts of fonts and icons: a function,
// behind faint.js. What is made of a text leaves out the sheets that it imports.
(text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  const isPlain = ({ style, cssRules }) => !(style && faint(style)) && [...(cssRules ?? [])].every(isPlain);
  return !/@import/i.test(text) && [...sheet.cssRules].every(isPlain);
};
