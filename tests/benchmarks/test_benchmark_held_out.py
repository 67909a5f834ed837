"""The stand-in is judged on what it has not seen."""

import numpy as np
import pytest

from sklearn_mvrsm.benchmarks import held_out
from sklearn_mvrsm.benchmarks._standins import ESP_FAILED, ESP_TABLE, PlateModel


def designs(n=90):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (n, 49)).astype(float)
    return X, (X[:, 0] > 3) - 2.0 * (X[:, 48] == 2) + 0.05 * rng.normal(size=n)


def test_no_row_is_predicted_by_a_model_that_saw_it(monkeypatch):
    X, y = designs(300)
    seen = []

    class Noting(PlateModel):
        def __init__(self, X, y):
            super().__init__(X, y)
            self.rows = {row.tobytes() for row in X}

        def predict(self, X):
            seen.append(len(X))
            assert not self.rows & {row.tobytes() for row in X}
            return super().predict(X)

    monkeypatch.setattr(held_out, "PlateModel", Noting)
    predicted = held_out.held_out(X, y, 3, seed=0)
    assert seen == [100, 100, 100]
    assert np.corrcoef(predicted, y)[0, 1] > 0.3
    shuffled = np.random.default_rng(1).permutation(y)
    assert abs(np.corrcoef(held_out.held_out(X, shuffled, 3, 0), shuffled)[0, 1]) < 0.3


def test_the_command_leaves_failures_out_and_prints_a_line_a_shuffle(tmp_path, capsys):
    X, y = designs()
    y[5] = ESP_FAILED
    names = [f"s{k}" for k in range(49)]
    rows = [["run", "objective", "seconds", *names]]
    rows += [[0, value, 1.0, *map(int, x)] for x, value in zip(X, y, strict=True)]
    text = "\n".join(",".join(map(str, row)) for row in rows)
    (tmp_path / ESP_TABLE).write_text(text)
    held_out.main(["--data", str(tmp_path), "--splits", "3", "--seeds", "2"])
    heading, *lines = capsys.readouterr().out.splitlines()
    assert heading.split() == ["shuffle", "explained", "rank", "correlation"]
    kept = np.arange(90) != 5
    predicted = held_out.held_out(X[kept], y[kept], 3, seed=1)
    errors = np.sum((y[kept] - predicted) ** 2)
    explained = 1.0 - errors / np.sum((y[kept] - y[kept].mean()) ** 2)
    assert [int(line.split()[0]) for line in lines] == [0, 1]
    assert float(lines[1].split()[1]) == pytest.approx(explained, abs=6e-4)
