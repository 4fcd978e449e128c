"""Images of HTML and Markdown: which are found, what is read of them, and where an edit goes."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tellapart.alt_text.addresses import Site, resolve, resolve_first
from tellapart.alt_text.document import Edit, read_document
from tellapart.alt_text.html_images import html_images
from tellapart.alt_text.html_tags import tags
from tellapart.alt_text.markdown_images import markdown_images, without_code
from tellapart.alt_text.page_image import PageImage


def edited(text: str, image: PageImage, alt: str) -> str:
    edit = image.edit(alt)
    return text[: edit.start] + edit.text + text[edit.end :]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ('<img src="a.png">', '<img alt="A dog" src="a.png">'),
        ("<img src=a.png>", '<img alt="A dog" src=a.png>'),
        ("<img src=a/>", '<img alt="A dog" src=a/>'),
        ("<IMG\n\tSRC='a.png'/>", "<IMG alt=\"A dog\"\n\tSRC='a.png'/>"),
        ('<img src="a.png" alt="">', '<img src="a.png" alt="A dog">'),
        ("<img alt src=a.png>", '<img alt="A dog" src=a.png>'),
        ("<img alt='' src=a.png>", '<img alt="A dog" src=a.png>'),
        ("<img alt=''src=a.png>", '<img alt="A dog" src=a.png>'),
        ('<img src="a.png" data-alt="x" title="1 > 0" >', '<img alt="A dog" src="a.png" data-alt="x" title="1 > 0" >'),
    ],
)
def test_only_the_attribute_changes(tag: str, expected: str) -> None:
    (image,) = html_images(tag).images
    assert edited(tag, image, "A dog") == expected
    (again,) = html_images(expected).images
    assert (again.alt, again.sources) == ("A dog", image.sources)


def test_quotes_and_tags_in_a_text_are_escaped() -> None:
    (image,) = html_images("<img src=a.png>").images
    text = edited("<img src=a.png>", image, 'Ann\'s "dog" <3 & cat')
    assert text == '<img alt="Ann\'s &quot;dog&quot; &lt;3 &amp; cat" src=a.png>'
    assert html_images(text).images[0].alt == 'Ann\'s "dog" <3 & cat'


@pytest.mark.parametrize(
    "text",
    [
        "<!-- <img src=a.png> -->", "<script>x = '<img src=a.png>'</script>", "<style><img src=a.png></style>",
        "<![CDATA[<img src=a.png>]]>", "<textarea><img src=a.png></textarea>", "<img src=a.png", "<imgx src=a.png>",
        '<a title="<img src=a.png>">', "< img src=a.png>",
    ],
)  # fmt: skip
def test_what_is_no_image_is_not_found(text: str) -> None:
    assert html_images(text).images == []


@given(st.text("<>imgscript!-/ ='\"ab\n&;", max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_and_tags_lie_where_they_say(text: str) -> None:
    for tag in tags(text):
        assert text[tag.start] == "<" and text[tag.end - 1] == ">"
    for image in html_images(text).images:
        assert html_images(edited(text, image, "x")).images[0] is not None


def test_lazy_images_and_srcset() -> None:
    tag = '<img src="blank.gif" data-src="a.jpg" srcset="s.jpg 480w, l.jpg 800w" data-srcset="b.jpg 1x, c.jpg 2x">'
    assert html_images(tag).images[0].sources == ("a.jpg", "c.jpg", "b.jpg", "blank.gif", "l.jpg", "s.jpg")


def test_what_is_around_an_image() -> None:
    text = """<a href="x.html"><img src=1.png> Home</a> <a href=big.jpg><img src=2.png></a>
    <div aria-hidden=true><p><img src=3.png><br></p></div><img src=4.png role=presentation>
    <img src=5.png aria-label="A dog"><img src=6.png width=16 height="16px"><img src=7 style="width: 8px; height:9px">
    <button aria-label=Close><img src=8.png></button>"""
    one, two, three, four, five, six, seven, eight = html_images(text).images
    assert (one.link, one.link_text) == ("x.html", "Home") and (two.link, two.link_text) == ("big.jpg", "")
    assert three.hidden and four.hidden and not five.hidden and five.named and not six.hidden
    assert (six.width, six.height, seven.width, seven.height) == (16, 16, 8, 9) and five.width is None
    assert eight.link_text == "Close"


MARKDOWN = r"""# A page
![](a.png) ![ ](<b c.png> "The title") ![Alt][one] ![][one] ![none] ![given](d(1).png)
[![](small.png)](large.jpg) [![](icon.png) Home](index.html) <img src="e.png"> \![](no.png)

`![](code.png)` ``![](`code.png)``

```html
<img src="fenced.png"> ![](fenced.png)
```

    ![](indented.png)

- a list

    ![](listed.png)

<!-- ![](comment.png) -->

[one]: one.png 'First'
"""


def test_images_of_markdown() -> None:
    found = markdown_images(MARKDOWN)
    assert [image.sources[0] for image in found] == [
        "a.png", "b c.png", "one.png", "one.png", "d(1).png", "small.png", "icon.png", "e.png", "listed.png"
    ]  # fmt: skip
    assert [image.alt for image in found][:5] == [None, None, "Alt", None, "given"]
    assert found[1].title == "The title" and found[2].title == "First"
    assert (found[5].link, found[5].link_text, found[6].link_text) == ("large.jpg", "", "Home")
    assert edited(MARKDOWN, found[0], "a [red] dog").splitlines()[1].startswith(r"![a \[red\] dog](a.png) ![ ]")
    assert edited(MARKDOWN, found[3], "x").splitlines()[1].endswith("![Alt][one] ![x][one] ![none] ![given](d(1).png)")
    assert len(without_code(MARKDOWN)) == len(MARKDOWN)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("encoding", "declared"),
    [("utf-8", ""), ("utf-8-sig", ""), ("utf-16", ""), ("cp1252", "windows-1252"), ("shift_jis", "shift_jis"),
     ("latin-1", ""), ("iso-2022-jp", "iso-2022-jp"), ("koi8-r", "koi8-r")],
)  # fmt: skip
def test_all_other_bytes_stay(tmp_path: Path, encoding: str, declared: str, newline: str) -> None:
    words = {"shift_jis": "猫", "iso-2022-jp": "猫", "koi8-r": "кот"}.get(encoding, "café")
    meta = f"<meta charset={declared}>" if declared else ""
    text = f"<html>{meta}{newline}<p>{words}</p>{newline}<img src=a.png>{newline}{words}"
    page = tmp_path / "page.html"
    page.write_bytes(text.encode(encoding))
    document = read_document(page)
    (image,) = html_images(document.text).images
    expected = text.replace("<img", '<img alt="A dog’s bed"').encode(encoding, "xmlcharrefreplace")
    assert document.edited([]) == page.read_bytes()
    if encoding == "latin-1":  # not declared, and therefore read as Latin-1
        assert document.encoding == "latin-1"
    assert document.edited([image.edit("A dog’s bed")]) == expected


def test_bytes_that_no_encoding_has_stay(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_bytes(b"<meta charset=utf-8>\xff\xfe\x81<img src=a.png>\x00")
    document = read_document(page)
    (image,) = html_images(document.text).images
    assert document.edited([image.edit("é")]) == b'<meta charset=utf-8>\xff\xfe\x81<img alt="\xe9" src=a.png>\x00'
    assert document.edited([Edit(0, 0, "猫")]).startswith(b"&#29483;<meta")


def test_addresses_are_files_of_the_site(tmp_path: Path) -> None:
    site, page = Site(tmp_path / "site", "https://example.org/blog"), tmp_path / "site" / "posts" / "one.html"
    for name in ("posts/a b.png", "img/b.png", "posts/c.png?x=1"):
        (tmp_path / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / name).touch()
    (tmp_path / "secret.png").touch()
    (tmp_path / "site" / "posts" / "link.png").symlink_to(tmp_path / "secret.png")
    inside = tmp_path / "site"
    assert resolve("a%20b.png?v=2#top", page, site).file == inside / "posts" / "a b.png"
    assert (
        resolve("/img/b.png", page, site).file == inside / "img" / "b.png" == resolve("../img/b.png", page, site).file
    )
    assert resolve("https://example.org/blog/img/b.png", page, site).file == inside / "img" / "b.png"
    assert resolve("b.png", page, site, base="/img/").file == inside / "img" / "b.png"
    for address, fault in (
        ("https://example.com/x.png", "fetched"), ("//example.com/x.png", "fetched"), ("data:image/png,", "data"),
        ("{{ image }}", "template"), ("x.png", "does not exist"), ("../../secret.png", "outside"),
        ("link.png", "outside"), ("b.png\0", "does not exist"),
    ):  # fmt: skip
        found = resolve(address, page, site)
        assert found.file is None and fault in found.fault, address
    assert resolve("x.png", page, site, base="https://example.com/").fault.endswith("fetched")
    assert resolve_first(("https://example.com/x.png", "/img/b.png"), page, site).file is not None
    assert resolve_first((), page, site).fault == "it has no address"
