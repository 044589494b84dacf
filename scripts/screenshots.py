"""Takes the pictures in docs/images again: the review pages with seeded data, in a real Chromium.

    .venv/bin/python scripts/screenshots.py

Starts everything itself, in memory, and needs a Chromium on the machine.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.review_web.browser import House, Person, browsing, chromium, house  # noqa: E402  see above
from tests.review_web.world import LIN, OTTO, fakes, seed  # noqa: E402  see above

IMAGES = ROOT / "docs" / "images"
LARGEST = 150_000


async def take(person: Person, name: str, height: int = 820, colours: int = 96) -> None:
    """Take one picture, in so many colours."""
    size = person.page.viewport_size or {"width": 1280}
    await person.page.set_viewport_size({"width": size["width"], "height": height})
    await person.page.wait_for_timeout(500)
    path = IMAGES / f"review-{name}.png"
    await person.page.screenshot(path=path, scale="css")
    with Image.open(path) as image:
        image.convert("RGB").quantize(colours).save(path, optimize=True)
    size_now = path.stat().st_size
    print(f"{path.name}: {size_now / 1000:.0f} kB")
    if size_now > LARGEST:
        raise SystemExit(f"{path.name} is larger than {LARGEST} bytes: show less")


async def tour(opened: House) -> None:
    small: dict[str, Any] = {"viewport": {"width": 1180, "height": 700}}
    lin = await opened.person(**small)
    await lin.enter(LIN)
    await take(lin, "queue", 640)
    await lin.go("entries/e-dose")
    await take(lin, "entry", 760)
    await lin.go("policies?domain=general&threshold=0.85&score=0.6")
    await take(lin, "policies", 830)
    await lin.go("costs")
    await take(lin, "costs", 1320, 224)
    await lin.go("entries/e-visit/edit")
    text = "Visiting hours on ward 4 are from 15:00 to 19:00 every day, at most two visitors at a time."
    await lin.page.locator("#answer").fill(text)
    otto = await opened.person(**small)
    await otto.enter(OTTO)
    await otto.go("entries/e-visit")
    await otto.page.locator("#note").fill("ask the ward first")
    await otto.page.get_by_role("button", name="Reject").click()
    await otto.page.wait_for_url("**/queue")
    await lin.page.get_by_role("button", name="Save and approve").click()
    await take(lin, "conflict", 700)
    zh = await opened.person(**small, locale="zh-CN", color_scheme="dark")
    await zh.enter(LIN)
    await zh.go("entries/e-zh")
    await take(zh, "entry-zh", 700)
    phone = await opened.person(viewport={"width": 390, "height": 800})
    await phone.enter(LIN)
    await phone.go("entries/e-dose")
    await take(phone, "phone", 800)


async def main() -> None:
    if chromium() is None:
        raise SystemExit("no Chromium on this machine")
    IMAGES.mkdir(parents=True, exist_ok=True)
    world = fakes()
    await seed(world, 6)
    async with browsing() as browser, house(world, browser) as opened:
        await tour(opened)


if __name__ == "__main__":
    asyncio.run(main())
