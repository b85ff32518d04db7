# SPDX-License-Identifier: GPL-2.0-only
"""A headless Chromium for tests, spoken to over a pipe in the DevTools protocol."""

import json
import os
import select
import shutil
import subprocess
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
# Nothing of a user's, and no business of its own.
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-extensions", "--hide-scrollbars", "--remote-debugging-pipe")


def find_program():
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """One browser process; each page is a fresh tab."""

    def __init__(self, profile, log_path, timeout=60):
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()
        self.timeout = timeout
        self.buffer = b""
        self.last_id = 0
        self.events = []
        with open(log_path, "wb") as log:
            # The browser reads descriptor 3 and writes descriptor 4.
            command = ["sh", "-c", 'exec "$@" 3<&"$IN" 4>&"$OUT"', "sh", find_program(), *ARGUMENTS,
                       f"--user-data-dir={profile}"]
            environment = {**os.environ, "IN": str(to_browser), "OUT": str(from_browser)}
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env=environment, pass_fds=(to_browser, from_browser))
        os.close(to_browser)
        os.close(from_browser)

    def close(self):
        try:
            self.call("Browser.close")
            self.process.wait(10)
        except (OSError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.read_fd)
        os.close(self.write_fd)

    def read_message(self, deadline):
        while b"\0" not in self.buffer:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.read_fd], [], [], left)[0]:
                raise TimeoutError("no answer from the browser")
            data = os.read(self.read_fd, 1 << 20)
            if not data:
                raise OSError("the browser ended")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **params):
        """One command's result; events that come meanwhile are kept in self.events."""
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.write_fd, data):]
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self.read_message(deadline)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise OSError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_event(self, method, session):
        deadline = time.monotonic() + self.timeout
        while not any(e.get("method") == method and e.get("sessionId") == session
                      for e in self.events):
            self.events.append(self.read_message(deadline))


class Page:
    """A tab. Its requests are recorded from the start; it is closed at the end of a with block."""

    def __init__(self, browser, width=1200, height=700, dark=False):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target,
                                    flatten=True)["sessionId"]
        browser.events.clear()
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.browser.wait_event("Page.loadEventFired", self.session)

    def evaluate(self, expression):
        """The value of a script's last expression, awaited; the page's policy does not apply."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def seen(self, method):
        """The parameters of all events of that name so far."""
        return [e["params"] for e in self.browser.events
                if e.get("method") == method and e.get("sessionId") == self.session]

    def requests(self):
        return [e["request"]["url"] for e in self.seen("Network.requestWillBeSent")]

    def screenshot(self):
        """A PNG, base64."""
        return self.call("Page.captureScreenshot", format="png")["data"]
