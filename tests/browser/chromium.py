"""Headless Chromium over its debugging pipe (DevTools protocol): no driver, no port, no package.

    with Chromium() as browser:
        page = browser.page(1400, 1000)
        page.open(path)
        page.eval("document.title")

Messages are JSON that ends with NUL: to descriptor 3 of the browser, from its descriptor 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --remote-debugging-pipe --hide-scrollbars"
).split()
PATIENCE = 60.0  # seconds for an answer
# dup first: the pipe's own ends may be 3 and 4
START = (
    "import os, sys; r, w = (os.dup(os.dup(os.dup(int(each)))) for each in sys.argv[1:3]); "
    "os.dup2(r, 3); os.dup2(w, 4); os.execv(sys.argv[3], sys.argv[3:])"
)


class Chromium:
    """A browser with a profile of its own, ended with the block."""

    def __init__(self) -> None:
        found = [path for path in map(shutil.which, NAMES) if path]
        assert found, "no Chromium: apt-get install chromium"
        self._profile = tempfile.mkdtemp()
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(read), str(write), found[0], *FLAGS, f"--user-data-dir={self._profile}"],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._buffer, self._last = b"", 0
        self.events = list[dict[str, Any]]()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """The answer to one command; AssertionError where the browser refuses it or is silent."""
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        os.write(self._out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        until = time.monotonic() + PATIENCE
        while True:
            answer = self._next(until, method)
            if answer.get("id") == self._last:
                assert "error" not in answer, (method, answer["error"])
                found: dict[str, Any] = answer["result"]
                return found
            self.events.append(answer)

    def _next(self, until: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            assert ready, f"Chromium is silent after {method}"
            more = os.read(self._in, 1 << 20)
            assert more, f"Chromium ended during {method}"
            self._buffer += more
        line, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(line)
        return found

    def page(self, width: int, height: int, *, dark: bool = False, script: bool = True) -> "Page":
        """A new tab of that size; `script`: whether pages may run theirs."""
        return Page(self, width, height, dark=dark, script=script)


class Page:
    """A tab."""

    def __init__(self, browser: Chromium, width: int, height: int, *, dark: bool, script: bool) -> None:
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setScriptExecutionDisabled", value=not script)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command to this tab."""
        return self.browser.call(method, self._session, **parameters)

    def open(self, path: Path, fragment: str = "") -> None:
        """Loads a file and waits until it is there."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=path.as_uri() + fragment)
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def eval(self, expression: str) -> Any:
        """The value of an expression, awaited where it is a promise; AssertionError for what it throws."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.eval(condition):
            assert time.monotonic() < until, f"never: {condition}"
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        """What the browser held against any page so far: errors of scripts, breaches of a policy."""
        self.eval("1")
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        return [json.dumps(each["params"]) for each in self.browser.events if each.get("method") in kinds]

    def pdf(self) -> bytes:
        """The page as it is printed, on the paper that it asks for."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def picture(self) -> bytes:
        """What is seen, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot")["data"])
