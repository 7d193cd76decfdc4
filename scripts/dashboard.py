"""Take the screenshots of docs/how-to/dashboard.md with Chromium: `python scripts/dashboard.py`.

The script simulates a heater whose best temperature and feed drift for 100 hours, and shows the
page of `driftpeak serve` in a browser. It needs the extras `serve` and `browser`.
"""

import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from playwright.sync_api import sync_playwright

import driftpeak as dp

IMAGES = Path(__file__).parents[1] / "docs" / "images"
SIZES = {"dashboard": (1280, 900), "dashboard-phone": (360, 740)}
BEGIN = datetime(2026, 3, 2, 6, 0)


def heater(folder: Path) -> None:
    """Create a study with 200 rewards, each 20 minutes late, and two pending suggestions."""
    space = dp.Box(**{"temperature [°C]": dp.Float(160, 240), "feed [kg/h]": dp.Float(20, 60)})
    study = dp.Optimizer(
        space,
        maximize=True,
        constraints={"pressure [bar]": dp.Limit(at_most=6.0, probability=0.9)},
        safe_start=[{"temperature [°C]": 190.0, "feed [kg/h]": 35.0}],
        seed=1,
        storage=folder / "heater-3.jsonl",
    )
    noise = np.random.default_rng(3)
    for step in range(200):
        hours = step / 2
        when = BEGIN + timedelta(hours=hours)
        asked = study.ask(when)
        temperature, feed = asked["temperature [°C]"], asked["feed [kg/h]"]
        warm = 192 + 20 * hours / 100 + 8 * math.sin(hours / 15)
        fast = 40 - 4 * math.sin(hours / 25)
        quality = 92 - 8 * ((temperature - warm) / 18) ** 2 - 6 * ((feed - fast) / 12) ** 2
        pressure = 3 + 0.05 * (temperature - 180) + 0.03 * (feed - 35)
        study.tell(
            asked,
            quality + 0.8 * noise.normal(),
            when + timedelta(minutes=20),
            constraints={"pressure [bar]": pressure + 0.1 * noise.normal()},
        )
    for hours in (100, 100.5):
        study.ask(BEGIN + timedelta(hours=hours))


def photograph(url: str) -> None:
    """Take screenshots of the page at two widths."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        for name, (width, height) in SIZES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(url)
            page.locator("#ahead-result table").wait_for(timeout=300_000)
            page.locator(".chart canvas").nth(2).wait_for()
            page.locator("main:not([aria-busy])").wait_for()
            page.screenshot(path=IMAGES / f"{name}.png", full_page=name == "dashboard")
        browser.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        heater(Path(name))
        command = [sys.executable, "-m", "driftpeak", "serve", name, "--port", "0"]
        service = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert service.stderr is not None
            said = iter(service.stderr.readline, "")
            photograph(next(found[0] for line in said if (found := re.search(r"http://\S+", line))))
        finally:
            service.terminate()
            service.wait(60)


if __name__ == "__main__":
    main()
