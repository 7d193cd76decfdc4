"""The way in: help with examples, completion, tables of 80 columns; nothing is loaded too early."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
from typer.main import get_command

import driftpeak as dp
from driftpeak.cli import app, plan_report, printing
from driftpeak.cli.examples import examples
from driftpeak.experiments.running.registry import EXPERIMENTS
from driftpeak.gp.kernels import SE, Matern
from driftpeak.offline._policy_specs.lines import check_texts, lines
from driftpeak.simulation._results import PolicyResult
from driftpeak.theory import planner
from driftpeak.theory.setting import Setting

ROOT = get_command(app.app)


def commands(command=ROOT, path=()):
    """All commands and groups, by their words."""
    yield path, command
    for name, one in getattr(command, "commands", {}).items():
        yield from commands(one, (*path, name))


COMMANDS = dict(commands())
WITH_POLICIES = {("replay",), ("compare",)}


def helped(path):
    """What `--help` prints, at 80 columns."""
    command = COMMANDS[path]
    context = command.context_class(command, info_name=" ".join(("driftpeak", *path)))
    return command.get_help(context)


def parse(words):
    """Read a command line, without doing what it says; the command and its arguments."""
    command, words = ROOT, words[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]
    return command, command.make_context("driftpeak", words).params


def test_every_command_is_looked_at():
    assert {("demo",), ("replay",), ("live", "ask"), ("data", "fetch"), ("completion",)} <= set(
        COMMANDS
    )
    assert len(COMMANDS) >= 22


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_two_examples_that_can_be_parsed(path):
    shown = re.findall(r"^    (driftpeak .*)$", helped(path), re.M)
    assert len(shown) >= 2
    own = " ".join(("driftpeak", *path))
    for example in shown:
        assert own in example
        words = shlex.split(example.partition(" > ")[0])
        if "$(" in example:
            words = shlex.split(re.search(r"\$\((.*?)\)", example)[1])
        assert parse(words)[0] is not ROOT


def test_an_example_that_is_wrong_is_noticed():
    with pytest.raises(Exception, match="No such option"):
        parse(["driftpeak", "live", "ask", "x", "--paramters", "{}"])


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_80_columns(path):
    assert max(map(len, helped(path).splitlines())) <= 80


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_of_commands_that_take_policies_lists_all(path):
    text = helped(path)
    takes = "--policy " in text
    assert takes == (path in WITH_POLICIES)
    for line in lines("policies") if takes else ():
        assert re.search(rf"^  {line.name}\s", text, re.M), line.name


def test_examples_are_lines_of_their_own():
    assert examples("demo", "plan") == "\b\nExamples:\n  driftpeak demo\n  driftpeak plan"


NO_JAX = """
import sys
from driftpeak.cli import app
sys.argv = ["driftpeak", *sys.argv[1:]]
code = 0
try:
    app.main()
except SystemExit as exit:
    code = exit.code or 0
heavy = {"jax", "jaxlib", "equinox", "xarray", "matplotlib", "scipy"} & set(sys.modules)
print(code, sorted(heavy), file=sys.stderr)
"""


def alone(*words, cwd=None):
    """Exit code, output, error output, and which heavy modules a call of its own loaded."""
    done = subprocess.run(
        [sys.executable, "-c", NO_JAX, *words],
        capture_output=True, text=True, check=False, cwd=cwd,
        env=os.environ | {"DRIFTPEAK_CACHE": "off"},
    )  # fmt: skip
    *errors, last = done.stderr.splitlines()
    code, _, heavy = last.partition(" ")
    return int(code), done.stdout, "\n".join(errors), heavy


def test_no_help_loads_jax():
    """All of them in one process."""
    words = [[*path, "--help"] for path in COMMANDS] + [["--version"], ["data", "list"]]
    program = f"""
import sys
from driftpeak.cli import app
for words in {words!r}:
    sys.argv = ["driftpeak", *words]
    try:
        app.main()
    except SystemExit as exit:
        assert not exit.code
assert not {{"jax", "equinox", "pandas", "xarray", "matplotlib"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Examples:") == len(COMMANDS)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["replay", "DATA.csv", "--polcy", "auto"], "No such option"),
        (["replay", "DATA.csv"], "there is no such file"),
        (["replay", "DATA.csv", "--policy", "tv-gpucb"], "Did you mean 'tv-gp-ucb'"),
        (["follow", "LOG.csv", "--choice", "a", "--reward", "b"], "there is no such file"),
        (["compare", "--policy", "tv-gp-ucb:dirft=0.1"], "Did you mean 'drift'"),
        (["compare", "--width", "log"], "unknown width 'log'"),
        (["plan"], "give --horizon T"),
        (["live", "ask", "x", "--time", "soon"], "--time must be a number"),
        (["live", "tell", "x", "--id", "1"], "give --reward"),
        (["live", "create", "x", "kiln"], "one of --maximize and --minimize is"),
        (["completion", "tcsh"], "tcsh"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else "",
)
def test_mistakes_in_arguments_load_no_jax(words, error, tmp_path):
    code, out, err, heavy = alone(*words, cwd=tmp_path)
    expected = dp.DataError.exit_code if "no such file" in error else 2
    assert (code, out) == (expected, "")
    assert error in err
    assert "jax" not in heavy


@pytest.mark.slow
def test_import_driftpeak_loads_no_jax_and_has_all_names():
    program = """
import sys
import driftpeak as dp
assert not {"jax", "numpy"} & set(sys.modules)
assert {"simulate", "Optimizer", "kernels"} <= set(dir(dp))
for name in dp.__all__:
    assert getattr(dp, name) is not None
assert "jax" in sys.modules
try:
    dp.simulat
except AttributeError as error:
    assert "simulat" in str(error)
else:
    raise AssertionError
import jax
assert jax.config.jax_compilation_cache_dir is None and not jax.config.jax_enable_x64
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_that_calls_back(shell):
    code, script, err, heavy = alone("completion", shell)
    assert (code, err) == (0, "")
    assert "jax" not in heavy
    assert f"_DRIFTPEAK_COMPLETE=complete_{shell}" in script
    given = {
        "bash": {"COMP_WORDS": "driftpeak live ca", "COMP_CWORD": "2"},
        "zsh": {"_TYPER_COMPLETE_ARGS": "driftpeak live ca"},
        "fish": {"_TYPER_COMPLETE_ARGS": "driftpeak live ca",
                 "_TYPER_COMPLETE_FISH_ACTION": "get-args"},
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", NO_JAX], capture_output=True, text=True, check=False,
        env=os.environ | given[shell] | {"_DRIFTPEAK_COMPLETE": f"complete_{shell}"},
    )  # fmt: skip
    assert "cancel" in done.stdout, (done.stdout, done.stderr)
    assert "create" not in done.stdout
    assert "jax" not in done.stderr


def test_names_are_checked_as_when_the_policies_are_made():
    check_texts(["auto", "tv-gp-ucb:drift=0.1", "r-perp:horizon=9"], "constant:value=2")
    for text, error in {"sw-gp-ucb:window=2.5": "an integer", "gp-ucb:x=1": "accepted"}.items():
        with pytest.raises(ValueError, match=error):
            check_texts([text], "scaled-log")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="a terminal is POSIX's")
@pytest.mark.parametrize(
    ("words", "sign"),
    [
        (["compare", "--steps", "3"], "loading"),
        (["demo"], "loading"),
        (["plan", "--horizon", "100"], "loading"),
        (["reproduce", "--list"], "loading"),
        (["replay", "data.csv"], "reading data.csv"),
        (["live", "ask", "study.jsonl"], "loading"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_a_command_shows_a_sign_of_life_before_it_loads_jax(words, sign, tmp_path):
    """On a terminal; a module called jax that stops stands in for the real one."""
    (tmp_path / "jax.py").write_text("raise SystemExit(9)")
    (tmp_path / "data.csv").write_text("a,b\n1,2\n2,3\n")
    ours, theirs = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "driftpeak", *words], stdout=subprocess.PIPE, stderr=theirs,
        cwd=tmp_path, check=False, env=os.environ | {"PYTHONPATH": path_with(tmp_path)},
    )  # fmt: skip
    os.close(theirs)
    shown = os.read(ours, 10_000).decode()
    os.close(ours)
    assert sign in shown
    assert (done.returncode, done.stdout) == (9, b"")
    off = subprocess.run(
        [sys.executable, "-m", "driftpeak", *words], capture_output=True,
        cwd=tmp_path, check=False, env=os.environ | {"PYTHONPATH": path_with(tmp_path)},
    )  # fmt: skip
    assert (off.returncode, off.stderr) == (9, b"")  # no terminal: nobody is looking


def path_with(folder):
    """Where modules are found, the folder first."""
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH", "")]))


# tables


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")


def fits(text):
    """Whether all is there, in 80 columns."""
    assert text
    assert "…" not in text
    assert "..." not in text
    assert max(map(len, text.splitlines())) <= 80
    return True


PROBLEMS = [
    Setting(SE(1.0), 1, 5000, 8.0, 0.01),
    Setting(Matern(2.5, 1.0), 6, 10**9, 8.123456, None, 0.35, rkhs_variation=123456.789),
    Setting(SE(1.0), 2, 100),
]


@pytest.mark.parametrize("setting", PROBLEMS, ids=["drift", "large", "bare"])
def test_a_plan_fits_80_columns(setting, narrow, capsys):
    made = planner.plan(setting, side_queries=10**6)
    plan_report.print_plan(made)
    text = capsys.readouterr().out
    assert fits(text)
    for advice in made.policies:
        assert advice.policy in text
    long = [replace(one, policy=f"{one.policy}-of-a-very-long-name") for one in made.policies]
    plan_report.print_plan(replace(made, policies=tuple(long)))
    assert fits(capsys.readouterr().out)


NUMBERS = {
    "mean_regret": 1.234567e-05, "cumulative_regret": 1.234567e10, "stderr": 1.2e-12,
    "on_best": 1.0, "side_queries": 123456.0, "side_queries_per_step": 0.123456,
    "restarts": 1234.5, "seconds": 98765.43, "compile_seconds": 1.0,
}  # fmt: skip


@pytest.mark.parametrize("asked", [0.0, 123456.0])
def test_tables_of_policies_fit_80_columns(asked, narrow, capsys):
    row = PolicyResult(**NUMBERS | {"side_queries": asked, "restarts": float(asked > 0)})
    names = ["auto", "opkb:horizon=100,period=20,preset=analysed,gain_share=0.5", "x" * 60]
    others = {name: SimpleNamespace(interval=(-0.012345, 123.4567)) for name in names[1:]}
    for judged in (None, SimpleNamespace(best=names[0], others=others)):
        printing._print_table(dict.fromkeys(names, row), judged, "degrees Celsius per fortnight")
        text = capsys.readouterr().out
        assert fits(text)
        for shown in ("1.235e-05", "1.235e+10", "98765.43", "100.0 %"):
            assert text.count(shown) == len(names), shown
        assert "".join(re.findall(r"^x+", text, re.M)) == "x" * 60


def test_the_list_of_experiments_fits_80_columns(narrow, capsys):
    printing.print_experiments(EXPERIMENTS.values())
    text = capsys.readouterr().out
    assert fits(text)
    for name in EXPERIMENTS:
        assert re.search(rf"^{name}\b", text, re.M)
