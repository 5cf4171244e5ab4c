"""The text of a profile: what was written by hand, a mark, and what a script wrote."""
import hashlib
import pathlib
import re
import textwrap

FOLDER = pathlib.Path(__file__).resolve().parent.parent
MARK = "# ---- written by data/profiles/refresh; edit above this line alone ----\n"
RUN_MARK = "# ---- from running it (data/profiles/refresh --run) ----\n"


def sha256(data):
    return hashlib.sha256(data.encode() if isinstance(data, str) else data).hexdigest()


def filled(words, start=""):
    return textwrap.fill(" ".join(sorted(words)), 118, break_long_words=False, break_on_hyphens=False,
                         initial_indent=start, subsequent_indent=start)


class Profile:
    """Reads as checks/profiles/profiles.cc does."""

    def __init__(self, name, folder=FOLDER):
        self.name, self.folder, self.file = name, folder, folder / f"{name}.txt"
        text = self.file.read_text(encoding="utf-8") if self.file.exists() else ""
        self.hand, _, self.written = text.partition(MARK)
        self.keys, self.sections, self.by_hand = {}, {}, {}
        self.read(text, self.sections)
        self.read(self.hand, self.by_hand)

    def read(self, text, sections):
        section = None
        for line in text.splitlines():
            if line.startswith("["):
                section = sections.setdefault(line[1:-1], {"also": [], "without": set(), "words": set()})
            elif section is not None and line and not line.startswith("#"):
                first, _, rest = line.partition(" ")
                if first == "also":
                    section["also"].append(rest.strip())
                else:
                    section["without" if first == "without" else "words"].update((rest if first == "without" else line).split())
            elif section is None and line and not line.startswith("#"):
                key, _, value = line.partition(" ")
                self.keys.setdefault(key, value.strip())

    def key(self, name):
        """Its own, or that of the profile that it is like."""
        own = self.keys.get(name, "")
        return own or (Profile(self.keys["like"], self.folder).key(name) if "like" in self.keys else "")

    def resolved(self, section):
        """All words of a section; None where there is none."""
        own = self.sections.get(section)
        like = Profile(self.keys["like"], self.folder) if "like" in self.keys else None
        if own is None:
            return like.resolved(section) if like else None
        more = [Profile(name, self.folder).resolved(section) or set() for name in own["also"]]
        return own["words"] | (set().union(*more) - own["without"])

    def hand_words(self, section):
        """Those that no script finds, of this profile and those that it is like."""
        own = self.by_hand.get(section, {"words": set()})["words"] if self.written else set()
        return own | (Profile(self.keys["like"], self.folder).hand_words(section) if "like" in self.keys else set())

    def names(self):
        """Of all sections that it has, also by the profile that it is like."""
        like = Profile(self.keys["like"], self.folder).names() if "like" in self.keys else set()
        return like | self.sections.keys()

    def with_keys(self, **keys):
        """The part written by hand, with these values behind `key` at its start."""
        head, found, rest = self.hand.partition("\n[")
        for key, value in keys.items():
            line = f"{key:<8} {value}"
            head, count = re.subn(rf"(?m)^{key} .*$", line, head)
            if not count:
                head = re.sub(r"(?m)^(version .*)$", rf"\1\n{line}", head, count=1)
        return head + found + rest


def section_text(name, source, words, base, also=""):
    """The lines of a section; empty where `base`, the profile that this one is like, has the same."""
    lines = [f"also {also}\n"] if also else []
    old = base.resolved(name) if base else None
    body = "".join(lines) + (filled(words) + "\n" if words else "")
    if also:
        more = Profile(also, base.folder if base else FOLDER).resolved(name) or set()
        if old == words | more:
            return ""
    elif old is not None:
        gone = old - words - base.hand_words(name)
        if not gone and words <= old:
            return ""
        parts = [f"also {base.name}", *(filled(each, start) for each, start in
                                         ((gone, "without "), (words - old, "")) if each)]
        body = min(body, "\n".join(parts) + "\n", key=len) if words else ""
    return f"\n[{name}]\n# {source}\n{body}" if source else f"\n[{name}]\n{body}"
