"""When a worker is kept in reserve."""

import math

import pytest

from sklearn_mvrsm._execution.process import LEAD, Spare


@pytest.fixture
def spare():
    return Spare(allowed=True, always=False)


def test_it_is_started_ahead_of_the_first_deadline(spare):
    assert spare.due([50.0, None, 20.0, 90.0], 2.0) == 20.0 - LEAD * 2.0


@pytest.mark.parametrize("deadlines", [[], [None, None]])
def test_without_a_deadline_there_is_none(spare, deadlines):
    assert spare.due(deadlines, 2.0) == math.inf


def test_one_is_enough(spare):
    spare.worker = object()
    assert spare.due([20.0], 2.0) == math.inf
    assert Spare(allowed=False, always=True).due([20.0], 2.0) == math.inf


def test_where_workers_are_lost_without_notice_there_always_is_one(spare):
    assert Spare(allowed=True, always=True).due([], 2.0) == -math.inf
    assert spare.take() is None
    assert spare.due([], 2.0) == -math.inf


def test_it_is_given_away_once(spare):
    spare.worker = worker = object()
    assert spare.take() is worker
    assert spare.worker is None


def test_one_that_cannot_be_started_is_not_tried_again_until_it_is_missed(spare):
    spare.worker = object()
    spare.give_up()
    assert spare.worker is None
    assert spare.due([20.0], 2.0) == math.inf
    assert spare.take() is None
    assert spare.due([20.0], 2.0) == -math.inf
