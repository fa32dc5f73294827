"""A column by trasgoDP; `data` is a list of texts or numbers."""

from trasgodp.categorical import dp_exponential_array
from trasgodp.numerical import dp_clip_laplace_array


def chosen(data, epsilon=1.0):
    return dp_exponential_array(data, epsilon).tolist()


def noisy(data, epsilon=1.0):
    return dp_clip_laplace_array(data, epsilon, 0.0, 10.0)
