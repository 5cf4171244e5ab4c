"use strict";
// Faults of the layout of the open page, as sentences: run by page.py in the browser.
(() => {
  const faults = [];
  const named = (node) => {
    const text = node.textContent.trim().slice(0, 40);
    return `${node.localName}.${String(node.getAttribute("class") || "")} '${text}'`;
  };
  const isHeard = (node) => node.closest(".unseen, .skip, [hidden]") !== null;
  const within = (box, outer, slack) =>
    box.left >= outer.left - slack && box.right <= outer.right + slack &&
    box.top >= outer.top - slack && box.bottom <= outer.bottom + slack;
  const styles = new Map();
  const clips = (node) => {
    if (!styles.has(node)) styles.set(node, getComputedStyle(node).overflow !== "visible");
    return styles.get(node);
  };
  const screen = {left: 0, right: document.documentElement.clientWidth, top: -Infinity, bottom: Infinity};

  // Text: within each ancestor that cuts, its cell, its tile and its drawing.
  const frames = "td, th, .tile, svg, .command code, button";
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const parent = text.parentElement;
    if (text.data.trim() === "" || isHeard(parent) || parent.closest("script, style, noscript")) continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const boxes = [...range.getClientRects()].filter((box) => box.width > 0);
    const frame = parent.closest(frames);
    for (const box of boxes) {
      if (!within(box, screen, 0.5)) faults.push(`${named(parent)} is outside the screen`);
      if (frame && !parent.matches(".layer-number") && !within(box, frame.getBoundingClientRect(), 2))
        faults.push(`${named(parent)} is outside its cell`);
      for (let at = parent; at && at !== document.body; at = at.parentElement)
        if (at.localName !== "svg" && clips(at) && !within(box, at.getBoundingClientRect(), 2))
          faults.push(`${named(parent)} is cut`);
    }
  }

  for (const node of document.querySelectorAll("body *")) {
    if (isHeard(node) || node.getClientRects().length === 0) continue;
    const box = node.getBoundingClientRect();
    const card = node.parentElement.closest(".treemap, .card, .server, section, .bar");
    const isDrawing = node.closest("svg") !== null && node.localName !== "svg";
    if (card && !isDrawing && box.width > 0 && !within(box, card.getBoundingClientRect(), 1))
      faults.push(`${named(node)} is outside its card`);
    const {overflowX} = getComputedStyle(node);
    if (overflowX !== "visible" && node.scrollWidth > node.clientWidth + 1 && node.localName !== "input")
      faults.push(`${named(node)} scrolls sideways`);
    if (node.matches("td.number, .figures dd, .share") && getComputedStyle(node).fontVariantNumeric !== "tabular-nums")
      faults.push(`${named(node)} has digits of different widths`);
  }
  return [...new Set(faults)];
})();
