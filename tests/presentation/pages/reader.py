"""Pages of HTML as tests read them, and what is to be true of every one."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Collects what is on a page, and checks that tags are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), "an attribute twice"
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["style"], ["title"]):
            self.words.append(data)

    def all(self, tag, name):
        return [attributes[name] for one, attributes in self.attributes if one == tag and name in attributes]


def check_page(text):
    """Check that a page is well formed, small, and needs nothing from elsewhere."""
    page = Page(text)
    assert len(text.encode()) < 1_000_000
    assert not {"script", "link", "iframe", "object", "img"} & set(page.tags)
    assert not re.search(r"https?:|//[a-z]|@import|url\((?!#)", text)
    names = [attributes["id"] for _, attributes in page.attributes if "id" in attributes]
    assert len(names) == len(set(names))
    for _, attributes in page.attributes:
        for address in (
            attributes.get("href"),
            *re.findall(r"url\(([^)]*)\)", " ".join(map(str, attributes.values()))),
        ):
            assert address is None or (address.startswith("#") and address[1:] in names)


def check_access(text, sections):
    """Check that a page can be read by everyone: headings in order, words for pictures, tables with heads."""
    page = Page(text)
    assert dict(page.attributes)["html"] == {"lang": "en"}
    assert page.tags.count("title") == page.tags.count("h1") == page.tags.count("main") == 1
    assert [tag for tag in page.tags if re.fullmatch(r"h\d", tag)] == ["h1", *["h2"] * sections]
    labels = page.all("svg", "aria-label")
    assert len(labels) == page.tags.count("svg") == page.tags.count("figcaption")
    assert all(len(label) > 20 for label in labels)
    assert set(page.all("svg", "role")) <= {"img"}
    assert set(page.all("th", "scope")) == {"col", "row"}
