"""What the page is made of: vendored bytes as recorded, nothing from elsewhere, no inline script."""

from __future__ import annotations

import base64
import hashlib
import re

from tests.browser.page_fake import PAGE

OURS = [path for path in PAGE.iterdir() if path.is_file()]


def test_the_vendored_module_is_the_one_recorded():
    recorded = re.search(r"file integrity \| `sha512-([^`]+)`", (PAGE / "vendor" / "README.md").read_text())
    digest = hashlib.sha512((PAGE / "vendor" / "htm-preact.module.js").read_bytes()).digest()
    assert recorded is not None
    assert recorded[1] == base64.b64encode(digest).decode()


def test_nothing_is_loaded_from_another_host():
    addresses = {found for path in OURS for found in re.findall(r"https?://[\w.-]+", path.read_text())}
    assert addresses == {"http://www.w3.org"}  # the name of the SVG language, never fetched


def test_the_page_has_no_inline_script_or_style():
    index = (PAGE / "index.html").read_text()
    assert "script-src 'self'" in index
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", index) == []


def test_every_import_names_a_file_that_is_there():
    names = [name for path in OURS for name in re.findall(r'from "\./([^"]+)"', path.read_text())]
    assert names
    assert [name for name in names if not (PAGE / name).is_file()] == []


def test_no_script_writes_markup_or_code():
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert [path.name for path in OURS if re.search(forbidden, path.read_text())] == []
