"""Every snippet in README and docs runs: Python as it stands, commands with a small budget."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "zoo" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SMALL_BUDGETS = {
    "--frames": "45_000",
    "--minutes": "0.1",
    "--steps": "4_000",
    "--rounds": "1",
    "--seconds": "0.3",
    "--large-archive": "600",
    "--episodes": "2",
}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def with_small_budget(words: list[str]) -> list[str]:
    small = ["Freeway" if words[1] == "sweep" and word in ("focus", "all") else word for word in words]
    for place, word in enumerate(words[:-1]):
        if word in SMALL_BUDGETS:
            small[place + 1] = SMALL_BUDGETS[word]
    if small[1] in ("explore", "resume") and not {"--frames", "--minutes", "--print-config"} & set(small):
        small += ["--frames", "45_000"]
    if small[:3] == ["goexplore", "evaluate", "runs/mz-pb"] and "--returns-to" not in small:
        small += ["--returns-to", "uniform"]  # nothing was scored in so short a time
    return small


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_snippets(page, tmp_path):
    script = tmp_path / "snippets.py"
    script.write_text("\n".join(blocks(page, "python")))
    completed = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert completed.returncode == 0, completed.stderr[-3000:]
    expected = {"docs/your-own-environment.md": "opened: True", "README.md": "solved: True"}.get(name(page), "")
    assert expected in completed.stdout


def test_the_newcomers_example_is_short():
    example = blocks(ROOT / "docs" / "your-own-environment.md", "python")[0]
    assert len([line for line in example.splitlines() if line.strip()]) < 40


@pytest.mark.atari
@pytest.mark.parametrize("page", [page for page in PAGES if "goexplore " in "".join(blocks(page, "sh"))], ids=name)
def test_commands(page, tmp_path):
    (tmp_path / "my_module.py").write_text(
        blocks(ROOT / "docs" / "your-own-environment.md", "python")[0].split("\n\n\nresult")[0]
    )
    (tmp_path / "zoo").symlink_to(ROOT / "zoo")
    for line in "".join(blocks(page, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        if not words or words[0] != "goexplore":
            continue
        command = with_small_budget(words)
        completed = subprocess.run(
            [sys.executable, "-m", "goexplore", *command[1:]], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert completed.returncode == 0, f"{line}\n{completed.stderr[-2000:]}"


def test_links_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{name(page)}: {target}"
