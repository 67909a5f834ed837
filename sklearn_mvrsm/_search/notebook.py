"""What a notebook shows of a fitted search, above scikit-learn's diagram.

Plain HTML with an inline SVG: no script, nothing loaded, text in the colour of its
surroundings, so that it can be read on any background. Where a notebook takes the style
away (because it does not trust the page), an ordinary table remains.
"""

import html
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sklearn_mvrsm._compat.sklearn import BaseSearchCV
from sklearn_mvrsm._domain import BoolArray, FloatArray

__all__ = ["SummaryMixin"]


_MOST_ROWS = 12  # parameters that are listed
_LONGEST = 80  # characters of a value
_WIDTH, _HEIGHT, _EDGE = 280.0, 72.0, 4.0  # of the picture, in pixels
_ROOM = 4.0  # the picture shows at most this many times what the better half spans
_PREFIX = "mean_test_"

_STYLE = """
.sk-mvrsm {display: flex; flex-wrap: wrap; gap: 0.5em 2.5em; align-items: flex-start;
  margin: 0.4em 0 0.8em; line-height: 1.4; color: inherit;}
.sk-mvrsm table {border-collapse: collapse; margin: 0.3em 0; font-size: 0.92em;
  color: inherit; background: none;}
.sk-mvrsm .sk-mvrsm-params td {padding: 0.1em 1.2em 0.1em 0; text-align: left;
  vertical-align: top; border: none; background: none; font-family: monospace;
  color: inherit;}
.sk-mvrsm .sk-mvrsm-params td:first-child {opacity: 0.75;}
.sk-mvrsm .sk-mvrsm-small {font-size: 0.88em; opacity: 0.8;}
.sk-mvrsm svg {display: block; overflow: visible;}
.sk-mvrsm .sk-mvrsm-frame {fill: rgba(128, 128, 128, 0.1);}
.sk-mvrsm .sk-mvrsm-best {fill: none; stroke: #3182bd; stroke-width: 2;}
.sk-mvrsm .sk-mvrsm-failed {stroke: #d55e00; stroke-width: 1.5;}
"""


class SummaryMixin:
    """Puts a summary above the diagram that notebooks show of an estimator.

    It comes before scikit-learn's classes among the bases. Until there are results,
    everything is as usual.
    """

    @property
    def _repr_html_(self) -> Callable[[], str]:
        # scikit-learn raises AttributeError where diagrams are switched off
        behind: Any = super()  # scikit-learn's class, which has no types
        usual = behind._repr_html_
        return lambda: summary(self) + str(usual())

    def _repr_mimebundle_(self, **kwargs: object) -> dict[str, object]:
        """Return what IPython shows, by MIME type."""
        behind: Any = super()
        bundle: dict[str, Any] = behind._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = summary(self) + bundle["text/html"]
        if "text/plain" in bundle and (warning := edge_warning(self)):
            bundle["text/plain"] += f"\n{warning}"
        return bundle


def summary(search: BaseSearchCV) -> str:
    """Return the summary of a search as HTML; empty while it has no results.

    Parameters
    ----------
    search : MVRSMSearchCV
        Fitted, or interrupted after its first candidate.
    """
    results = getattr(search, "cv_results_", None)
    if results is None:
        return ""
    metrics = [name[len(_PREFIX) :] for name in results if name.startswith(_PREFIX)]
    guide = search.refit if search.refit in metrics else metrics[0]
    scores = np.array(results[_PREFIX + guide], dtype=np.float64)
    failed = np.asarray(results["status"]) != "ok"
    missing = ~np.isfinite(scores)
    if not isinstance(search.error_score, str) and np.isfinite(search.error_score):
        missing |= failed  # a number stands for them
    scores[missing] = np.nan
    allowed = scores.copy()
    if "constraint" in results:
        allowed[~(results["constraint"] <= 0.0)] = np.nan
    row = getattr(search, "best_index_", None)
    if row is None and np.isfinite(scores).any():
        row = int(np.nanargmax(scores))
    parts = [f"<style>{_STYLE}</style>", '<div class="sk-mvrsm"><div>']
    if row is not None:
        metrics.sort(key=lambda metric: metric != guide)  # the guide comes first
        parts += [_headline(results, metrics, row), _table(results["params"][row])]
        if warning := edge_warning(search):
            parts.append(f'<div class="sk-mvrsm-small">{html.escape(warning)}</div>')
    parts += [_counts(results, search.n_splits_), "</div>"]
    parts += [_picture(allowed, failed & missing, guide), "</div>"]
    return "".join(parts)


def _headline(results: dict[str, Any], metrics: Sequence[str], row: int) -> str:
    scores = [
        f"{html.escape(metric)} <b>{results[_PREFIX + metric][row]:.4g}</b> "
        '<span title="standard deviation over the folds">'
        f"± {results[f'std_test_{metric}'][row]:.2g}</span>"
        for metric in metrics
    ]
    count = len(results["params"])
    return f"<div>Best {', '.join(scores)} (candidate {row + 1} of {count})</div>"


def _table(params: dict[str, object]) -> str:
    """List the parameters of a candidate."""
    rows = [
        f"<tr><td>{html.escape(name)}</td><td>{html.escape(_text(value))}</td></tr>"
        for name, value in list(params.items())[:_MOST_ROWS]
    ]
    more = len(params) - len(rows)
    rest = f'<div class="sk-mvrsm-small">and {more} more parameters</div>'
    table = f'<table class="sk-mvrsm-params"><tbody>{"".join(rows)}</tbody></table>'
    return f"{table}{rest if more else ''}"


def _text(value: object) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a display must not fail because of what it shows
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def edge_warning(search: BaseSearchCV) -> str:
    """Name the winner's parameters that are at an end of their range; may be empty."""
    row = getattr(search, "best_index_", None)
    if row is None:
        return ""
    space, params = search.space_, search.cv_results_["params"][row]
    try:
        exists = space.active(space.encode(params))
    except Exception:  # what was found may be altered, and its repr may raise
        return ""
    ends = [
        f"{each.name} ({end} end)"
        for each, active in zip(space.parameters, exists, strict=True)
        if active and each.name is not None
        if (end := each.parameter.end(params[each.name]))
    ]
    if not ends:
        return ""
    return f"At the edge of the range: {', '.join(ends)}. A wider one may be better."


def _counts(results: dict[str, Any], n_splits: int) -> str:
    """Count candidates by status."""
    counted = Counter(results["status"])
    texts = [
        f"{n} {status.replace('_', ' ')}" for status, n in counted.most_common() if n
    ]
    if "constraint" in results:
        texts.append(f"{int((results['constraint'] > 0.0).sum())} infeasible")
    return (
        f'<div class="sk-mvrsm-small">{len(results["params"])} candidates, {n_splits} '
        f"folds each: {', '.join(texts)}</div>"
    )


def _picture(scores: FloatArray, failed: BoolArray, metric: str) -> str:
    """Draw the best score so far, and a tick for every failure, as SVG."""
    best = np.fmax.accumulate(scores)
    known = best[~np.isnan(best)]
    if not len(known):
        return ""
    first, last = known[0], known[-1]
    x = _EDGE + (_WIDTH - 2 * _EDGE) * np.arange(len(best)) / max(len(best) - 1, 1)
    failures = sorted({f"{at:.0f}" for at in x[failed]})
    ticks = "".join(
        f'<path class="sk-mvrsm-failed" d="M{at} {_HEIGHT}v-6"/>' for at in failures
    )
    title = (
        f"best {metric} so far, candidates 1 to {len(best)}: from {first:.4g} to "
        f"{last:.4g}"
    )
    caption = f"best so far, {first:.4g} to {last:.4g}"
    if failures:
        count = int(failed.sum())
        caption += f"; {count} failure{'' if count == 1 else 's'} below"
    size = f'width="{_WIDTH:.0f}" height="{_HEIGHT:.0f}"'
    return (
        f'<div><svg {size} viewBox="0 0 {_WIDTH:.0f} {_HEIGHT:.0f}" role="img">'
        f"<title>{html.escape(title)}</title>"
        f'<rect class="sk-mvrsm-frame" {size} rx="3"/>'
        f'<path class="sk-mvrsm-best" d="{_steps(x, best, scores)}"/>{ticks}</svg>'
        f'<div class="sk-mvrsm-small">{caption}</div></div>'
    )


def _steps(x: FloatArray, best: FloatArray, scores: FloatArray) -> str:
    """Return the path of a line that goes up where the best score does."""
    high = np.nanmax(best)
    low = max(np.nanmin(best), high - _ROOM * (high - np.nanmedian(scores)))
    span = _HEIGHT - 2 * _EDGE - 8.0  # the ticks are below
    height = high - low
    share = np.clip((best - low) / height, 0.0, 1.0) if height > 0.0 else 0.5 + 0 * best
    y = _EDGE + span * (1.0 - share)
    rows = np.flatnonzero(~np.isnan(best))
    steps = {f"{x[row]:.0f}": y[row] for row in rows[1:] if best[row] > best[row - 1]}
    corners = "".join(f"H{at}V{height:.1f}" for at, height in steps.items())
    return f"M{x[rows[0]]:.1f} {y[rows[0]]:.1f}{corners}H{x[-1]:.1f}"
