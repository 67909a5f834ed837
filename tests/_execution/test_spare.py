"""When workers are kept in reserve."""

import math
from types import SimpleNamespace

import pytest

from sklearn_mvrsm._execution.process import LEAD, Spare

READY, STARTING = SimpleNamespace(is_ready=True), SimpleNamespace(is_ready=False)


@pytest.fixture
def spare():
    return Spare(allowed=True, always=False)


def test_it_is_started_ahead_of_the_first_deadline(spare):
    assert spare.due([50.0, math.inf, 20.0, 90.0], 2.0) == 20.0 - LEAD * 2.0


@pytest.mark.parametrize("deadlines", [[], [math.inf, math.inf]])
def test_without_a_deadline_there_is_none(spare, deadlines):
    assert spare.due(deadlines, 2.0) == math.inf


def test_one_is_enough_until_a_worker_is_lost(spare):
    spare.workers.append(READY)
    assert spare.due([20.0, 21.0], 2.0) == math.inf
    assert Spare(allowed=False, always=True).due([20.0], 2.0) == math.inf


def test_then_there_are_as_many_as_come_to_their_deadlines(spare):
    assert spare.take() is None
    spare.workers.append(STARTING)
    assert spare.due([50.0, math.inf, 20.0, 90.0], 2.0) == 50.0 - LEAD * 2.0
    spare.workers.append(STARTING)
    assert spare.due([50.0, math.inf, 20.0, 90.0], 2.0) == 90.0 - LEAD * 2.0
    spare.workers.append(STARTING)
    assert spare.due([50.0, math.inf, 20.0, 90.0], 2.0) == math.inf


def test_where_workers_are_lost_without_notice_there_always_is_one(spare):
    assert Spare(allowed=True, always=True).due([], 2.0) == -math.inf
    assert spare.take() is None
    assert spare.due([], 2.0) == -math.inf


def test_each_is_given_away_once_and_those_that_are_ready_first(spare):
    assert not spare.is_ready
    spare.workers += [READY, STARTING]
    assert spare.is_ready
    assert spare.take() is READY
    assert not spare.is_ready
    assert spare.take() is STARTING
    assert spare.take() is None


def test_one_that_cannot_be_started_is_not_tried_again_until_it_is_missed(spare):
    spare.workers.append(STARTING)
    spare.give_up(STARTING)
    assert spare.workers == []
    assert spare.due([20.0], 2.0) == math.inf
    assert spare.take() is None
    assert spare.due([20.0], 2.0) == -math.inf
