"""SVG, written by hand: text stays text, and the same data give the same bytes. Knows nothing of what it draws."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

__all__ = ["document", "element", "text"]

FONT = "DejaVu Sans, Verdana, Helvetica, sans-serif"


def document(width: float, height: float, parts: Iterable[str]) -> str:
    """On white: a page may be dark, and the text is not."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}">'
    return "\n".join([head, element("rect", width=width, height=height, fill="#ffffff"), *parts, "</svg>", ""])


def element(tag: str, content: str = "", **attributes: str | float) -> str:
    """Names with `_` for `-`; content is markup. Numbers to a tenth: files stay small."""
    written = "".join(f' {name.replace("_", "-")}="{_value(value)}"' for name, value in attributes.items())
    return f"<{tag}{written}>{content}</{tag}>" if content else f"<{tag}{written}/>"


def text(words: str, x: float, y: float, **attributes: str | float) -> str:
    return element("text", escape(words, quote=False), x=x, y=y, **attributes)


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
