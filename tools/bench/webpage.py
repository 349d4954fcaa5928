# SPDX-License-Identifier: GPL-2.0-only
# Copyright (C) 2026 The dsm authors
"""One HTML page with tables and their pictures, which a browser shows without network or scripts."""
from html import escape

from bench import tables

WIDTH, BAR, GAP, LEFT, RIGHT = 860, 16, 6, 250, 60
COLOURS = ("#4878a8", "#e49444", "#d1615d", "#85b6b2", "#6a9f58", "#e7ca60", "#a87c9f")
STYLE = """body{font:15px/1.4 sans-serif;margin:2em auto;max-width:75em;padding:0 1em}
table{border-collapse:collapse;font-size:13px;margin:1em 0}
th,td{padding:.15em .6em;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}
tr.theirs td{color:#777;font-style:italic}td.words{text-align:left}
tr.failed td{color:#b22}tr.program td{font-weight:bold;border-top:2px solid #888}
pre{background:#f4f4f4;padding:.6em;white-space:pre-wrap}svg text{font:12px sans-serif}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}pre{background:#262626}
svg text{fill:#ddd}th,td{border-color:#444}}"""


def svg(height, parts):
    """A picture of so many units."""
    return (f'<svg viewBox="0 0 {WIDTH} {height}" width="100%" role="img" xmlns="http://www.w3.org/2000/svg">'
            + "".join(parts) + "</svg>")


def text(x, y, words, anchor="start"):
    """Words in a picture."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def box(x, y, width, colour, title):
    """A bar, which says what it is when pointed at."""
    return (f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(0, width):.1f}" height="{BAR}" fill="{colour}">'
            f"<title>{escape(title)}</title></rect>")


def legend(names):
    """Names of the colours, in one line."""
    parts, x = [], LEFT
    for i, name in enumerate(names):
        parts += [box(x, 4, 12, COLOURS[i % len(COLOURS)], name), text(x + 16, 17, name)]
        x += 32 + 8 * len(name)
    return parts


def stacked(bars):
    """Bars of parts, which have the same names in all. bars: name, share of the whole width, shares of it, words."""
    names = list(bars[0][2])
    parts, y = legend(names), 28
    for name, share, shares, words in bars:
        parts.append(text(LEFT - 8, y + BAR - 4, name, "end"))
        x, scale = LEFT, (WIDTH - LEFT - RIGHT) * share
        for i, part in enumerate(names):
            width = shares[part] * scale
            parts.append(box(x, y, width, COLOURS[i % len(COLOURS)], f"{part} {100 * shares[part]:.1f} %"))
            x += width
        parts.append(text(x + 6, y + BAR - 4, words))
        y += BAR + GAP
    return svg(y, parts)


def breakdowns(bars):
    """Bars of time, stacked by where it goes; the longest is the whole width. bars: name, seconds, shares."""
    longest = max(seconds for _, seconds, _ in bars)
    return stacked([(name, seconds / longest, shares, f"{seconds:.2f} s") for name, seconds, shares in bars])


def message_sizes(bars):
    """Bars of all messages, stacked by how large they are. bars: name, number, shares."""
    return stacked([(name, 1, shares, tables.count(number)) for name, number, shares in bars])


def speedups(bars):
    """A bar for each; bars: name, speedup."""
    most = max(speedup for _, speedup in bars)
    parts, y = [], 4
    for name, speedup in bars:
        width = (WIDTH - LEFT - RIGHT) * speedup / most
        parts += [text(LEFT - 8, y + BAR - 4, name, "end"), box(LEFT, y, width, COLOURS[0], f"{speedup:.2f}"),
                  text(LEFT + width + 6, y + BAR - 4, f"{speedup:.2f}")]
        y += BAR + GAP
    return svg(y, parts)


def row(r, columns):
    """A line of a table; what has no column of its own takes the rest."""
    kind = "" if "run" in r or "refused" in r else ' class="failed"' if "failed" in r else ' class="theirs"'
    cells = [f"<td>{escape(r['label'])}</td>"]
    for i, cell in enumerate(r["cells"]):
        rest = columns - i if i == len(r["cells"]) - 1 and len(cell) > 24 else 1
        cells.append(f'<td class="words" colspan="{rest}">{escape(cell)}</td>' if rest > 1 else f"<td>{escape(cell)}</td>")
    return f"<tr{kind}>{''.join(cells)}</tr>"


def section(table, head, measured):
    """A table with its pictures. head: text; measured: program, rows."""
    lines = [f"<h2>{escape(table.title)}</h2>", f"<pre>{escape(head)}</pre>", "<table><tr><th></th>",
             *(f"<th>{escape(c)}</th>" for c in table.columns), "</tr>"]
    for name, rows in measured:
        words = tables.heading(name, rows)
        lines.append(f'<tr class="program"><td colspan="{len(table.columns) + 1}">{escape(words)}</td></tr>')
        lines += [row(r, len(table.columns)) for r in rows]
    lines.append("</table>")
    for name, rows in measured:
        bars = [(r["label"], r["run"]["seconds"], r["parts"]) for r in rows if r.get("parts")]
        if bars:
            lines.append(f"<h3>{escape(name)}: where the time goes, all nodes</h3>{breakdowns(bars)}")
        bars = [(r["label"], *tables.message_sizes(r["run"])) for r in rows if table.sized and r.get("parts")]
        bars = [bar for bar in bars if bar[1]]
        if bars:
            lines.append(f"<h3>{escape(name)}: how large messages are, of all nodes</h3>{message_sizes(bars)}")
    bars = [(f"{name}, {r['label']}", r["speedup"]) for name, rows in measured for r in rows if r.get("speedup")]
    if bars:
        lines.append(f"<h3>Speedup</h3>{speedups(bars)}")
    return "\n".join(lines)


def goals(lines):
    """What is to be reached. lines: of papergoals.lines()."""
    head = "".join(f"<th>{word}</th>" for word in ("", "goal", "ratio", "asked for", "", ""))
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>" for cells in lines)
    return f"<h2>Goals, from all runs above</h2>\n<table><tr>{head}</tr>\n{body}</table>"


def page(title, sections):
    """The whole page. sections: of section() and goals()."""
    return ("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
            '<meta name="viewport" content="width=device-width">'
            f"<title>{escape(title)}</title><style>{STYLE}</style></head>\n<body><h1>{escape(title)}</h1>\n"
            + "\n".join(sections) + "\n</body></html>\n")
