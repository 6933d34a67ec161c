# SPDX-License-Identifier: GPL-2.0-only
"""Charts of a report in the words of Plotly: traces and a layout, which its JavaScript draws."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

from mptcplab.metrics.inference import Summary
from mptcplab.report.charts import Bars, Chart, Heat, Line, Lines, OverTime, Shares
from mptcplab.report.palette import PATH_COLOURS, Style
from mptcplab.units import counted

#: What JSON has.
Json = dict[str, Any]
#: Of the confidence intervals that are shown.
PERCENT = 95

_DIGITS = 4  # significant digits of a value in the page: more cannot be seen
_MANY_SCHEDULERS = 8
_MARKERS_OF_A_LINE = 8
_ABOVE: Json = {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0}  # a legend's place
_HEAT = "Cividis"  # readable with any colour vision


def plot(chart: Chart, looks: Mapping[str, Style]) -> Json:
    if isinstance(chart, Bars):
        return _bars(chart, looks)
    if isinstance(chart, Lines):
        return _lines(chart, looks)
    if isinstance(chart, Shares):
        return _shares(chart)
    if isinstance(chart, OverTime):
        return _over_time(chart)
    return _heat(chart)


def _layout(x: str, y: str, **more: Any) -> Json:
    return {
        "xaxis": {"title": {"text": text(x)}, "automargin": True},
        "yaxis": {"title": {"text": text(y)}, "automargin": True},
        "margin": {"l": 50, "r": 10, "t": 10, "b": 40},
        "showlegend": False,
        **more,
    }


def _trace(kind: Json, name: str, meta: Json, x: Any, y: Any, **more: Any) -> Json:
    return {**kind, "name": text(name), "meta": meta, "x": x, "y": y, **more}


def text(plain: str) -> str:
    """Text for Plotly, which interprets some HTML tags."""
    return html.escape(plain, quote=False)


def _bars(chart: Bars, looks: Mapping[str, Style]) -> Json:
    traces: list[Json] = []
    clustered = any(bar.category != bar.scheduler for bar in chart.bars)
    for scheduler in dict.fromkeys(bar.scheduler for bar in chart.bars):
        bars = [bar for bar in chart.bars if bar.scheduler == scheduler]
        look, meta = looks[scheduler], {"scheduler": scheduler}
        all_ = [bar.summary for bar in bars]
        ends = {
            "array": [None if o.high is None else rounded(o.high - o.median) for o in all_],
            "arrayminus": [None if o.low is None else rounded(o.median - o.low) for o in all_],
        }
        traces.append(
            _trace(
                *({"type": "bar"}, scheduler, meta),
                *([text(bar.category) for bar in bars], [rounded(over.median) for over in all_]),
                error_y={"type": "data", "symmetric": False, **ends, "thickness": 1.4},
                marker={
                    "color": look.colour,
                    "pattern": {"shape": look.dash.pattern, "solidity": 0.35},
                },
                offsetgroup=scheduler if clustered else "",
                hovertext=[_hover(scheduler, over, chart.unit) for over in all_],
                hoverinfo="text",
            )
        )
        values = bars[0].values
        if not clustered and len(values) > 1:
            traces.append(
                _trace(
                    *({"type": "scatter", "mode": "markers"}, scheduler, {**meta, "ink": True}),
                    *([text(scheduler)] * len(values), [rounded(value) for value in values]),
                    marker={"symbol": look.marker.plotly, "size": 5, "opacity": 0.55},
                    hovertemplate=f"%{{y}} {chart.unit}<extra></extra>",
                )
            )
    layout = _layout("", chart.y_label, barmode="group")
    layout["xaxis"] |= _of_bars(len({bar.category for bar in chart.bars}))
    return {"traces": traces, "layout": layout}


def _of_bars(count: int) -> Json:
    """The axis of categories: a name below each, also where it must be tilted, and no wide bars."""
    spare = (4 - count) / 2
    return {"dtick": 1} | ({"range": [-0.6 - spare, count - 0.4 + spare]} if spare > 0 else {})


def _hover(scheduler: str, over: Summary, unit: str) -> str:
    interval = ""
    if over.low is not None and over.high is not None:
        interval = f"<br>{PERCENT} % interval {over.low:.4g} to {over.high:.4g}"
    return f"<b>{text(scheduler)}</b><br>median {over.median:.4g} {unit}{interval}<br>" + spread(
        over
    )


def _lines(chart: Lines, looks: Mapping[str, Style]) -> Json:
    traces: list[Json] = []
    for line in chart.lines:
        if line.path is not None:
            own = {"color": PATH_COLOURS[line.path % len(PATH_COLOURS)], "dash": "dot", "width": 1}
            kind, x, y = {"type": "scatter", "mode": "lines"}, numbers(line.x), numbers(line.y)
            traces.append(_trace(kind, line.scheduler, {}, x, y, line=own))
            continue
        look, meta = looks[line.scheduler], {"scheduler": line.scheduler}
        traces += _band(line, meta, look.colour)
        kind = {"type": "scatter", "mode": "lines+markers"}
        shape = "hv" if chart.steps else "linear"
        # long lines get few markers, to keep these apart; 0 is all
        most = 0 if chart.markers else _MARKERS_OF_A_LINE
        traces.append(
            _trace(
                *(kind, line.scheduler, meta, numbers(line.x), numbers(line.y)),
                line={"color": look.colour, "dash": look.dash.plotly, "width": 1.8, "shape": shape},
                marker={"symbol": look.marker.plotly, "size": 8, "maxdisplayed": most},
            )
        )
    legend = dict(_ABOVE)
    shown = len({line.scheduler for line in chart.lines}) <= _MANY_SCHEDULERS
    layout = _layout(chart.x_label, chart.y_label, showlegend=shown, legend=legend)
    layout["yaxis"]["rangemode"] = "tozero"
    if chart.is_log:
        values = sorted({x for line in chart.lines for x in line.x})
        texts = [f"{x:.3g}" for x in values]
        layout["xaxis"] |= {"type": "log", "tickvals": numbers(values), "ticktext": texts}
    return {"traces": traces, "layout": layout | {"hovermode": "closest"}}


def _over_time(chart: OverTime) -> Json:
    traces: list[Json] = []
    for line in chart.lines:
        look: Json = {"width": 0.9 if line.is_limit else 1.2 if line.number is None else 2.2}
        if line.is_limit:
            look |= {"dash": "dash", "shape": "hv"}
        if line.number is not None:
            look["color"] = PATH_COLOURS[line.number % len(PATH_COLOURS)]
        kind = {"type": "scatter", "mode": "lines"}
        meta = {"scheduler": chart.scheduler, "ink": line.number is None}
        # the limit of all stands for all: each path has its colour
        shown = not line.is_limit or line.number is None
        own = (kind, line.name, meta, numbers(line.x), numbers(line.y))
        traces.append(_trace(*own, line=look, showlegend=shown))
    layout = _layout(chart.x_label, chart.y_label, showlegend=True, legend=dict(_ABOVE))
    layout["yaxis"] |= {"rangemode": "tozero"} if chart.top is None else {"range": [0, chart.top]}
    return {"traces": traces, "layout": layout | {"hovermode": "x"}}


def _band(line: Line, meta: Json, colour: str) -> Iterable[Json]:
    """The intervals of a line as an area around it."""
    known = [
        (x, low, high)
        for x, low, high in zip(line.x, line.low, line.high, strict=False)
        if low is not None and high is not None
    ]
    if len(known) > 1:
        x, low, high = zip(*known, strict=True)
        look = {"fill": "toself", "fillcolor": colour, "opacity": 0.2, "line": {"width": 0}}
        outline = numbers((*x, *x[::-1])), numbers((*high, *low[::-1]))
        more = {**look, "hoverinfo": "skip", "showlegend": False}
        yield _trace({"type": "scatter", "mode": "lines"}, line.scheduler, meta, *outline, **more)


def _shares(chart: Shares) -> Json:
    traces = [
        _trace(
            *({"type": "bar"}, path, {"schedulers": list(shares)}),
            *([text(name) for name in shares], [rounded(value) for value in shares.values()]),
            marker={"color": PATH_COLOURS[index % len(PATH_COLOURS)]},
            hovertemplate=f"%{{x}}<br>{_plain(path)} %{{y}} %<extra></extra>",
        )
        for index, (path, shares) in enumerate(chart.paths.items())
    ]
    legend = {**_ABOVE, "traceorder": "normal"}
    layout = _layout("", "%", barmode="stack", showlegend=True, legend=legend)
    layout["xaxis"] |= _of_bars(len({name for each in chart.paths.values() for name in each}))
    return {"traces": traces, "layout": layout}


def _plain(name: str) -> str:
    """Text within a template of Plotly, in which %{...} stands for a value."""
    return text(name).replace("%{", "% {")


def _heat(chart: Heat) -> Json:
    trace = {
        "type": "heatmap",
        "meta": {"scheduler": chart.scheduler},
        "x": [f"{value:g}" for value in chart.x],
        "y": [f"{value:g}" for value in chart.y],
        "z": [numbers(row) for row in chart.z],
        "zmin": rounded(chart.low),
        "zmax": rounded(chart.high),
        "colorscale": _HEAT,
        "colorbar": {"title": {"text": chart.unit}, "thickness": 12},
        "texttemplate": "%{z:.3g}",
        "hovertemplate": f"%{{x}}, %{{y}}: %{{z}} {chart.unit}<extra></extra>",
        "xgap": 1,
        "ygap": 1,
    }
    layout = _layout(chart.x_label, chart.y_label)
    for axis in ("xaxis", "yaxis"):
        layout[axis]["type"] = "category"
    return {"traces": [trace], "layout": layout}


def spread(over: Summary) -> str:
    return (
        f"quartiles {over.lower_quartile:.4g} and {over.upper_quartile:.4g}, "
        f"range {over.lowest:.4g} to {over.highest:.4g}, {counted(over.n, 'seed')}"
    )


def rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def numbers(values: Iterable[float | None]) -> list[float | None]:
    return [None if value is None or math.isnan(value) else rounded(value) for value in values]
