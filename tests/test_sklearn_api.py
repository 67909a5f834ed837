"""scikit-learn's own checks of an estimator, as GridSearchCV stands them."""

import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_mvrsm import MVRSMSearchCV, Real


def excluded(estimator):
    """Of the two checks that scikit-learn excludes for its searches, what fails here.

    The tag of a search says that it takes one target, so that the check wants a warning
    for a column; a Ridge takes several targets, and does not give it.
    """
    if is_regressor(estimator):
        return {"check_supervised_y_2d": "DataConversionWarning not caught"}
    return {}


def search(estimator, name):
    return MVRSMSearchCV(
        estimator,
        {name: Real(0.1, 1.0)},
        n_iter=2,
        cv=2,
        error_score="raise",
        random_state=0,
    )


SEARCHES = [
    search(Ridge(), "alpha"),
    search(LogisticRegression(), "C"),
    search(Pipeline([("pca", PCA()), ("ridge", Ridge())]), "ridge__alpha"),
    search(Pipeline([("pca", PCA()), ("clf", LogisticRegression())]), "clf__C"),
]


@parametrize_with_checks(SEARCHES, expected_failed_checks=excluded)
@pytest.mark.filterwarnings("default")
def test_checks_of_scikit_learn_pass(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", SEARCHES)
def test_the_search_is_what_its_estimator_is(estimator):
    inner = estimator.estimator
    assert is_classifier(estimator) == is_classifier(inner)
    assert is_regressor(estimator) == is_regressor(inner)
    assert not get_tags(estimator).array_api_support
