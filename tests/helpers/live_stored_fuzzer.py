"""A stranger's events and snapshots, with the right checksums: read, or refused in one line.

Run as `live_stored_fuzzer.py CASES SEED`, in a process of its own: in the tests types are checked
before we can. Prints how many studies were refused.
"""

import contextlib
import copy
import io
import json
import random
import sys
import tempfile
import warnings
from pathlib import Path

import live_worker
from commands import EXIT_CODES

import driftpeak as dp
from driftpeak.cli import app
from driftpeak.live._study.storage import journal, open_store, study

ODD = [None, True, 0, -1, 7, 2**70, 10**400, 0.5, 1e308, float("nan"), float("-inf"), "", "x", "\0"]
ODD += ["steps", "dates", [], [1], [[]], [1, 2, 3], {}, {"x": 1}, {"arm": []}, {"x": 0.5, "k": "z"}]
COMMANDS = ["verify", "show", "best", "export", "ask", "tell", "cancel"]


def written(description, events):
    """The bytes of a journal, with checksums that are right."""
    line, check = journal._write_line({"study": description}, 0)
    lines = []
    for event in events:
        one, check = journal._write_line(event, journal._through(check))
        lines.append(one)
    head = journal.Head(description["id"], len(events), check).line()
    return line + head + b"".join(lines)


def studies(folder):
    """Descriptions, events and snapshots of a few studies."""
    box = dp.Box(x=dp.Float(0, 1), k=dp.Categorical("a", "b"))
    seasonal = dp.Arms(3).context(day=dp.Categorical("a", "b"), load=dp.Float(0, 1))
    made = {"box": lambda path: dp.Optimizer(box, maximize=True, storage=path)}
    rules = {"heat": dp.Limit(at_most=2), "sum": dp.WeightedSum({"x": 1}, at_most=0.9)}
    limits = {"constraints": rules, "safe_start": [{"x": 0.2, "k": "a"}]}
    made["limit"] = lambda path: dp.Optimizer(box, maximize=True, storage=path, **limits)
    made["context"] = lambda path: dp.Optimizer(seasonal, maximize=True, storage=path)
    made["arms"] = live_worker.make
    for name, make in made.items():
        path = folder / name
        optimizer = make(path)
        said = {"day": "a", "load": 0.5} if name == "context" else None
        for step in range(7):
            measured = {"heat": 0.2 * step} if name == "limit" else None
            optimizer.tell(optimizer.ask(context=said), 0.1 * step, constraints=measured)
        optimizer.cancel(optimizer.ask(count=3, context=said)[0])
        optimizer.forget(before=2)
        store = open_store(path)
        description = store.describe()
        events = [event for _, event in store.read(store.start()).events]
        yield description, events, optimizer


def places(content, path=()):
    """Every place in nested data."""
    yield path
    if isinstance(content, dict | list):
        for key in content if isinstance(content, dict) else range(len(content)):
            yield from places(content[key], (*path, key))


def changed(content, generator):
    """One value anywhere, replaced, taken away or put in twice."""
    content = copy.deepcopy(content)
    *path, last = generator.choice(list(places(content))[1:])
    inside = content
    for key in path:
        inside = inside[key]
    match generator.choice(["odd", "odd", "odd", "less", "more"]):
        case "odd":
            inside[last] = generator.choice(ODD)
        case "less":
            del inside[last]
        case "more" if isinstance(inside, list):
            inside.insert(last, inside[last])
    return content


def run(*words):
    """Exit code and error output of the command line."""
    out, err, sys.argv = io.StringIO(), io.StringIO(), ["driftpeak", *map(str, words)]
    code = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            app.main()
        except SystemExit as stop:
            code = stop.code or 0
    return code, err.getvalue()


def hostile_snapshot(optimizer, events, generator):
    """A snapshot for the whole history, of another state."""
    state = optimizer.snapshot()
    from driftpeak.live._study import event_sourced

    arrays, shell = event_sourced._read_snapshot(state)
    if generator.random() < 0.3:
        name = generator.choice(sorted(arrays))
        arrays[name] = generator.choice(
            [arrays[name][:-1], arrays[name].astype("U8"), arrays[name][None], arrays[name] * 0 - 9]
            if arrays[name].ndim and arrays[name].dtype != bool
            else [arrays[name].astype("U8")]
        )
    else:
        kept = shell.pop("of")
        shell = {**changed(shell, generator), "of": kept}
    target = io.BytesIO()
    text = event_sourced.np.frombuffer(json.dumps(shell).encode(), "u1")
    event_sourced.np.savez(target, allow_pickle=False, shell=text, **arrays)
    return target.getvalue()


def fuzz(cases, seed):
    generator, wrong, refused = random.Random(seed), [], 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        known = list(studies(folder))
        for case in range(cases):
            description, events, optimizer = generator.choice(known)
            path = folder / f"case-{case}"
            if case % 3:
                path.write_bytes(written(description, changed(events, generator)))
            else:
                path.write_bytes(written(description, events))
                store = open_store(path)
                store.describe()
                *_, (position, _) = store.read(store.start()).events
                state = hostile_snapshot(optimizer, events, generator)
                store.keep(study.write_snapshot(position, state))
            codes = []
            for command in COMMANDS:
                words = {"tell": ["--parameters", '{"arm": 1}' if "arms" in description["space"]
                                  else '{"x": 0.5, "k": "a"}', "--reward", "0.5"],
                         "cancel": ["--all"]}.get(command, [])  # fmt: skip
                if "constraints" in description and command == "tell":
                    words = [*words, "--constraints", '{"heat": 1}']
                if "context" in description["space"] and command in ("ask", "tell", "best"):
                    words = [*words, "--context", "day=b", "--context", "load=1"]
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        code, said = run("live", command, path, *words)
                except BaseException as error:
                    wrong.append((case, command, type(error).__name__, str(error)[:150]))
                    continue
                codes.append(code)
                if (
                    code not in {0, *EXIT_CODES}
                    or "Traceback" in said
                    or (code and said.count("\n") != 1)
                ):
                    wrong.append((case, command, code, said[-300:]))
            refused += any(codes)
    assert not wrong, "\n".join(map(str, wrong))
    return refused


if __name__ == "__main__":
    print(fuzz(int(sys.argv[1]), int(sys.argv[2])))
