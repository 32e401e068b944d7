// Makes elements. Text is always text: nothing from the server is ever parsed as HTML.

const svgSpace = "http://www.w3.org/2000/svg";

function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else element.setAttribute(name, value === true ? "" : String(value));
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) setAttribute(element, name, value);
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** An element: h("a", { href: "#/jobs", onclick: f }, "Jobs"). Attributes that are null or false are
    left out. */
export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const s = (tag, attributes, ...children) => fill(document.createElementNS(svgSpace, tag), attributes, children);

/** Sets the text of an element if it differs: most values do not change from second to second. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

let lastId = 0;

/** A unique id, for labels. */
export const newId = (prefix) => `${prefix}-${++lastId}`;

/** Text for screen readers only. */
export const hiddenText = (text) => h("span", { class: "hidden-text" }, text);
