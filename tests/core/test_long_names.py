"""Names that are longer than the file system allows are refused in one line by every command."""

import sys

import pytest

from driftpeak.cli import app

NAME = "n" * 300


@pytest.mark.parametrize(
    ("words", "message", "exit_code"),
    [
        (["replay", f"{NAME}.csv"], "cannot be read: File name too long", 12),
        (["plan", "--data", f"{NAME}.csv"], "cannot be read: File name too long", 12),
        (["compare", "--steps", "2", "--output", NAME], "cannot be written: File name too long", 3),
        (["compare", "--steps", "2", "--folder", NAME], "File name too long", 3),
        (["replay", "a.csv", "--save", NAME], "cannot be written: File name too long", 3),
        (["reproduce", "b16-fig1", "--output", NAME], "cannot be written: File name too long", 3),
        (
            ["live", "create", "s.jsonl", "s", "--maximize", "--space", NAME],
            "cannot read the space",
            2,
        ),
    ],
)
def test_one_line(words, message, exit_code, tmp_path, monkeypatch, capsys, without_type_checks):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n2,1\n" * 20)
    monkeypatch.setattr(sys, "argv", ["driftpeak", *words])
    with pytest.raises(SystemExit) as ended:
        app.main()
    complaint = capsys.readouterr().err
    assert ended.value.code == exit_code
    assert message in complaint
    assert complaint.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv"]
