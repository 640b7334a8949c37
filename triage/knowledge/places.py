"""The line of a value in a YAML file, for messages that a contributor can click on."""

from __future__ import annotations

from pathlib import Path

import yaml


def line_of(file: Path, path: tuple[str | int, ...]) -> int | None:
    """The line of the value at `path` (keys and list positions), or of the nearest one above it."""
    try:
        node = yaml.compose(file.read_text("utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return None
    line = node.start_mark.line if node is not None else 0
    for step in path:
        if isinstance(node, yaml.MappingNode):
            found = next(((key, value) for key, value in node.value if key.value == step), None)
            if found is None:
                break
            key, node = found
            line = key.start_mark.line
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line
        else:
            break
    return int(line) + 1
