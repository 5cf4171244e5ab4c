#!/usr/bin/env python3
"""The page of `ckpt report` in a real browser, with data of samples.py.

usage: page.py PAGE.html     PAGE as the build assembles it; exits 77, saying "peer missing", without Chromium
"""

import base64
import pathlib
import sys
import tempfile
import xml.etree.ElementTree as tree

import browser
import samples

PAGE_BYTES, REPORT_BYTES = 150_000, 1_000_000
WIDTHS = (390, 768, 1280, 1600, 2560)
WITHOUT_BASE = ["identity", "bytes", "layers", "memory"]
COMPARED = ["comparison", "identity", "doctor", "bytes", "layers", "against", "error", "worst", "memory"]
SECTIONS = {
    "micro": WITHOUT_BASE,
    "nine": COMPARED,
    "deepseek": [*COMPARED, "imatrix", "evaluation"],
    "three": COMPARED,
    "sparse": ["identity", "doctor", "bytes", "layers", "memory"],
    "gguf": COMPARED,
    "nulls": ["identity"],
    "hostile": [*COMPARED, "imatrix", "evaluation"],
}


LAYOUT = pathlib.Path(__file__).with_name("layout.js")


def check(truth, message, *seen):
    if not truth:
        raise AssertionError(" ".join([message, *(repr(s) for s in seen)]))


def opened(chrome, pages, name, width=1024, dark=False):
    chrome.size(width, 900, dark)
    chrome.open(pages / f"{name}.html")
    check(chrome.complaints() == [], f"{name} at {width}: the browser complains", chrome.complaints())


def sections_are_those_of_the_data(chrome, pages):
    for name, wanted in SECTIONS.items():
        opened(chrome, pages, name)
        check(chrome.run("[...document.querySelectorAll('section')].map((s) => s.id)") == wanted, f"sections of {name}")
        check(
            chrome.run(
                "[...document.querySelectorAll('nav a')].every((a) => document.querySelector(a.getAttribute('href')))"
            ),
            "contents lead somewhere",
        )
        check(
            "undefined" not in chrome.run("document.body.innerText")
            and "NaN" not in chrome.run("document.body.innerText"),
            f"{name} shows no undefined",
        )


def layout_faults(chrome):
    """Words and elements that are cut, outside their card, or on top of their neighbors."""
    return chrome.run(LAYOUT.read_text(encoding="ascii"))


def nothing_is_cut_at_any_width(chrome, pages):
    for name in SECTIONS:
        opened(chrome, pages, name, WIDTHS[0])
        chrome.run("window.dispatchEvent(new Event('beforeprint'))")  # opens what is folded
        if name in ("micro", "hostile"):  # and here the long tables too
            chrome.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
        for width in WIDTHS:
            for dark in (False, True):
                chrome.size(width, 900, dark)
                chrome.settle()
                faults = layout_faults(chrome)
                check(faults == [], f"{name} at {width} pixels, {'dark' if dark else 'light'}", faults[:6])


def cut_figures_are_noticed(chrome, pages):
    """Each fault that layout.js looks for, planted."""
    cell = "const cell = document.querySelector('#bytes td.number')"
    planted = {
        "is cut": f"{cell}; cell.style.cssText = 'display: block; width: 20px; overflow: hidden'",
        "is outside its cell": "document.querySelector('#bytes tbody th').style.cssText = 'white-space: nowrap; max-width: 20px; min-width: 0'"
        "; document.querySelector('#bytes table').style.cssText = 'table-layout: fixed; width: 200px'",
        "is outside its card": "document.querySelector('.tile').style.left = '99.5%'",
        "scrolls sideways": "document.querySelector('#bytes .table').style.cssText = 'width: 90px; overflow-x: auto'",
        "has digits of different widths": f"{cell}; cell.style.fontVariantNumeric = 'proportional-nums'",
    }
    for words, script in planted.items():
        opened(chrome, pages, "nine", 1280)
        check(layout_faults(chrome) == [], "nothing is cut before")
        chrome.run(f"(() => {{ {script}; }})()")
        faults = layout_faults(chrome)
        check(any(words in fault for fault in faults), f"'{words}' is noticed", faults[:6])


def small_parts_are_summed_up(chrome, pages):
    opened(chrome, pages, "sparse", 390)
    below = chrome.run("document.querySelector('#bytes .note').textContent")
    tiles = chrome.run("document.querySelectorAll('#bytes .tile').length")
    check("too small to draw" in below and tiles >= 2, "a sentence holds what has no tile", below, tiles)
    # The tiles and the sentence together are the whole.
    total, small = chrome.run(
        "(() => { const cells = cellsOf(reportData.checkpoints[0]); const sum = (list) => list.reduce((s, c) => s + c.size_bytes, 0);"
        " const groups = summed(cells, (c) => groupOf(c.roleName)).flatMap((g) => summed(g.cells, (c) => c.type).map((s) => [`${g.name}, ${s.name}`, s.size_bytes]));"
        " const shown = new Set([...document.querySelectorAll('#bytes .tile')].map((t) => t.getAttribute('aria-label').split(':')[0]));"
        " return [sum(cells), groups.filter(([name]) => !shown.has(name)).reduce((s, [, bytes]) => s + bytes, 0)]; })()"
    )
    text = chrome.run(f"`: ${{bytesText({small})}}, ${{shareText({small} / {total})}}.`")
    check(0 < small and below.endswith(text), "the sentence is right", below, text)


def servers_are_rows(chrome, pages):
    opened(chrome, pages, "gguf")
    rows = "[...document.querySelectorAll('#doctor > .servers > .server h3')].map((h) => h.textContent)"
    check(chrome.run(rows) == ["llama.cpp 0.5.0", "ollama 0.32.15"], "a row for each program", chrome.run(rows))
    words = chrome.run("[...document.querySelectorAll('#doctor .server')].map((s) => s.querySelectorAll('.verdict').length)")
    check(words == [2, 1], "what does not load has no second answer", words)
    opened(chrome, pages, "nine")
    tops = chrome.run("[...document.querySelectorAll('.server')].map((s) => s.getBoundingClientRect().top)")
    check(len(tops) == 3 and tops == sorted(set(tops)), "one below the other", tops)
    check("It leaves Q07." in chrome.run("document.querySelector('.server').innerText"), "a fix says what it leaves")


def verdicts_lead_to_explanations(chrome, pages):
    for name in ("nine", "three", "gguf", "hostile"):
        opened(chrome, pages, name)
        links = "[...document.querySelectorAll('.verdict')].map((v) => v.getAttribute('href'))"
        check(chrome.run(links) and None not in chrome.run(links), f"{name}: a verdict is a link", chrome.run(links))
        dead = chrome.run(f"{links}.filter((h) => !document.getElementById(h.slice(1)))")
        check(dead == [], f"{name}: links lead somewhere", dead)
    opened(chrome, pages, "nine")
    chrome.run("document.querySelector('.server .verdict.bad').click()")
    text = chrome.run("document.querySelector(':target').nextSibling.textContent")
    check("answers are wrong from the first token on" in text, "a no leads to its check", text)
    opened(chrome, pages, "three")
    chrome.run("document.querySelectorAll('#comparison .verdict-cell')[1].querySelector('.verdict').click()")
    chosen = chrome.run("document.querySelector('[role=tab][aria-selected=true]').textContent")
    check(chosen == "served-fp8", "a verdict chooses its checkpoint", chosen)
    check(chrome.run("document.querySelector(':target h3').textContent") == "vllm 0.33", "and leads to its row")


def colors_mean_the_same_in_both_themes(chrome, pages):
    """The ends of the ramps are equal in both themes and stand out from both cards; the types stay apart from theirs."""
    ends, cards = [], []
    script = (
        "(() => { const color = (name) => { const e = document.createElement('i'); e.style.color = `var(${name})`;"
        " document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c.match(/[0-9.]+/g).map(Number); };"
        " return [['--depth-low', '--depth-high', '--error-low', '--error-high'].map(color), color('--card')]; })()"
    )
    for dark in (False, True):
        opened(chrome, pages, "nine", dark=dark)
        seen, card = chrome.run(script)
        ends.append(seen)
        cards.append(card)
    check(ends[0] == ends[1] and cards[0] != cards[1], "one ramp for both themes", ends)
    for card in cards:
        for end in ends[0]:
            check(contrast(end, card) >= 3, "a color stands out from its card", end, card, contrast(end, card))


def luminance(color):
    parts = [c / 255 for c in color[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def strings_are_text(chrome, pages):
    opened(chrome, pages, "hostile")
    chrome.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    chrome.settle()
    chrome.run("document.querySelectorAll('[role=tab]')[1].click()")
    chrome.settle()
    check(chrome.run("window.pwned") is None, "a name ran as a script")
    elements = "document.querySelectorAll('main img, main script, main a:not([href^=\"#\"])').length"
    check(chrome.run(elements) == 0, "a name became an element")
    text = chrome.run(
        "document.body.textContent + document.title + [...document.querySelectorAll('*')].flatMap((e) => [...e.attributes].map((a) => a.value)).join(' ')"
    )
    unseen = sorted({hex(ord(c)) for c in text if c in "\u202e\u2066\u200b\u0007"})
    check(unseen == [], "characters that reorder or hide text are shown as numbers", unseen)
    check("<img src=x onerror=" in text and "<U+202E>" in text, "hostile names are shown as they are")
    shown = chrome.run(
        "[...document.querySelectorAll('.command')].map((c) => [c.textContent, Boolean(c.querySelector('button'))])"
    )
    check(
        shown and all(button != ("<U+" in words) for words, button in shown),
        "commands with unseen characters are not copied",
        shown,
    )


def tables_sort(chrome, pages):
    opened(chrome, pages, "deepseek")
    column = "[...document.querySelectorAll('#evaluation tbody tr')].map((r) => r.cells[2].textContent)"
    heading = "document.querySelectorAll('#evaluation thead th')[2]"
    for click, wanted, order in ((1, "descending", ["6.91", "not known"]), (2, "ascending", ["6.91", "not known"])):
        chrome.run(f"{heading}.querySelector('button').click()")
        check(chrome.run(f"{heading}.getAttribute('aria-sort')") == wanted, f"aria-sort after click {click}")
        check(chrome.run(column) == order, "what is not known comes last", chrome.run(column))
    sizes = "[...document.querySelectorAll('#bytes table')[0].tBodies[0].rows].map((r) => r.cells[0].textContent)"
    largest_first = chrome.run(sizes)
    for _ in range(2):
        chrome.run("document.querySelectorAll('#bytes table')[0].querySelectorAll('thead button')[1].click()")
    check(chrome.run(sizes) == largest_first[::-1], "a second click turns the order", chrome.run(sizes))
    check(
        "sorted by Size, ascending" in chrome.run("document.getElementById('said').textContent"), "sorting is announced"
    )


def the_map_is_walked_by_keys(chrome, pages):
    opened(chrome, pages, "nine")
    check(
        chrome.run("document.querySelectorAll('.heat [tabindex=\"0\"]').length") == 1,
        "one square in the order of focus",
    )
    chrome.run("document.querySelector('.heat [tabindex=\"0\"]').focus()")
    label = "document.activeElement.getAttribute('aria-label')"
    check(
        chrome.run(label).startswith("embed_tokens, outside layers: type bf16, bits per weight 16.00"),
        "the first square",
        chrome.run(label),
    )
    chrome.run("document.querySelectorAll('.heat tbody tr')[1].querySelector('.square').focus()")
    chrome.key("ArrowRight")
    check(chrome.run(label).startswith("input_layernorm, layer 1:"), "to the right", chrome.run(label))
    chrome.key("ArrowDown")
    check(chrome.run(label).startswith("linear_attn.in_proj_qkvz, layer 1:"), "and down", chrome.run(label))
    tip = chrome.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').textContent")
    check(
        all(word in tip for word in ("fp8_e4m3", "SQNR", "saturated", "flushed to zero", "kurtosis")),
        "focus shows every figure",
        tip,
    )
    chrome.key("Escape")
    check(chrome.run("document.getElementById('tip').hidden"), "Escape hides the figures")
    depth = "[...document.querySelectorAll('.heat .depth')].map((d) => d.style.getPropertyValue('--t'))"
    chrome.run("document.querySelectorAll('#layers .choice button')[2].click()")
    check("100%" in chrome.run(depth) and "0%" in chrome.run(depth), "SQNR colors from end to end")
    check(
        chrome.run("document.querySelectorAll('.heat .equal').length") > 0,
        "equal squares differ from the best of the others",
    )


def numbers_read_as_people_write_them(chrome, pages):
    opened(chrome, pages, "micro")
    weights = chrome.run("[0, 9999, 10000, 262144, 999999, 3160664, 9e9, 671e9].map(weightsText)")
    check(weights == ["0", "9,999", "10.0K", "262K", "1.00M", "3.16M", "9.00B", "671B"], "weights", weights)
    sizes = chrome.run("[0, 999, 1000, 999999, 5123456789, 4e11, null].map(bytesText)")
    check(sizes == ["0 B", "999 B", "1.00 kB", "1.00 MB", "5.12 GB", "400 GB", "not known"], "sizes", sizes)
    shares = chrome.run("[0, 0.000001, 0.0005, 0.0123, 0.5, null].map(shareText)")
    check(shares == ["0%", "<0.001%", "0.050%", "1.23%", "50.0%", "not known"], "shares", shares)
    equal = chrome.run(
        "[sqnrText({sqnr_db: null, relative: 0}), sqnrText({sqnr_db: null, relative: null}), sqnrText({sqnr_db: 20.46})]"
    )
    check(equal == ["equal", "not known", "20.5 dB"], "SQNR", equal)


def memory_is_counted(chrome, pages):
    opened(chrome, pages, "nine")
    chrome.run(
        "(() => { const i = document.querySelectorAll('#memory input[type=number]'); i[0].value = 100000; i[0].dispatchEvent(new Event('input'));"
        " i[1].value = 4; i[1].dispatchEvent(new Event('input')); })()"
    )
    rows = chrome.run(
        "[...document.querySelectorAll('#memory tbody tr')].map((r) => [...r.cells].slice(0, 5).map((c) => c.textContent))"
    )
    cache = [row[3] for row in rows]  # 16384 values a token x 100,000 tokens x 4 sequences
    check(cache == ["13.1 GB", "6.55 GB", "3.69 GB"], "2, 1 and 9/16 bytes a value", cache)
    check(rows[0][4] == "49.4 MB", "state of four sequences", rows[0])
    check(
        "4 sequences of 100,000 tokens" in chrome.run("document.querySelector('#memory caption').textContent"),
        "the caption says what was asked",
    )


def pareto_front_is_what_nothing_beats(chrome, pages):
    opened(chrome, pages, "three")
    front = chrome.run(
        "paretoFront([{bits: 8, sqnr: 30}, {bits: 4, sqnr: 20}, {bits: 4, sqnr: 19}, {bits: 6, sqnr: 18}, {bits: 9, sqnr: 30}]).map((p) => p.bits)"
    )
    check(front == [4, 8], "front", front)
    chrome.run("document.querySelectorAll('#error .choice button')[1].click()")
    chrome.settle()
    check(chrome.run("document.querySelectorAll('#error .point').length") == 3, "one point a checkpoint")


def points_are_at_their_values(chrome, pages):
    """Points of a type are spread within its column, which is not a value axis; no point moves along an axis of values."""
    opened(chrome, pages, "nine")
    marks = "[...document.querySelectorAll('#error .point')].map((c) => ['cx', 'cy', 'r'].map((k) => Number(c.getAttribute(k))))"
    overlaps = chrome.run(
        f"(() => {{ const marks = {marks};"
        " let hidden = 0; marks.forEach(([x, y], i) => { if (marks.some(([a, b], j) => i < j && Math.hypot(x - a, y - b) < 1)) hidden += 1; });"
        " return [marks.length, hidden]; })()"
    )
    check(overlaps[0] > 100 and overlaps[1] < overlaps[0] / 20, "points that hide others", overlaps)
    check(chrome.run("document.querySelectorAll('#error .point.front').length") > 0, "the front has points")
    ticks = "[...document.querySelectorAll('#error .plot > text')].map((t) => t.textContent)"
    check(chrome.run(ticks)[:2] == ["4.50", "8.00"], "a column for each type", chrome.run(ticks))
    opened(chrome, pages, "three")
    chrome.run("document.querySelectorAll('#error .choice button')[1].click()")
    chrome.settle()
    wrong = chrome.run(
        "(() => { const at = [...document.querySelectorAll('#error .point')].map((c) => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))]);"
        " const values = reportData.checkpoints.map((c) => [c.bits_per_weight, c.values.sqnr_db]);"
        " const scale = (k) => (at[1][k] - at[0][k]) / (values[1][k] - values[0][k]);"
        " return [0, 1].map((k) => Math.abs(at[0][k] + scale(k) * (values[2][k] - values[0][k]) - at[2][k])); })()"
    )
    check(max(wrong) < 0.01, "distances follow the values", wrong)


def roles_are_next_to_those_of_the_base(chrome, pages):
    opened(chrome, pages, "nine")
    head = chrome.run("[...document.querySelectorAll('#against thead th')].map((h) => h.textContent)")
    check("Base size" in head and "Worst SQNR" in head, "columns", head)
    rows = chrome.run("[...document.querySelectorAll('#against tbody tr')].map((r) => r.textContent)")
    roles = samples.samples()["nine"]["checkpoints"][0]["roles"]
    check(len(rows) == len(roles), "a row a role", len(rows), len(roles))
    check(chrome.run("changeText({own: {size_bytes: 1}, other: {size_bytes: 2}})") == "\u221250.0%", "half the size")
    check(chrome.run("changeText({own: null, other: {size_bytes: 2}})") == "not known", "a role of one side")


def figures_are_saved_as_drawings_of_their_own(chrome, pages):
    S = "{http://www.w3.org/2000/svg}"
    kinds = {"svg", "rect", "text", "polygon", "path", "line", "circle", "g", "title"}
    wanted = {
        "nine": {"layers": "#layers .square", "bytes": "#bytes .tile", "error": "#error .point"},
        "hostile": {"layers": "#layers .square", "bytes": "#bytes .tile"},
    }
    for name, figures in wanted.items():
        opened(chrome, pages, name)
        chrome.settle()
        chrome.run(
            "(() => { window.kept = {}; URL.createObjectURL = (blob) => { window.kept.last = blob; return '#'; }; })()"
        )
        for id_, marks in figures.items():
            chrome.run(f"document.querySelector('#{id_} .save').click()")
            check(chrome.run("window.kept.last.type") == "image/svg+xml", f"{id_} of {name} is saved")
            find = {"layers": ".heat-bands", "bytes": ".treemap", "error": ".plot"}[id_]
            root = tree.fromstring(chrome.run(f"svgOf(document.querySelector('#{id_} {find}'))"))
            seen = {e.tag.removeprefix(S) for e in root.iter()}
            check(seen <= kinds, f"{id_} of {name} has drawings and text alone", seen)
            check(not any(key.startswith("on") or "href" in key for e in root.iter() for key in e.attrib), "it is inert")
            mark = S + ("circle" if id_ == "error" else "rect")
            count = chrome.run(f"document.querySelectorAll('{marks}').length")
            check(sum(e.tag == mark for e in root.iter()) >= count > 0, f"{id_} of {name} has all its marks", count)
            check("var(" not in tree.tostring(root, "unicode"), f"{id_} of {name} needs no style of the page")
            texts = [t.text for t in root.iter(S + "text")]
            check(len(texts) > 0, f"{id_} of {name} has its words")


def experts_are_named_under_the_pointer(chrome, pages):
    opened(chrome, pages, "deepseek")
    chrome.run(
        "(() => { const map = document.querySelector('.coverage'); map.scrollIntoView({block: 'center', behavior: 'instant'});"
        " const box = map.getBoundingClientRect(); map.dispatchEvent(new MouseEvent('mousemove',"
        " {clientX: box.right - 1, clientY: box.top + 1, bubbles: true})); })()"
    )
    said = chrome.run("document.getElementById('tip').textContent")
    tokens = samples.samples()["deepseek"]["checkpoints"][0]["imatrix"]["entries"][0]["experts"][255]
    check(said == f"layer 3, expert 255tokens{tokens:,}", "the last expert of the first layer", said)


def checkpoints_have_tabs(chrome, pages):
    opened(chrome, pages, "three")
    check(
        chrome.run("[...document.querySelectorAll('[role=tab]')].map((t) => t.textContent)")
        == ["served", "served-fp8", "served-q4"],
        "tabs",
    )
    chrome.run("document.querySelector('[role=tab]').focus()")
    chrome.key("ArrowRight")
    check(
        "served-fp8/" in chrome.run("document.querySelector('#identity').textContent"),
        "the arrow shows the next checkpoint",
    )
    check(chrome.run("document.activeElement.getAttribute('aria-selected')") == "true", "and keeps the focus")


def commands_are_copied(chrome, pages):
    opened(chrome, pages, "nine")
    chrome.run("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    chrome.run("document.querySelector('#doctor .command button').click()")
    chrome.settle()
    check(
        chrome.run("window.copied") == "ckpt patch served/ --step serving-config:for=vllm",
        "copied",
        chrome.run("window.copied"),
    )
    check(chrome.run("document.getElementById('said').textContent") == "Copied: Fix for vllm 0.33", "copying is announced")


def themes_follow_system_and_switch(chrome, pages):
    ground = "getComputedStyle(document.body).backgroundColor"
    for dark, first, second in (
        (False, "rgb(247, 247, 245)", "rgb(20, 23, 26)"),
        (True, "rgb(20, 23, 26)", "rgb(247, 247, 245)"),
    ):
        opened(chrome, pages, "nine", dark=dark)
        check(chrome.run(ground) == first, "as the system says", chrome.run(ground))
        chrome.run("document.getElementById('theme').click()")
        check(chrome.run(ground) == second, "as the switch says", chrome.run(ground))


def paper_is_light_whatever_the_theme(chrome, pages):
    ground = "getComputedStyle(document.body).backgroundColor"
    opened(chrome, pages, "nine", dark=True)
    check(chrome.run(ground) == "rgb(20, 23, 26)", "dark on a screen", chrome.run(ground))
    chrome.run("document.documentElement.dataset.theme = 'dark'")
    chrome.call("Emulation.setEmulatedMedia", media="print")
    check(chrome.run(ground) == "rgb(255, 255, 255)", "white on paper", chrome.run(ground))
    chrome.call("Emulation.setEmulatedMedia", media="")


def pages_print(chrome, pages):
    opened(chrome, pages, "nine")
    chrome.run("window.dispatchEvent(new Event('beforeprint'))")
    check(
        "Files" in chrome.run("[...document.querySelectorAll('details[open] caption')].map((c) => c.textContent)"),
        "printing opens the files",
    )
    chrome.size(688, 900)  # a sheet of A4 without its margins
    chrome.call("Emulation.setEmulatedMedia", media="print")
    chrome.settle()
    faults = layout_faults(chrome)
    check(faults == [], "nothing is cut on paper", faults[:6])
    chrome.call("Emulation.setEmulatedMedia", media="")
    pdf = base64.b64decode(chrome.call("Page.printToPDF", printBackground=True)["data"])
    check(pdf.startswith(b"%PDF"), "a page of paper")


def sizes_are_kept(page, pages):
    check(len(page) <= PAGE_BYTES, "bytes of the page", len(page))
    for name in ("micro", "nine", "deepseek", "three"):
        check((pages / f"{name}.html").stat().st_size <= REPORT_BYTES, f"bytes of {name}")


TESTS = [
    sections_are_those_of_the_data,
    nothing_is_cut_at_any_width,
    cut_figures_are_noticed,
    small_parts_are_summed_up,
    servers_are_rows,
    verdicts_lead_to_explanations,
    colors_mean_the_same_in_both_themes,
    strings_are_text,
    tables_sort,
    the_map_is_walked_by_keys,
    numbers_read_as_people_write_them,
    memory_is_counted,
    pareto_front_is_what_nothing_beats,
    points_are_at_their_values,
    roles_are_next_to_those_of_the_base,
    figures_are_saved_as_drawings_of_their_own,
    experts_are_named_under_the_pointer,
    checkpoints_have_tabs,
    commands_are_copied,
    themes_follow_system_and_switch,
    paper_is_light_whatever_the_theme,
    pages_print,
]


def main():
    page = pathlib.Path(sys.argv[1]).read_text(encoding="ascii")
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ckpt_page_") as folder:
        pages = pathlib.Path(folder)
        for name, data in samples.samples().items():
            (pages / f"{name}.html").write_text(samples.filled(page, data), encoding="ascii")
        sizes_are_kept(page, pages)
        if not browser.found():
            print("peer missing: chromium (apt-get install chromium)")
            return 77
        chrome = browser.Browser()
        try:
            for test in TESTS:
                try:
                    test(chrome, pages)
                    print("passed", test.__name__)
                except (AssertionError, RuntimeError) as error:
                    failed += 1
                    print("FAILED", test.__name__, error)
        finally:
            chrome.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
