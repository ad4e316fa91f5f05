// What a rule hides by itself, and what it may hide for a while.
const hides = (style) => style.opacity === "0" || style.visibility === "hidden" || style.display === "none";
const faint = (style) => hides(style) || style.animationName || style.animation || style.clipPath;
