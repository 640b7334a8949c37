"""How fast the commands answer compared to `python -c "import click"` in the same run: on noisy machines ratios count.

make bench-start
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
SIZE = 20_000
HERE = Path(__file__).resolve().parents[1]


def log_of_20_kb() -> str:
    """The output of a real failing run after enough healthy output to make 20 KB."""
    healthy = (HERE / "fixtures/logs/healthy/fit-2.21.log").read_text("utf-8")
    failing = (HERE / "fixtures/logs/label_out_of_range-2.21.log").read_text("utf-8")
    text = healthy * (SIZE // len(healthy) + 1)
    return text[: SIZE - len(failing)] + "\n" + failing


def seconds(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, capture_output=True, check=False)
    return time.perf_counter() - started


def main() -> None:
    python = sys.executable
    triage = str(Path(python).parent / "triage")
    with tempfile.NamedTemporaryFile("w", suffix=".log", encoding="utf-8", delete=False) as file:
        file.write(log_of_20_kb())
    commands = {
        'python -c "import click"': [python, "-c", "import click"],
        "triage --help": [triage, "--help"],
        "triage explain 139": [triage, "explain", "139"],
        "triage analyze (20 KB)": [triage, "analyze", file.name],
    }
    # Each round goes through all commands, so that a busy moment hits all of them alike.
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            times[name].append(seconds(command))
    Path(file.name).unlink()
    base = sorted(times['python -c "import click"'])[ROUNDS // 2]
    print(f"{'command':28} {'median ms':>10} {'best ms':>9} {'ratio':>6}")
    for name, taken in times.items():
        median = sorted(taken)[ROUNDS // 2]
        print(f"{name:28} {median * 1000:10.1f} {min(taken) * 1000:9.1f} {median / base:6.2f}")
    print("Wanted: no ratio above 2.")


if __name__ == "__main__":
    main()
