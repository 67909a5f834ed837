"""Slopes by differences, to hold gradients against."""

import numpy as np


def central_differences(function, x, h=1e-5):
    slopes = np.empty_like(x)
    for i in range(len(x)):
        step = np.zeros_like(x)
        step[i] = h
        slopes[i] = (function(x + step) - function(x - step)) / (2.0 * h)
    return slopes
