"""The page of `driftpeak serve` in a real browser: what an operator reads and does."""

import json
import math
import os
import re
import shutil
from datetime import datetime, timedelta

import numpy as np
import pytest
from served import serving

import driftpeak as dp
from driftpeak.plots import new_figure

pytestmark = pytest.mark.browser

NEEDED = "DRIFTPEAK_NEEDS_BROWSER"  # in the environment: not to have a browser is a failure
EVIL = ("<img src=x onerror=alert(1)>", "<b>bold</b>", "off")
TOKEN = "a token may be long".replace(" ", "-")
BEGIN = datetime(2026, 3, 2, 6, 0)
SMALL = dp.DriftingGP(capacity=32, forgetting="markov")  # soon compiled
WAIT = 30_000  # milliseconds: the first answers compile


@pytest.fixture(scope="module")
def chromium():
    """A browser, or a word on why there is none."""
    path = shutil.which("chromium")
    if path is None:
        assert NEEDED not in os.environ, "Chromium is not installed"
        pytest.skip("Chromium is not installed: see `make test-browser`")
    if NEEDED not in os.environ:
        pytest.importorskip("playwright", reason="no Playwright: see `make test-browser`")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT)
    with sync_playwright() as driver:
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = driver.chromium.launch(executable_path=path, args=options)
        yield browser
        browser.close()


@pytest.fixture
def expect(chromium):
    from playwright.sync_api import expect

    return expect


@pytest.fixture
def opened(chromium):
    """Opens pages; in the end none has said a word of an error on its console."""
    contexts, said = [], []

    def open_page(url, **options):
        context = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("console", lambda one: said.append(one.text) if one.type != "log" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda one: said.append(one.message))  # an alert would be one
        page.goto(url)
        return page

    open_page.said = said
    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A heater with dates and a limit, arms with evil names in a context, and an empty study."""
    found = tmp_path_factory.mktemp("studies")
    noise = np.random.default_rng(0)
    limit = {"pressure [bar]": dp.Limit(at_most=6.0, probability=0.9)}
    space = dp.Box(**{"temperature [°C]": dp.Float(160, 240)})
    heater = dp.Optimizer(
        space, maximize=True, policy=SMALL, storage=found / "heater.jsonl", constraints=limit
    )
    for step in range(12):
        setting, when = {"temperature [°C]": 170.0 + 5 * step}, BEGIN + timedelta(hours=step)
        reward = 90 - ((setting["temperature [°C]"] - 200) / 15) ** 2 + 0.5 * noise.normal()
        heater.tell(setting, reward, when, constraints={"pressure [bar]": 4.0 + 0.1 * step})
    heater.ask(BEGIN + timedelta(hours=12))
    heater.ask(BEGIN + timedelta(hours=13))
    arms = dp.Arms(3, names=EVIL).context(**{"<i>load</i>": dp.Categorical("low", "<u>high</u>")})
    evil = dp.Optimizer(arms, maximize=False, policy=SMALL, storage=found / "evil.jsonl")
    for step in range(8):
        said = {"<i>load</i>": ("low", "<u>high</u>")[step % 2]}
        evil.tell({"arm": EVIL[step % 3]}, 1.0 + (step % 3 == 1 + step % 2), context=said)
    evil.ask(context=said, fixed={"arm": EVIL[0]})
    dp.Optimizer(space, maximize=True, policy=SMALL, storage=found / "empty.jsonl")
    return found


@pytest.fixture(scope="module")
def served(folder):
    with serving(folder) as found:
        yield found


@pytest.fixture
def own(folder, request):
    """The name of a copy of the heater that a test may change."""
    name = re.sub(r"\W", "-", request.node.name)
    shutil.copy(folder / "heater.jsonl", folder / f"{name}.jsonl")
    return name


def settled(page, expect):
    """All is computed and shown."""
    expect(page.locator("#status")).to_have_text("live")
    expect(page.locator("#ahead-result table")).to_be_visible()
    expect(page.locator(".chart canvas").first).to_be_visible()
    expect(page.locator("main:not([aria-busy])")).to_be_visible()
    expect(page.locator("#ahead-result:not([aria-busy])")).to_be_visible()


def numbers(locator):
    """What the numbers in a part of the page are, after a check that they are shown so."""
    found = []
    for one in locator.locator("data").all():
        value, text = one.get_attribute("value"), one.inner_text().replace("−", "-")
        decimals = len(text.partition(".")[2])
        assert abs(float(text) - float(value)) <= 0.5000001 * 10**-decimals
        found.append(float(value))
    return found


def test_the_page_says_what_the_api_says(served, opened, expect):
    page = opened(f"{served.url}/#heater")
    settled(page, expect)
    best = served.get("/api/studies/heater/best")[2]
    assert numbers(page.locator("#now")) == list(best["parameters"].values())
    expected = [best["mean"], best["low"], best["high"]]
    assert numbers(page.locator(".expected")) == expected
    believed = served.get("/api/studies/heater/diagnostics")[2]["diagnostics"]
    noise = page.locator("#beliefs li", has_text="Noise").inner_text()
    shown = float(re.search(r"±(\d+\.\d+)", noise)[1])
    assert shown == pytest.approx(believed["noise"], rel=0.05)
    assert "12 of 12 rewards" in page.locator("#beliefs").inner_text()
    points = {"points": [best["parameters"]], "time": best["time"]}
    chance = served.post("/api/studies/heater/chances", points)[2]["chances"]["pressure [bar]"][0]
    shown = page.locator(".chances data")
    assert float(shown.get_attribute("value")) == chance
    for title in ("Limits", "Limited quantities over time"):  # the limit's violations
        heading = page.locator("h2", has_text=re.compile(f"^{title}$"))
        expect(page.locator("section").filter(has=heading)).to_contain_text("0 of 12")
    expect(page.locator(".u-legend .u-series:not([hidden])", has_text="band")).to_have_count(1)
    told = served.get("/api/studies/heater/history")[2]["rewards"]
    row = page.locator("#newest tbody tr").first
    last = told[-1]
    assert numbers(row) == [last["parameters"]["temperature [°C]"], last["reward"]]
    expect(row).to_contain_text("2 Mar, 17:00")


def test_what_is_told_appears_without_a_reload(served, opened, expect, own):
    page = opened(f"{served.url}/#{own}")
    settled(page, expect)
    page.evaluate("window.here = true")
    body = {"setting": {"temperature [°C]": 231.0}, "reward": 87.125, "time": "2026-03-02T19:30"}
    body["constraints"] = {"pressure [bar]": 5.5}
    status, _, answer = served.post(f"/api/studies/{own}/tell", body)
    assert status == 200, answer
    expect(page.locator("#count")).to_have_text(re.compile("^13 rewards;"))
    expect(page.locator("#newest tbody tr").first).to_contain_text("2 Mar, 19:30")
    expect(page.locator("#beliefs")).to_contain_text("13 of 13 rewards")
    assert numbers(page.locator("#newest tbody tr").first) == [231.0, 87.125]
    assert page.evaluate("window.here")


def test_the_slider_looks_ahead(served, opened, expect):
    page = opened(f"{served.url}/#heater")
    settled(page, expect)
    slider = page.get_by_label("Time ahead")
    with page.expect_response(lambda one: "/best?time=" in one.url) as asked:
        slider.fill("48")
    then = asked.value.json()
    # half of the eleven hours that were seen after the latest time, at 19:00
    assert then["time"] == "2026-03-03T00:30:00"
    expect(page.locator("output")).to_have_text("in 5.5 hours: 3 Mar, 00:30")
    rows = page.locator("#ahead-result tbody tr")
    expect(rows.nth(1).locator("data").nth(1)).to_have_attribute("value", str(then["mean"]))
    now = served.get("/api/studies/heater/best")[2]
    assert numbers(rows.nth(2)) == [now["low"], now["high"], then["low"], then["high"]]
    assert then["deviation"] > now["deviation"]


def test_pending_suggestions_are_cancelled(served, opened, expect, own):
    page = opened(f"{served.url}/#{own}")
    settled(page, expect)
    rows = page.locator("#pending li")
    expect(rows).to_have_count(2)
    page.get_by_role("button", name="Cancel suggestion 2").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("No. 1")
    left = served.get(f"/api/studies/{own}/pending")[2]["suggestions"]
    assert [one["id"] for one in left] == [1]


def test_forgetting_wants_the_name(served, opened, expect, own):
    page = opened(f"{served.url}/#{own}")
    settled(page, expect)
    page.get_by_role("button", name="Forget …").click()
    name, sure = page.get_by_label("Type the name"), page.locator("dialog button.grave")
    for wrong in ("", "heater", own.upper()):
        name.fill(wrong)
        sure.click()
        expect(page.get_by_role("alert").filter(has_text="nothing was changed")).to_be_visible()
    events = served.get(f"/api/studies/{own}")[2]["events"]
    name.fill(own)
    page.get_by_label("Discard only observations before").fill("2026-03-02T12:00")
    sure.click()
    expect(page.locator("dialog")).to_have_count(0)
    expect(page.locator("#beliefs")).to_contain_text("6 of 12 rewards")
    found = served.get(f"/api/studies/{own}")[2]
    assert (found["told"], found["events"]) == (12, events + 1)
    settled(page, expect)
    page.get_by_role("button", name="Reset …").click()
    name.fill(own)
    sure.click()
    expect(page.locator("#count")).to_contain_text("0 rewards;")
    expect(page.locator("section.now")).to_contain_text("No observations yet")


def test_names_are_text(served, opened, expect):
    page = opened(f"{served.url}/#evil")
    settled(page, expect)
    expect(page.locator("#newest")).to_contain_text(EVIL[0])
    expect(page.get_by_label("<i>load</i>")).to_be_visible()
    expect(page.locator("#pending")).to_contain_text(EVIL[0][:3])
    assert page.locator("main img, main i, main u, #newest b, .chart b").count() == 0


def test_the_reader_says_what_the_world_says(served, opened, expect):
    page = opened(f"{served.url}/#evil")
    settled(page, expect)
    for said in ("low", "<u>high</u>"):
        page.get_by_label("<i>load</i>").select_option(said)
        context = json.dumps({"<i>load</i>": said}).replace(" ", "%20")
        best = served.get(f"/api/studies/evil/best?context={context}")[2]
        expect(page.locator(".expected data").first).to_have_attribute("value", str(best["mean"]))
        assert numbers(page.locator(".expected"))[1:] == [best["low"], best["high"]]
        expect(page.locator("#now")).to_contain_text(best["parameters"]["arm"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_is_wider_than_it(served, opened, expect, scheme):
    """And everything that is written stands out from what is behind it, as WCAG AA wants."""
    small = {"viewport": {"width": 360, "height": 740}, "color_scheme": scheme}
    page = opened(f"{served.url}/#heater", **small)
    settled(page, expect)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    inner = page.locator("section").evaluate_all(
        "all => all.filter(one => one.getClientRects().length)"
        ".map(one => one.getBoundingClientRect().right)"
    )
    assert max(inner) <= 360
    page.get_by_role("button", name="Forget …").click()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    written = page.evaluate(WRITTEN)
    assert len(written) > 50
    for text, front, behind in written:
        assert contrast(front, behind) >= 4.5, (text, front, behind)


WRITTEN = """() => {
  const solid = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\\)$/.test(colour)) return colour;
    }
  };
  return [...document.querySelectorAll("body *")]
    .filter((one) => one.getClientRects().length)
    .filter((one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .map((one) => [one.textContent, getComputedStyle(one).color, solid(one)]);
}"""


def contrast(first, second):
    """Of two colours, as WCAG 2.2 defines it."""
    darker, lighter = sorted(map(luminance, (first, second)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    parts = [int(one) / 255 for one in re.fullmatch(r"rgb\((\d+), (\d+), (\d+)\)", colour).groups()]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    return float(np.dot((0.2126, 0.7152, 0.0722), linear))


def test_the_keyboard_is_enough(served, opened, expect, own):
    page = opened(served.url)
    expect(page.locator("#studies a").first).to_be_visible()
    tab_to(page, own)
    page.keyboard.press("Enter")
    settled(page, expect)
    tab_to(page, "range")
    before = page.locator("output").inner_text()
    with page.expect_response(lambda one: "/best?time=" in one.url):
        page.keyboard.press("ArrowRight")
    expect(page.locator("output")).not_to_have_text(before)
    settled(page, expect)
    tab_to(page, "Forget …")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert focused(page)[0] == "Forget …"  # where one was
    page.keyboard.press("Enter")
    page.keyboard.type(own)
    page.keyboard.press("Enter")
    expect(page.locator("section.danger")).to_contain_text("Observations discarded.")


def focused(page):
    """Words or kind of what has the focus, and how wide its outline is."""
    return page.evaluate(
        "(() => { const one = document.activeElement; return [one.type === 'range' ? one.type"
        " : one.textContent, parseFloat(getComputedStyle(one).outlineWidth),"
        " getComputedStyle(one).outlineStyle]; })()"
    )


def tab_to(page, wanted):
    for _ in range(60):
        page.keyboard.press("Tab")
        text, width, style = focused(page)
        if text == wanted:
            assert width >= 2
            assert style == "solid"
            return
    raise AssertionError(f"no tab leads to {wanted}")


def test_the_token_is_asked_for_and_kept_by_the_tab_alone(folder, opened, expect):
    with serving(folder, token=TOKEN) as served:
        page = opened(f"{served.url}/#heater")
        page.get_by_role("textbox", name="Token").fill("another-token-than-that")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_role("alert").filter(has_text="refused")).to_be_visible()
        page.get_by_role("textbox", name="Token").fill(TOKEN)
        page.get_by_role("button", name="Continue").click()
        settled(page, expect)
        assert TOKEN not in page.url
        assert page.evaluate("[localStorage.length, sessionStorage.length]") == [0, 1]
        assert page.context.cookies() == []
        asked = []
        page.on("request", lambda one: asked.append(one.url))
        page.reload()
        settled(page, expect)
        assert any(one.endswith("/events") for one in asked)
        assert not any(TOKEN in one for one in asked)
        page.goto("about:blank")
    forgive_refusals(opened)


def forgive_refusals(opened):
    """The browser itself says of each request that it was refused, or that the service is gone."""
    mine = re.compile("Failed to load resource: .*(401|ERR_)")
    opened.said[:] = [one for one in opened.said if not mine.match(one)]


def test_an_empty_study_and_the_list(served, opened, expect):
    page = opened(f"{served.url}/#empty")
    expect(page.locator("section.now")).to_contain_text("No observations yet")
    page.get_by_role("link", name="driftpeak").click()
    expect(page.locator("#studies li", has_text="evil")).to_contain_text("8 rewards, 1 pending")


def test_without_javascript_a_line_says_what_to_do(served, opened, expect):
    page = opened(served.url, java_script_enabled=False)
    expect(page.get_by_text("driftpeak live best")).to_be_visible()


@pytest.mark.parametrize("token", [None, TOKEN])
def test_results_are_shown(tmp_path, opened, expect, token):
    summary = {
        "command": "replay",
        "driftpeak_version": "0.1.0",
        "settings": {"unit": "kW"},
        "verdict": {"text": "auto is better than <b>random</b>."},
        "follow": {"arm": EVIL[0], "mean": 1.25, "deviation": 0.5, "when": "step 120"},
        "policies": {
            name: {"mean_regret": regret, "stderr": None, "cumulative_regret": 10 * regret}
            for name, regret in (("random", 0.5), ("auto", 0.125))
        },
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))
    (tmp_path / "report.html").write_text("<!doctype html><p>whole</p>")
    figure = new_figure(2, 1)
    figure.savefig(tmp_path / "regret.png", dpi=50)
    with serving(tmp_path, token=token) as served:
        page = opened(served.url)
        if token:
            page.get_by_role("textbox", name="Token").fill(token)
            page.get_by_role("button", name="Continue").click()
        expect(page.locator("#verdict")).to_have_text("auto is better than <b>random</b>.")
        expect(page.locator("#follow")).to_have_text(
            f"{EVIL[0]}: expected 1.25 ± 0.50 [kW], at step 120."
        )
        rows = page.locator("tbody tr").all_inner_texts()
        assert rows == ["auto\t0.125\t–\t1.25\t–", "random\t0.5\t–\t5\t–"]
        picture = page.get_by_alt_text("regret.png")
        expect(picture).to_be_visible()
        assert (
            picture.evaluate("async one => { await one.decode(); return one.naturalWidth }") == 100
        )
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save report.html").click()
        assert saved.value.path().read_text() == "<!doctype html><p>whole</p>"
        page.goto("about:blank")
    if token:
        forgive_refusals(opened)


def test_contrast_is_as_defined():
    assert math.isclose(contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)"), 21)
    assert math.isclose(contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)"), 4.478, rel_tol=1e-3)


@pytest.fixture(scope="module")
def fleet_url(tmp_path_factory):
    """The page of a fleet of 30 members, of which one moves quickly and one has a wild reward."""
    found = tmp_path_factory.mktemp("fleets")
    prior = dp.Prior(dp.Arms([9.9, 11.9, 13.9]), dp.SE(2.0), noise_variance=0.1)
    members = [EVIL[0], *(f"article {number}" for number in range(1, 30))]
    policy = dp.Auto(prior, rates=[])
    fleet = dp.Fleet(prior.domain, members, policy=policy, storage=found / "shop.jsonl")
    noise = np.random.default_rng(0)
    for day in range(12):
        best = np.where(np.arange(30) == 0, 2.0 * (day // 3 % 2), 1.0)
        offers = fleet.ask(time=float(day))
        rewards = -2 * (offers.choices - best) ** 2 + 0.2 * noise.normal(size=30)
        fleet.tell(offers.ids, rewards + 40.0 * (day == 11) * (np.arange(30) == 7))
    with serving(found) as served:
        yield f"{served.url}/#fleet:shop"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_a_fleet(fleet_url, opened, expect, width, scheme):
    """The number of members, the fastest, the worst, and one; nothing is parsed as markup."""
    page = opened(fleet_url, viewport={"width": width, "height": 800}, color_scheme=scheme)
    expect(page.locator("main")).to_contain_text("30 members, 360 observations, policy Auto")
    fastest = page.get_by_role("region", name="Fastest members").locator("tbody tr")
    worst = page.get_by_role("region", name="Largest errors of forecasts").locator("tbody tr")
    expect(fastest.filter(has_text=EVIL[0])).to_have_count(1)
    expect(worst.first.locator("td").first).to_have_text("article 7")
    assert float(worst.first.locator("td").nth(3).inner_text()) > 10
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    for region in page.locator(".scroll").all():  # all columns are visible
        assert region.evaluate("one => one.scrollWidth <= one.clientWidth")
    worst.first.get_by_role("button").click()
    member = page.locator("#member")
    expect(member).to_contain_text("12 rewards")
    expect(member.locator("tbody tr")).to_have_count(3)
    expect(member).to_be_in_viewport()
    page.fill("#which", "article 99")
    page.get_by_role("button", name="Show").click()
    expect(member.get_by_role("alert")).to_have_text(
        "there is no member 'article 99' in this fleet"
    )
    opened.said.remove(next(one for one in opened.said if "404" in one))


def test_sudden_changes(tmp_path, opened, expect):
    """The diagnostics and the track name them."""
    space = dp.Box(speed=dp.Float(0, 1))
    study = dp.Optimizer(space, maximize=True, storage=tmp_path / "kiln.jsonl")
    for number in range(40):
        suggestion = study.ask(datetime(2026, 3, 1) + timedelta(hours=number))
        peak = 0.2 if number < 30 else 0.8
        study.tell(suggestion, -((suggestion["speed"] - peak) ** 2))
    (change,) = study.diagnostics().change_points
    with serving(tmp_path) as served:
        page = opened(f"{served.url}/#kiln")
        settled(page, expect)
        said = f"Sudden changes: detected at {change.day} Mar, {change:%H:%M}."
        expect(page.locator("#beliefs")).to_contain_text(said)
        expect(page.get_by_text("Dashed lines: sudden changes.")).to_be_visible()
