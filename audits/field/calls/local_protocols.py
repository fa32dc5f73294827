"""One person's answer by pure-ldp; `data` is her value."""

from pure_ldp.frequency_oracles.unary_encoding import UEClient


def answer(data, epsilon=1.0, optimal=False):
    return UEClient(epsilon=epsilon, d=4, use_oue=optimal, index_mapper=int).privatise(data)
