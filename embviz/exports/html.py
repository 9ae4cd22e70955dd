"""One HTML file that holds everything, its drawing library included, and asks no server for anything."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from string import Template
from typing import TYPE_CHECKING

from embviz.exports.data import model_line, notes, table, verified_line
from embviz.i18n import DEFAULT_LANGUAGE, text

if TYPE_CHECKING:
    from embviz.analysis import Analysis

_PAGE = """<!DOCTYPE html>
<html lang="$language">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval';
 style-src 'unsafe-inline'; img-src data: blob:; worker-src blob:">
<title>$title</title>
<style>
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem;
  background: Canvas; color: CanvasText; overflow-wrap: anywhere }
q { display: block; white-space: pre-wrap; quotes: none; border-left: 3px solid; padding-left: .8rem; margin: .4rem 0 }
.wide, .figure { overflow-x: auto; position: relative }
th { white-space: nowrap }
td { white-space: pre }
table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { border-bottom: 1px solid color-mix(in srgb, CanvasText 20%, Canvas); padding: .15rem .7rem; text-align: right }
th:nth-child(2), td:nth-child(2) { text-align: left }
.figure { background: #fff; color: #000; color-scheme: light; border-radius: 8px }
.figure > div { min-width: 36rem }
</style>
</head>
<body>
<h1>$title</h1>
$texts
<p>$model<br>$verified</p>
$notes
<div class="wide"><table>
<thead><tr>$header</tr></thead>
<tbody>
$rows
</tbody>
</table></div>
$figures
<script>$plotly</script>
<script>
for (const place of document.querySelectorAll(".figure")) {
  const spec = JSON.parse(place.querySelector("script").textContent);
  const config = { displaylogo: false, showSendToCloud: false, responsive: true };
  Plotly.newPlot(place.appendChild(document.createElement("div")), spec.data, spec.layout, config);
}
</script>
</body>
</html>
"""


def build_page(analysis: Analysis, figures: Mapping[str, str], plotly_js: str) -> bytes:
    """The page, UTF-8; what was typed appears as text and nothing else.

    Args:
        analysis: what the page is about.
        figures: Plotly figures as JSON, by the heading above each.
        plotly_js: the source text of plotly.js.
    """
    shown = analysis.after.encoded
    header, rows = table(analysis)
    typed = [sentence for sentence in (shown.text, shown.text_pair) if sentence]
    cells = ["".join(f"<td><bdi>{_html(cell)}</bdi></td>" for cell in row) for row in rows]
    page = Template(_PAGE).substitute(
        language=DEFAULT_LANGUAGE,
        title=_html(text("export.title", model=analysis.model.name)),
        texts="\n".join(f'<q dir="auto">{_html(sentence)}</q>' for sentence in typed),
        model=_html(model_line(analysis)),
        verified=_html(verified_line(analysis)),
        notes="\n".join(f'<p dir="auto">{_html(note)}</p>' for note in notes(analysis)),
        header="".join(f"<th>{_html(name)}</th>" for name in header),
        rows="\n".join(f"<tr>{row}</tr>" for row in cells),
        figures="\n".join(_figure(heading, figure) for heading, figure in figures.items()),
        plotly=plotly_js,
    )
    return page.encode()


def _figure(heading: str, figure: str) -> str:
    data = figure.replace("<", "\\u003c")  # nothing in it can end the element
    script = f'<script type="application/json">{data}</script>'
    return f'<h2>{_html(heading)}</h2>\n<div class="figure">{script}</div>'


# HTML drops or forbids control characters; each has a picture in Unicode, U+2400 and on.
_CONTROL_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\t\n\r"} | {0x7F: 0x2421}


def _html(typed: str) -> str:
    return escape(typed.translate(_CONTROL_PICTURES))
