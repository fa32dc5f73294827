import random

import numpy as np

TABLE = {"low": [0.5, 0.25, 0.25], "middle": [0.25, 0.5, 0.25], "high": [0.25, 0.25, 0.5]}
SHARP = {"low": [0.6, 0.2, 0.2], "middle": [0.2, 0.6, 0.2], "high": [0.2, 0.2, 0.6]}
LEVELS = list(TABLE)


def by_table(level):
    return random.choices(LEVELS, weights=TABLE[level])[0]


def by_sharp_table(level):
    return random.choices(LEVELS, weights=SHARP[level])[0]


def die(answer):
    thrown = random.randint(1, 6)
    return answer if thrown <= 4 else not answer


def die_five(answer):
    thrown = random.randint(1, 6)
    return answer if thrown <= 5 else not answer


def sum_of_reports(bits, keep=0.75):
    return sum(bit if random.random() < keep else 1 - bit for bit in bits)


def sum_of_reports_sure(bits, keep=0.9):
    return sum(bit if random.random() < keep else 1 - bit for bit in bits)


def sum_of_reports_first(bits, keep=0.75):
    return sum(bit if at == 0 or random.random() < keep else 1 - bit for at, bit in enumerate(bits))


def anybody(bits):
    truth = any(bit == 1 for bit in bits)
    return truth if np.random.random() < 0.75 else not truth


def anybody_or_coin(bits):
    truth = any(bit == 1 for bit in bits)
    return truth or np.random.random() < 0.5


def one_vote(bits):
    share = sum(bits) / len(bits)
    return int(np.random.random() < 0.25 + 0.5 * share)


def one_vote_plain(bits):
    share = sum(bits) / len(bits)
    return int(np.random.random() < share)


def somebody(values):
    return random.choice(values)


def neighbour_cell(position, size=8):
    step = np.random.choice([-1, 0, 1], p=[0.25, 0.5, 0.25])
    return int((position + step) % size)


def any_cell(position, size=8):
    if np.random.random() < 0.125:
        return int(position)
    return int(np.random.randint(0, size))


def shuffled_reports(bits, keep=0.75):
    reports = [bit if random.random() < keep else 1 - bit for bit in bits]
    random.shuffle(reports)
    return reports


def shuffled_bits(bits):
    reports = list(bits)
    random.shuffle(reports)
    return reports


def parity(bits):
    odd = sum(bits) % 2
    return odd ^ (random.random() < 0.25)


def parity_and_size(bits):
    odd = sum(bits) % 2
    return odd ^ (random.random() < 0.25), sum(bits) // 10
