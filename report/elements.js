"use strict";
// Elements. Whatever comes from the data becomes text here and nothing else: no markup, no address.

// Characters that change how the text around them reads (controls, invisible and bidirectional
// ones), and halves of surrogate pairs.
const kUnseen =
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202f\u2060-\u206f\u3164\ufeff\ufff9-\ufffb\u{e0000}-\u{e0fff}]|\p{Surrogate}/gu;

// A string of the data as it is shown: the characters above as their numbers.
function shown(text) {
  return String(text).replace(
    kUnseen,
    (c) => `<U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`,
  );
}

function fill(node, attributes, children) {
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key.startsWith("--")) node.style.setProperty(key, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : shown(child));
  }
  return node;
}

// element("p", {class: "note"}, "text", node, [more]): children that are no nodes are text.
function element(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function drawn(tag, attributes, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

let idsGiven = 0;
function freshId(word) {
  idsGiven += 1;
  return `${word}-${idsGiven}`;
}

// A section of the page with its heading; what is null in `children` is left out.
function section(id, title, ...children) {
  return element(
    "section",
    {id, "aria-labelledby": `${id}-title`},
    element("h2", {id: `${id}-title`}, title),
    children,
  );
}

function note(...children) {
  return element("p", {class: "note"}, children);
}

function announce(text) {
  document.getElementById("said").textContent = shown(text);
}

// What `draw(width)` returns, drawn again when the width of its place changes.
function responsive(draw, attributes) {
  const place = element("div", attributes);
  let last = 0;
  new ResizeObserver(() => {
    const width = Math.round(place.clientWidth);
    if (width === 0 || width === last) return;
    last = width;
    place.replaceChildren(draw(width));
  }).observe(place);
  return place;
}
