# SPDX-License-Identifier: GPL-2.0-only
"""The flame graph in a real browser: rendering, search, zoom, keyboard, hostile text, no network."""

import base64
import os
import re
import subprocess
import sys
import tempfile

SRC, BUILD = os.environ["SRC"], os.environ["BUILD"]
sys.path.insert(0, os.path.join(SRC, "tests/lib"))
from browser import Browser, Page, find_program  # pylint: disable=wrong-import-position

# Test of flamegraph-page.js, kind of make-flamegraph, fragment, Page's options.
IN_PAGE = (
    ("small", "small", "", {}),
    ("fragment", "small", "#frame=3&search=vfs_.*&inverted=1", {}),
    ("badfragment", "small", "#frame=999&search=((", {}),
    ("inverted", "inverted", "", {}),
    ("time", "time", "", {}),
    ("hostile", "hostile", "", {}),
    ("wide", "wide", "", {}),
    ("deep", "deep", "", {}),
    ("empty", "empty", "", {}),
    ("dark", "small", "", {"dark": True}),
)


class Tap:
    def __init__(self):
        self.nr = self.failed = 0

    def point(self, passed, name):
        self.nr += 1
        self.failed += not passed
        print(f"{'ok' if passed else 'not ok'} {self.nr} - {name}", flush=True)

    def finish(self):
        print(f"1..{self.nr}")
        return 1 if self.failed else 0


def write_page(folder, kind):
    path = os.path.join(folder, kind + ".html")
    with open(path, "wb") as file:
        subprocess.run([os.path.join(BUILD, "tests/make-flamegraph"), kind], stdout=file, check=True)
    return path


def test_in_page(tap, browser, path, test, fragment, options):
    with open(os.path.join(SRC, "tests/golden/flamegraph-page.js"), encoding="utf-8") as file:
        script = file.read()
    url = f"file://{path}{fragment}"
    with Page(browser, **options) as page:
        page.open(url)
        try:
            results = page.evaluate(f"{script}({test!r})")
        except (RuntimeError, TimeoutError) as error:
            results = [[False, str(error)]]
        for passed, name in results:
            tap.point(passed, f"{test}: {name}")
        others = [r for r in page.requests() if r.split("#")[0] != f"file://{path}" and
                  not r.startswith("data:")]
        tap.point(not others, f"{test}: nothing is fetched {others or ''}")
        errors = page.seen("Runtime.exceptionThrown") + [
            e for e in page.seen("Log.entryAdded") if e["entry"]["level"] == "error"]
        tap.point(not errors, f"{test}: no error is logged {errors or ''}")


def test_policy(tap, browser, path):
    """Whatever got into the page in spite of the escaping would not run."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tap.point(not re.search(r"https?://|url\(|@import|src=(?!x )", text),
              "policy: the page names no other resource")
    injected = text.replace("<main", "<script>document.title = 'pwned';</script>"
                            "<img src=x onerror=\"document.title = 'pwned'\"><main", 1)
    with open(path + ".injected.html", "w", encoding="utf-8") as file:
        file.write(injected)
    with Page(browser) as page:
        page.open(f"file://{path}.injected.html")
        tap.point(page.evaluate("document.documentElement.dataset.state") == "ready",
                  "policy: the page's own script runs")
        tap.point(page.evaluate("document.title") != "pwned", "policy: no other script does")


def save_picture(tap, browser, path):
    """For a person to look at."""
    with Page(browser, height=400) as page:
        page.open(f"file://{path}")
        data = base64.b64decode(page.screenshot())
    folder = os.path.join(BUILD, "test-logs")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "flamegraph.png"), "wb") as file:
        file.write(data)
    tap.point(data.startswith(b"\x89PNG"), "picture: in test-logs/flamegraph.png")


def main():
    if not find_program():
        print("1..0 # SKIP no Chromium")
        return 0
    tap = Tap()
    with tempfile.TemporaryDirectory() as folder:
        pages = {kind: write_page(folder, kind) for kind in {entry[1] for entry in IN_PAGE}}
        browser = Browser(os.path.join(folder, "profile"), os.path.join(folder, "browser.log"))
        try:
            for test, kind, fragment, options in IN_PAGE:
                test_in_page(tap, browser, pages[kind], test, fragment, options)
            test_policy(tap, browser, pages["hostile"])
            save_picture(tap, browser, pages["small"])
        finally:
            browser.close()
    return tap.finish()


sys.exit(main())
