// Whether a style sheet, of which the text is told, can hide nothing, as those of hosts of fonts and icons: an expression,
// a function. What is made of a text leaves out the sheets that it imports.
(text) => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  const hides = (style) => style.opacity === "0" || style.visibility === "hidden" || style.display === "none";
  const faint = (style) => hides(style) || style.animationName || style.animation || style.clipPath;
  const isPlain = ({ style, cssRules }) => !(style && faint(style)) && [...(cssRules ?? [])].every(isPlain);
  return !/@import/i.test(text) && [...sheet.cssRules].every(isPlain);
};
