// Makes nodes and brings a page up to date. Text is always text: nothing here parses HTML.
//
//   h("a.button", {href: "#/", onclick: f}, "name", child)      s("path", {d: "M0 0"})
//   patch(old, fresh)   `old` becomes like `fresh` and keeps focus, scroll, selection and listeners

const SVG = "http://www.w3.org/2000/svg";
// Set as properties: the attribute would only be the value at the beginning.
const PROPERTIES = new Set(["value", "checked", "selected", "disabled", "indeterminate"]);

export const h = (tag, attributes, ...children) => make(tag, attributes, children, null);
export const s = (tag, attributes, ...children) => make(tag, attributes, children, SVG);

function make(tag, attributes, children, namespace) {
  const [name, ...classes] = tag.split(".");
  const node = namespace ? document.createElementNS(namespace, name) : document.createElement(name);
  node.made = { on: {}, style: {}, properties: {} };
  if (classes.length) node.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes ?? {})) setOne(node, key, value);
  append(node, children);
  return node;
}

function setOne(node, key, value) {
  if (value === null || value === undefined || (value === false && !PROPERTIES.has(key))) return;
  if (key === "key") node.made.key = String(value);
  else if (key === "class")
    node.setAttribute("class", [node.getAttribute("class"), value].filter(Boolean).join(" "));
  else if (key === "style") applyStyle(node, value);
  else if (key.startsWith("on")) listen(node, key.slice(2), value);
  else if (PROPERTIES.has(key)) {
    node.made.properties[key] = value;
    node[key] = value;
  } else node.setAttribute(key, value === true ? "" : String(value));
}

// By CSSOM: a style attribute is what our Content-Security-Policy forbids.
function applyStyle(node, style) {
  for (const name of Object.keys(node.made.style)) if (!(name in style)) node.style.removeProperty(name);
  for (const [name, value] of Object.entries(style)) node.style.setProperty(name, value);
  node.made.style = style;
}

function listen(node, type, handler) {
  if (!(type in node.made.on)) node.addEventListener(type, (event) => node.made.on[type]?.(event));
  node.made.on[type] = handler;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function patch(old, fresh) {
  if (old.takeOver) return old.takeOver(fresh); // an element that draws itself, such as a plot
  patchAttributes(old, fresh);
  if (fresh.made && old.made) patchMade(old, fresh.made);
  patchChildren(old, [...fresh.childNodes]);
}

function patchAttributes(old, fresh) {
  for (const { name, value } of [...fresh.attributes]) {
    if (name !== "style" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    // who opened a <details> wants it open
    if (name !== "style" && name !== "open" && !fresh.hasAttribute(name)) old.removeAttribute(name);
  }
}

function patchMade(old, made) {
  applyStyle(old, made.style);
  for (const type of Object.keys(old.made.on)) if (!(type in made.on)) old.made.on[type] = null;
  for (const [type, handler] of Object.entries(made.on)) listen(old, type, handler);
  for (const [key, value] of Object.entries(made.properties)) {
    // what the user has typed since stays, unless the page itself wants another value
    if (old.made.properties[key] !== value) old[key] = value;
  }
  old.made.properties = made.properties;
}

function patchChildren(parent, wanted) {
  const keyed = new Map();
  for (const child of parent.childNodes) if (child.made?.key) keyed.set(child.made.key, child);
  let next = parent.firstChild;
  for (const fresh of wanted) {
    const key = fresh.made?.key;
    let match = key ? keyed.get(key) : next;
    if (!key) while (match && match.made?.key) match = match.nextSibling;
    if (!match || !alike(match, fresh)) {
      parent.insertBefore(fresh, next);
      continue;
    }
    if (match !== next) parent.insertBefore(match, next);
    else next = next.nextSibling;
    if (fresh.nodeType === Node.TEXT_NODE) {
      if (match.data !== fresh.data) match.data = fresh.data;
    } else patch(match, fresh);
  }
  while (next) {
    const gone = next;
    next = next.nextSibling;
    gone.remove();
  }
}

const alike = (a, b) => a.nodeName === b.nodeName && (a.made?.key ?? "") === (b.made?.key ?? "");

/** Replaces what an element holds, in place. */
export function render(container, ...children) {
  const fresh = h("div", {}, ...children);
  patchChildren(container, [...fresh.childNodes]);
}
