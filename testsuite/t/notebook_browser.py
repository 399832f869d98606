#!/usr/bin/python3
# testsuite/t/notebook_browser.py - a person at a notebook: a headless Chromium by its DevTools protocol.
#
# usage: notebook_browser.py PROFILE_DIR ADDRESS NOTEBOOK_ADDRESS_WITH_TOKEN CODE
# First comes without a token, as a stranger; then with it, types CODE into the notebook's first cell, runs
# it, and prints what is seen, a line each.
import json
import re
import subprocess
import sys

import websocket

limit_seconds = 60


class Browser:
    def __init__(self, profile):
        self.process = subprocess.Popen(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-port=0",
             f"--user-data-dir={profile}", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        for line in self.process.stderr:
            found = re.search(r"DevTools listening on (ws://\S+)", line)
            if found:
                break
        else:
            sys.exit("chromium does not start")
        # Nobody reads its other complaints.
        self.drain = subprocess.Popen(["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL)
        self.socket = websocket.create_connection(found[1], timeout=limit_seconds, suppress_origin=True)
        self.calls = 0
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method, **parameters):
        self.calls += 1
        message = {"id": self.calls, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.socket.send(json.dumps(message))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.calls:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']}")
                return answer["result"]

    def go(self, url):
        self.call("Page.navigate", url=url)
        while json.loads(self.socket.recv()).get("method") != "Page.loadEventFired":
            pass

    def see(self, script):
        """What the script says in the page, as soon as that is anything."""
        waits = ("new Promise(done => { const look = () => { let seen; try { seen = (%s) } catch (e) { return }"
                 " if (seen) { clearInterval(timer); done(String(seen)) } };"
                 " const timer = setInterval(look, 20); look() })" % script)
        result = self.call("Runtime.evaluate", expression=waits, awaitPromise=True)
        if "exceptionDetails" in result:
            sys.exit(f"{script}: {result['exceptionDetails']}")
        return result["result"]["value"]

    def key(self, name, code, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=name, windowsVirtualKeyCode=code,
                      modifiers=modifiers)

    def close(self):
        self.session = None
        self.call("Browser.close")
        self.process.wait(limit_seconds)


profile, address, notebook, code = sys.argv[1:]
browser = Browser(profile)
browser.go(address)
print("stranger:", browser.see("document.querySelector('h1').innerText"))
browser.go(notebook)
print("title:", browser.see("document.title"))
print("address:", browser.see("location.pathname + location.search"))
browser.see("Jupyter.notebook.kernel.is_connected() && Jupyter.notebook.kernel.info_reply.banner")
browser.see("Jupyter.notebook.select(0), Jupyter.notebook.edit_mode(), Jupyter.notebook.mode == 'edit'")
browser.call("Input.insertText", text=code)
browser.key("Enter", 13, modifiers=8)  # with shift: run it
print("output:", browser.see("document.querySelector('.cell .output_stdout pre').innerText.trim()"))
print("cookies:", browser.see("document.cookie.split('; ').map(c => c.split('=')[0]).sort().join(' ') || 'none'"))
browser.close()
