"""What two shapes or two numbers of elements that do not fit say about where they come from."""

from __future__ import annotations

import math
import re

from triage import digits


def elements_advice(have: int, want: int) -> str:
    """Which size a reshape has wrong, by the factor between the elements there are and those asked for."""
    told = f"The data has {have} elements and the shape asks for {want}"
    if want == 0:
        return f"{told}: a size in the shape is 0; look for the height, width or length that was stored or read as 0."
    if have == 0:
        return f"{told}: the data is empty; look for the step that dropped everything."
    if have % want == 0:
        return f"{told}: {have // want} times too much. {_factor(have // want, 'colour and not grey')}"
    if want % have == 0:
        return f"{told}: {want // have} times too little. {_factor(want // have, 'grey and not colour')}"
    return f"{told}, and neither is a multiple of the other: an image side, a cut-off file or a header in it."


def _factor(factor: int, images: str) -> str:
    if factor == 3:
        return f"3 is mostly the channels: the images are {images}."
    root = math.isqrt(factor)
    if root * root == factor:
        return f"An image side differs by a factor of {root}, or {factor} is the batch (put -1 for it)."
    return f"{factor} is the batch (put -1 for it), the channels or an image side."


def loss_advice(labels: str, outputs: str) -> str | None:
    """What to change where the labels' shape is not the one of the model's outputs."""
    have, want = _axes(labels), _axes(outputs)
    if not have or not want or want[-1] is None:
        return None
    units = want[-1]
    one_value = have[-1] != units if len(have) == len(want) - 1 else len(have) == len(want) and have[-1] == 1 != units
    if one_value:
        return (
            f"Labels {labels} hold one value a sample and the model has {units} outputs. If it is the number of a "
            "class, compile with loss='sparse_categorical_crossentropy', or use "
            f"y = tf.keras.utils.to_categorical(y, {units})."
        )
    if len(have) != len(want) or have[-1] is None:
        return f"Labels are {labels} and the outputs {outputs}: bring both to the same number of axes."
    if units == 1:
        return (
            f"Labels {labels} have {have[-1]} columns and the model has one output: end it with Dense({have[-1]}), or "
            "give labels of one column."
        )
    return f"Labels have {have[-1]} columns and the model {units} outputs: end it with Dense({have[-1]})."


def pair_advice(one: str, other: str) -> str | None:
    """Which axis of two shapes that are added or compared is wrong, and what that mostly means."""
    left, right = _axes(one), _axes(other)
    if not left or not right or None in left or None in right:
        return None
    if len(left) != len(right):
        flat, full = sorted((left, right), key=len)
        if len(flat) == 1 and math.prod(n or 0 for n in full) == flat[0]:
            return f"[{one}] and [{other}] are the same values, once flattened: reshape one of them like the other."
        return f"[{one}] has {len(left)} axes and [{other}] has {len(right)}: one was dropped or added on the way."
    unequal = [n for n, (a, b) in enumerate(zip(left, right, strict=True)) if a != b and 1 not in (a, b)]
    if unequal == [0]:
        return f"Only the first sizes differ, {left[0]} and {right[0]}: the smaller is mostly the short last batch."
    if not unequal:
        return None
    axes = " and ".join(str(n) for n in unequal)
    return f"[{one}] and [{other}] differ in axis {axes} (counted from 0): each pair must be equal or hold a 1."


def _axes(shape: str) -> list[int | None]:
    return [digits.whole(part) for part in re.findall(r"\d+|None|\?", shape)]
