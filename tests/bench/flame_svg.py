"""A flame graph: each frame as wide as its share of the samples, on top of what called it. Knows no profiler."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

from tests.bench.svg import document, element, text

__all__ = ["draw_flames"]

Stack = tuple[str, ...]

WIDTH, ROW, MARGIN, HEAD = 1000, 17, 10, 44
LEAST_SHARE = 0.002  # what is narrower than two pixels says nothing
LETTER_WIDTH = 6.3  # of 10.5 px


@dataclass
class Frame:
    name: str
    count: int = 0
    callees: dict[str, Frame] = field(default_factory=dict)

    def depth(self, least: float) -> int:
        return 1 + max((callee.depth(least) for callee in self.callees.values() if callee.count >= least), default=0)


def draw_flames(
    stacks: Mapping[Stack, int], *, title: str, color_of: Callable[[Stack], str], legend: Mapping[str, str]
) -> str:
    """Colours by the whole stack; the legend says what they mean."""
    root = _build(stacks)
    least = root.count * LEAST_SHARE
    height = HEAD + ROW * root.depth(least) + MARGIN
    parts = [text(title, MARGIN, 18, font_size=14, fill="#333333"), *_legend(legend)]
    parts += _boxes(root, (), MARGIN, height - MARGIN - ROW, (WIDTH - 2 * MARGIN) / max(root.count, 1), least, color_of)
    return document(WIDTH, height, parts)


def _build(stacks: Mapping[Stack, int]) -> Frame:
    root = Frame("all", sum(stacks.values()))
    for stack, count in Counter(stacks).items():
        frame = root
        for name in stack:
            frame = frame.callees.setdefault(name, Frame(name))
            frame.count += count
    return root


def _boxes(
    frame: Frame, above: Stack, x: float, y: float, scale: float, least: float, color_of: Callable[[Stack], str]
) -> Iterator[str]:
    """The callees in the order of their names: the same profile is the same picture."""
    stack = (*above, frame.name) if above or frame.name != "all" else ()
    yield _box(frame.name, frame.count, x, y, scale, color_of(stack))
    for name in sorted(frame.callees):
        callee = frame.callees[name]
        if callee.count >= least:
            yield from _boxes(callee, stack, x, y - ROW, scale, least, color_of)
        x += callee.count * scale


def _box(name: str, count: int, x: float, y: float, scale: float, color: str) -> str:
    width = count * scale
    title = element("title", f"{escape(name, quote=False)}: {count * scale / (WIDTH - 2 * MARGIN):.1%}")
    box = element("rect", x=x, y=y, width=max(width - 0.5, 0.5), height=ROW - 1, fill=color, rx=1)
    room = int((width - 6) / LETTER_WIDTH)
    label = name.partition(" (")[0] if len(name) > room else name
    shown = label if len(label) <= room else f"{label[: room - 1]}…" if room > 3 else ""
    words = text(shown, x + 3, y + 12, font_size=10.5, fill="#222222") if shown else ""
    return element("g", title + box + words)


def _legend(legend: Mapping[str, str]) -> Iterator[str]:
    x = float(MARGIN)
    for name, color in legend.items():
        yield element("rect", x=x, y=26, width=10, height=10, fill=color)
        yield text(name, x + 14, 35, font_size=11, fill="#333333")
        x += 30 + len(name) * 6.6
