"use strict";
// A figure as a file of its own: what stands on the page, drawn again as SVG from where the browser
// put it. Names become text and their colors are those of the moment.

const kDrawnStyles = [
  "fill",
  "fill-opacity",
  "stroke",
  "stroke-opacity",
  "stroke-width",
  "stroke-dasharray",
  "font-family",
  "font-size",
  "font-weight",
  "text-anchor",
  "dominant-baseline",
  "opacity",
];

// Programs other than browsers know no color(srgb ...), which color-mix() computes to.
function plainColor(color) {
  return color.replace(/color\(srgb ([^)]*)\)/g, (_, parts) => {
    const [red, green, blue, alpha] = parts.split(/[\s/]+/).map(Number);
    const rgb = [red, green, blue].map((part) => Math.round(part * 255)).join(", ");
    return alpha === undefined ? `rgb(${rgb})` : `rgba(${rgb}, ${alpha})`;
  });
}

const isSeen = (box) => box.width > 1 && box.height > 1; // 1 pixel is for those who hear the page

function copyOfDrawing(svg, box, corner) {
  const copy = svg.cloneNode(true);
  const copies = [copy, ...copy.querySelectorAll("*")];
  [svg, ...svg.querySelectorAll("*")].forEach((node, i) => {
    const style = getComputedStyle(node);
    for (const name of ["class", "tabindex", "role", "aria-label", "style"])
      copies[i].removeAttribute(name);
    for (const name of kDrawnStyles)
      copies[i].setAttribute(name, plainColor(style.getPropertyValue(name)));
  });
  fill(copy, {x: box.x - corner.x, y: box.y - corner.y, width: box.width, height: box.height}, []);
  return copy;
}

function drawnText(node, corner) {
  const range = document.createRange();
  range.selectNodeContents(node);
  const box = range.getBoundingClientRect();
  if (!isSeen(box) || node.textContent.trim() === "") return null;
  const style = getComputedStyle(node.parentElement);
  const place = {x: box.x - corner.x, y: box.y - corner.y + box.height * 0.8};
  const look = {"font-size": style.fontSize, "font-weight": style.fontWeight};
  const attributes = {...place, ...look, fill: plainColor(style.color)};
  return drawn("text", attributes, node.textContent.trim());
}

// The color of a box, the second of two colors of a square, the line around it.
function drawnBox(node, box, corner) {
  const style = getComputedStyle(node);
  const [color, image, shadow] = [style.backgroundColor, style.backgroundImage, style.boxShadow];
  const at = {x: box.x - corner.x, y: box.y - corner.y, width: box.width, height: box.height};
  const second = /^linear-gradient\(.*, (\w+\([^)]*\)) 50%\)$/.exec(plainColor(image));
  const line = /^(\w+\([^)]*\)).* inset$/.exec(plainColor(shadow));
  const [right, bottom] = [at.x + at.width, at.y + at.height];
  const half = `${right},${at.y} ${right},${bottom} ${at.x},${bottom}`;
  return [
    color === "rgba(0, 0, 0, 0)" ? null : drawn("rect", {...at, fill: plainColor(color)}),
    second ? drawn("polygon", {points: half, fill: second[1]}) : null,
    line ? drawn("rect", {...at, fill: "none", stroke: line[1]}) : null,
  ];
}

// The parts of `node` in the order in which the page draws them.
function drawnParts(node, corner) {
  if (node.nodeType === Node.TEXT_NODE) return [drawnText(node, corner)];
  if (node.nodeType !== Node.ELEMENT_NODE) return [];
  const box = node.getBoundingClientRect();
  if (!isSeen(box)) return [];
  if (node.localName === "svg") return [copyOfDrawing(node, box, corner)];
  const inside = [...node.childNodes].flatMap((child) => drawnParts(child, corner));
  return [...drawnBox(node, box, corner), ...inside];
}

function svgOf(node) {
  const box = node.getBoundingClientRect();
  const size = {width: node.scrollWidth || box.width, height: node.scrollHeight || box.height};
  const picture = drawn(
    "svg",
    {...size, viewBox: `0 0 ${size.width} ${size.height}`, "font-family": "sans-serif"},
    drawn("rect", {...size, fill: plainColor(getComputedStyle(node.closest("section")).backgroundColor)}),
    drawnParts(node, box),
  );
  return new XMLSerializer().serializeToString(picture);
}

// A button that saves what `find()` gives as NAME.svg.
function saveButton(name, find) {
  const save = () => {
    const address = URL.createObjectURL(new Blob([svgOf(find())], {type: "image/svg+xml"}));
    element("a", {href: address, download: `${name}.svg`}).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    announce(`${name}.svg is saved`);
  };
  return element("button", {type: "button", class: "quiet save", onclick: save}, "Save as SVG");
}
