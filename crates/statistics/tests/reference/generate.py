"""Writes reference.json: SciPy's results for the cases of tests/all/reference.rs.

    python3 -m venv /tmp/scipy && /tmp/scipy/bin/pip install numpy==2.4.6 scipy==1.17.1
    /tmp/scipy/bin/python crates/statistics/tests/reference/generate.py
"""

import json
import pathlib

import numpy as np
import scipy
from scipy import stats

random = np.random.default_rng(20240501)


def rounded(values):
    return [float(f"{value:.7g}") for value in values]


def lognormal(count, middle, spread):
    return rounded(middle * np.exp(spread * random.standard_normal(count)))


def student():
    for df in [1, 1.7, 2, 4, 8.31, 30, 400]:
        for t in [-40.0, -2.5, -0.3, 0.0, 0.01, 1.0, 2.776, 9.0, 100.0]:
            yield {"df": df, "t": t, "cdf": float(stats.t.cdf(t, df))}


def student_quantiles():
    for df in [1, 1.7, 2, 4, 8.31, 30, 400]:
        for confidence in [0.5, 0.9, 0.95, 0.99, 0.9999]:
            yield {"df": df, "confidence": confidence, "t": float(stats.t.isf((1 - confidence) / 2, df))}


def pairs():
    for n, m, factor, spread_a, spread_b in [
        (2, 2, 1.1, 0.02, 0.02),
        (3, 3, 1.0, 0.02, 0.05),
        (5, 5, 0.95, 0.02, 0.02),
        (5, 8, 0.95, 0.01, 0.2),
        (9, 7, 1.02, 0.02, 0.03),
        (16, 16, 1.0, 0.02, 0.02),
    ]:
        yield lognormal(n, 250_000, spread_a), lognormal(m, 250_000 * factor, spread_b)


def welch():
    for a, b in pairs():
        test = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
        interval = test.confidence_interval(0.95)
        yield {
            "a": a,
            "b": b,
            "ratio": float(np.exp(np.mean(np.log(b)) - np.mean(np.log(a)))),
            "low": float(np.exp(interval.low)),
            "high": float(np.exp(interval.high)),
            "p": float(test.pvalue),
        }


def permutation():
    def distance(a, b, axis=-1):
        return np.abs(np.mean(b, axis=axis) - np.mean(a, axis=axis))

    for a, b in pairs():
        if len(a) > 10:
            continue
        test = stats.permutation_test(
            (np.log(a), np.log(b)), distance, vectorized=True, n_resamples=np.inf, alternative="greater"
        )
        yield {"a": a, "b": b, "p": float(test.pvalue)}


def paired():
    def distance(ratios, axis=-1):
        return np.abs(np.mean(ratios, axis=axis))

    for n, factor, spread in [(2, 1.1, 0.02), (6, 0.95, 0.02), (8, 1.0, 0.1), (12, 1.03, 0.04)]:
        a, b = lognormal(n, 250_000, spread), lognormal(n, 250_000 * factor, spread)
        test = stats.ttest_rel(np.log(b), np.log(a))
        interval = test.confidence_interval(0.95)
        # With one sample, SciPy turns the signs.
        turned = stats.permutation_test(
            (np.log(b) - np.log(a),), distance, permutation_type="samples", n_resamples=np.inf, alternative="greater"
        )
        yield {
            "a": a,
            "b": b,
            "low": float(np.exp(interval.low)),
            "high": float(np.exp(interval.high)),
            "p": float(test.pvalue),
            "p_permutation": float(turned.pvalue),
        }


def trend():
    for n, slope in [(4, 1), (8, 0), (10, 0.3), (30, 0.1), (30, -0.4), (60, 0.02)]:
        values = random.standard_normal(n) + slope * np.arange(n)
        # Ties: to whole tenths.
        for series in (rounded(values), [round(float(value), 1) for value in values]):
            test = stats.kendalltau(np.arange(n), series, method="asymptotic")
            minus = sum(np.sign(series[j] - series[i]) for i in range(n) for j in range(i + 1, n))
            yield {
                "values": series,
                "s": float(minus),
                # SciPy has no continuity correction.
                "z_without_continuity": float(np.sign(minus) * stats.norm.isf(test.pvalue / 2)),
                "slope": float(stats.theilslopes(series, np.arange(n)).slope),
            }


def outliers():
    for n, far in [(5, 0.7), (6, 0.99), (10, 1.4), (20, 0.9)]:
        values = lognormal(n, 100, 0.02)
        values[n // 2] *= far
        middle = np.median(values)
        score = 0.6744897501960817 * np.abs(values - middle) / stats.median_abs_deviation(values)
        yield {"values": [float(value) for value in values], "outliers": [int(i) for i in np.flatnonzero(score > 3.5)]}


reference = {
    "numpy": np.__version__,
    "scipy": scipy.__version__,
    **{
        case.__name__: list(case())
        for case in [student, student_quantiles, welch, permutation, trend, outliers, paired]
    },
}
place = pathlib.Path(__file__).with_name("reference.json")
lines = [
    f'"{name}": ' + (f'"{part}"' if isinstance(part, str) else "[\n  " + ",\n  ".join(map(json.dumps, part)) + "\n]")
    for name, part in reference.items()
]
place.write_text("{\n" + ",\n".join(lines) + "\n}\n")
