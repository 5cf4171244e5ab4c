"use strict";
// Buttons, choices, figures on hover and focus, the switch of light and dark.

const tips = new WeakMap();

// Shows what `lines()` gives ([title, [name, text]...]) while `node` is hovered or focused.
function tipped(node, lines) {
  tips.set(node, lines);
  return node;
}

function placeTip(box, tip) {
  tip.style.left = "0px";
  tip.style.top = "0px";
  const size = tip.getBoundingClientRect();
  const below = box.bottom + 8 + size.height < window.innerHeight;
  const left = Math.min(
    Math.max(8, box.left + box.width / 2 - size.width / 2),
    window.innerWidth - size.width - 8,
  );
  tip.style.left = `${Math.max(4, left)}px`;
  tip.style.top = `${Math.max(4, below ? box.bottom + 8 : box.top - size.height - 8)}px`;
}

function showTip(node) {
  const tip = document.getElementById("tip");
  const [title, ...pairs] = tips.get(node)();
  tip.replaceChildren(
    element("strong", null, title),
    element(
      "dl",
      null,
      pairs.map(([name, text]) => [element("dt", null, name), element("dd", null, text)]),
    ),
  );
  tip.hidden = false;
  placeTip(node.getBoundingClientRect(), tip);
}

function hideTip() {
  document.getElementById("tip").hidden = true;
}

// What was focused may have scrolled into view just now: its figures stay beside it.
function followScroll() {
  const tip = document.getElementById("tip");
  const focused = tippedAround(document.activeElement);
  if (focused && !tip.hidden) placeTip(focused.getBoundingClientRect(), tip);
  else hideTip();
}

function tippedAround(node) {
  for (let at = node; at instanceof Element; at = at.parentElement) if (tips.has(at)) return at;
  return null;
}

function startTips() {
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const node = tippedAround(event.target);
      if (node) showTip(node);
      else hideTip();
    });
  }
  document.addEventListener("focusout", hideTip);
  document.addEventListener("scroll", followScroll, {capture: true, passive: true});
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hideTip();
  });
}

function copyFallback(text) {
  const area = element("textarea", {class: "unseen", "aria-hidden": "true"});
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}

async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyFallback(text);
  }
}

// A command with a button that copies it. One that holds unseen characters is only shown: what is
// pasted must be what is read.
function command(text, label) {
  const code = element("code", {tabindex: "0", role: "region", "aria-label": label}, text);
  if (shown(text) !== text) {
    return element(
      "div",
      {class: "command"},
      code,
      element("span", {class: "note"}, "holds unseen characters; copy by hand"),
    );
  }
  const button = element(
    "button",
    {type: "button", class: "quiet", "aria-label": `Copy: ${label}`},
    "Copy",
  );
  button.addEventListener("click", async () => {
    const done = await copyText(text);
    button.textContent = done ? "Copied" : "Not copied";
    announce(done ? `Copied: ${label}` : "The browser refused to copy");
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1600);
  });
  return element("div", {class: "command"}, code, button);
}

// Buttons of which one is on: choices are [key, title]; `chosen(key)` hears of each change.
function choice(label, choices, current, chosen) {
  const buttons = choices.map(([key, title]) =>
    element(
      "button",
      {
        type: "button",
        "aria-pressed": String(key === current),
        onclick: () => {
          for (const [i, other] of buttons.entries())
            other.setAttribute("aria-pressed", String(choices[i][0] === key));
          chosen(key);
        },
      },
      title,
    ),
  );
  return element("div", {class: "choice", role: "group", "aria-label": label}, buttons);
}

function startTheme() {
  const button = document.getElementById("theme");
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () =>
    (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const say = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colors`);
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    say();
  });
  dark.addEventListener("change", say);
  say();
}
