"""Checks a certificate, or the records of a suite, without trusting who wrote it: `python check.py FILE.json`.

One file of the standard library; it imports nothing of dpverify. It computes again every bound from its counts, wagers
from their bets, accounts of plain noise from their events, witnesses from their values, and what follows from these:
verdicts, levels, seeds, the digest. The rest is listed as NOT CHECKED; `dpverify check` also writes the file again from
its evidence and compares the words. Exit code 0: all of it follows, 1: something
does not, 2: no such file. Binomial tails err by less than 1e-15 (decimals); a level may be exceeded by 1e-9 of itself.
Tests that search a region of outcomes (unconditional, curve) are bounded from above on cells, and met within 1 %.
"""

import hashlib
import json
import math
import shlex
import sys
from bisect import bisect_right
from decimal import Decimal, getcontext, MAX_EMAX, MIN_EMIN
from fractions import Fraction
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from statistics import NormalDist

getcontext().prec, getcontext().Emax, getcontext().Emin = 45, MAX_EMAX, MIN_EMIN
SCHEMAS = ("dpverify/certificate/2", "dpverify/records/2", "dpverify/tried/2")
STIRLING = [(1, 12), (-1, 360), (1, 1260), (-1, 1680), (1, 1188), (-691, 360360), (1, 156)]
LOG_2PI = Decimal("1.837877066409345483560659472811235279722794947275566825634")
ONE, SLACK, NEAR = Decimal(1), Decimal("1e-9"), 0.01


class Wrong(Exception):
    """Something does not follow."""


def need(holds, what):
    """Wrong unless it holds."""
    if not holds:
        raise Wrong(what)


def same(found, stated, what, room=1e-9):
    """Wrong unless the stated number is the one that was found, up to `room`; infinities are equal to themselves."""
    near = found == stated or abs(float(found) - stated) <= room * max(1.0, abs(stated)) < math.inf
    need(near, f"{what} is {stated!r}, not {float(found)!r}")


@cache
def log_factorial(n):
    """log n!, by the product or by Stirling's series, which errs by less than its first term that is left out."""
    if n < 64:
        return Decimal(math.factorial(n)).ln()
    series = sum(Decimal(a) / b / Decimal(n) ** (2 * i + 1) for i, (a, b) in enumerate(STIRLING))
    return (n + Decimal("0.5")) * Decimal(n).ln() - n + LOG_2PI / 2 + series


def mass(n, k, p):
    """Pr[Bin(n, p) = k], 0 < p < 1."""
    log = log_factorial(n) - log_factorial(k) - log_factorial(n - k) + k * p.ln() + (n - k) * (1 - p).ln()
    return log.exp()


def tail(n, k, p):
    """Pr[Bin(n, p) >= k]; beyond the mean the ratios of neighbouring terms are below 1 and fall."""
    if k <= 0 or p >= 1 or k > n or p <= 0:
        return ONE * (k <= 0 or (p >= 1 and k <= n))
    if k <= n * p:
        return 1 - tail(n, n - k + 1, 1 - p) if n - k + 1 > n * (1 - p) else ONE
    term, total, odds = mass(n, k, p), Decimal(0), p / (1 - p)
    while k <= n and term >= total * Decimal("1e-24"):
        total, term, k = total + term, term * odds * (n - k) / (k + 1), k + 1
    return total


def rate_at(n, k, level):
    """The p with Pr[Bin(n, p) >= k] = level, a Clopper-Pearson lower limit; by Newton's rule in the logit."""
    x, goal = Decimal(math.log((k + 0.5) / (n - k + 0.5)) - 2 / math.sqrt(k + 0.5)), Decimal(level)
    for _ in range(100 * bool(k)):
        p = expit(x)
        found = tail(n, k, p)
        step = (goal.ln() - found.ln()) * found / (k * (1 - p) * mass(n, k, p))
        x += max(-ONE, min(ONE, step))
        if abs(step) < Decimal("1e-13"):
            return expit(x)
    need(k == 0, "a rate cannot be found")
    return Decimal(0)


def expit(x):
    """1/(1 + e^-x)."""
    return 1 / (1 + (-Decimal(x)).exp())


def bracketed(p_value, bound, level, what, room=1e-7, slack=SLACK):
    """The stated bound is refuted at the level (with `room` less, if it is large), one with `room` more is not."""
    need(0 <= bound < math.inf, f"{what} is {bound!r}")
    less, level = bound if room < NEAR else bound * (1 - room), Decimal(level)
    need(bound == 0 or p_value(less)[1] <= level * (1 + slack), f"{what} = {bound!r} does not follow from the counts")
    need(p_value(bound + room * max(1.0, bound))[1] > level * (1 - slack), f"{what} is not {bound!r}: it is more")


def weighted(working, eps, d):
    """Pr[W Bin(n, d) + sum of w Bin(m_w, r) >= S]: products of polynomials, as digits of long decimals."""
    counts, score = {}, sum(w * right for w, (right, _) in zip(working["weights"], working["levels"], strict=True))
    for weight, level in zip(working["weights"], working["levels"], strict=True):
        counts[weight] = counts.get(weight, 0) + sum(level)
    parts = [(w, m, expit(eps)) for w, m in sorted(counts.items()) if w and m]
    parts += [(max(counts), working["trials"], Decimal(d))] if d else []
    law, start, lost = [10**25], 0, Decimal(0)
    for weight, count, p in parts:
        mean, spread = count * float(p), 9 * math.sqrt(count * float(p * (1 - p))) + 20
        low, high = max(0, math.floor(mean - spread)), min(count, math.ceil(mean + spread))
        lost += tail(count, high + 1, p) + 1 - tail(count, low, p)
        term, pmf = mass(count, low, p), []
        for k in range(low, high + 1):
            pmf += [math.ceil(term * 10**25), *[0] * (weight - 1)]
            term *= p / (1 - p) * (count - k) / (k + 1)
        law, start = [-(-each // 10**25) for each in product(law, pmf)], start + weight * low
    return min(ONE, Decimal(sum(law[max(0, score - start) :])) / 10**25 + lost) if score else ONE


def product(one, other, digits=64):
    """Coefficients of a product of polynomials with coefficients up to 10^26: decimals multiply by a fast transform."""
    size, context = (len(one) + len(other)) * digits, getcontext().copy()
    context.prec = size + 10
    long = context.multiply(*(Decimal("".join(f"{c:0{digits}d}" for c in reversed(part))) for part in (one, other)))
    text = f"{long:f}".rjust(size, "0")
    return [int(text[size - digits * (i + 1) : size - digits * i]) for i in range(len(one) + len(other) - 1)]


def two_step(right, wrong, n, d, level):
    """log((1 - kappa - rest)/rest), with a limit of how often it guesses (level/20) and one of how well (the rest)."""
    rate = rate_at(n, right + wrong, Decimal(level) / 20)
    if not rate > d or not right:
        return -math.inf
    rest = 1 - rate_at(right + wrong, right, Decimal(level) * 19 / 20)
    share = (1 - Decimal(d) / rate - rest) / rest
    return float(share.ln()) if share > 0 else -math.inf


def front(a, b, p):
    """p^a (1-p)^b / B(a, b), the slope of I_p(a, b) in the logit of p; in doubles."""
    log = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(p) + b * math.log1p(-p)
    return math.exp(max(log, -740))


@lru_cache(1 << 17)
def quick(n, k, p):
    """Pr[Bin(n, p) >= k] = I_p(k, n-k+1) by its continued fraction, in doubles; from above, by less than 1e-7.

    Where the smaller tail is below e^-40 the bound e^(-n KL(k/n || p)) of Chernoff stands for it.
    """
    if k <= 0 or p >= 1 or k > n or p <= 0:
        return float(k <= 0 or (p >= 1 and k <= n))
    up = p * (n + 3) < k + 1
    apart = k * math.log(k / n / p) + (n - k) * (math.log((1 - k / n) / (1 - p)) if k < n else 0.0)
    if apart > 40:
        return math.exp(-max(0.0, apart - 1e-14 * n)) if k > n * p else 1.0
    a, b, x = (k, n - k + 1, p) if up else (n - k + 1, k, 1 - p)
    c, d, m, step = 1.0, 1 / (1 - (a + b) * x / (a + 1)), 0, 0.0
    total = d
    while abs(step - 1) > 1e-12:
        m += 1
        even, odd = (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        )
        d, c = 1 / (1 + even * d), 1 + even / c
        total, d = total * c * d, 1 / (1 + odd * d)
        c = 1 + odd / c
        step = c * d
        total *= step
    found = front(a, b, x) * total / a
    room = 1e-9 + 1e-14 * n
    return min(1.0, found * (1 + room) if up else 1 - found * (1 - room))


def quick_upper(n, k, level):
    """The p with Pr[Bin(n, p) <= k] = level, a Clopper-Pearson upper limit, to about 1e-7 of itself: for orders."""
    x, step = math.log((n - k + 0.5) / (k + 0.5)) - 2 / math.sqrt(k + 0.5), 1.0
    while k < n and abs(step) > 1e-10:  # logit of the least rate of all others: Pr[Bin(n, q) >= n - k]
        q = 1 / (1 + math.exp(-x))
        found = quick(n, n - k, q)
        step = max(-1.0, min(1.0, math.log(found / level) * found / front(n - k, k + 1, q)))
        x -= step
    return 1 / (1 + math.exp(x)) if k < n else 1.0


def normal(x):
    """Phi(x)."""
    return math.erfc(-x / math.sqrt(2)) / 2


def profile(mu, eps):
    """delta(eps) of N(0,1) against N(mu,1); far out by Mills' ratio, 1/b - 1/b^3 < m(b) < 1/b."""
    a, b = eps / mu - mu / 2, eps / mu + mu / 2
    if b < 25:
        return normal(-a) - math.exp(eps) * normal(-b)
    return normal(-a) - math.exp(-a * a / 2) / math.sqrt(2 * math.pi) * (1 / b - 1 / b**3)


def curve_of(notion, claim):
    """Of a claim: the number that rates c and w of right and wrong guesses need, and (number, w) -> the largest c."""
    orders, quantile = [(1 + math.exp(x / 32),) * 2 for x in range(-192, 224, 6)], NormalDist().inv_cdf
    if notion in ("rdp", "tradeoff"):
        rows = claim.partition(":")[2].partition(" x ")[0].split(";")
        orders = [tuple(float(Fraction(each)) for each in row.split(",")) for row in rows]

    def power(w):
        segments = pairwise(orders)
        return max((1 - b - (y - b) * (w - a) / (x - a) for (a, b), (x, y) in segments if a <= w <= x), default=1.0)

    def divergence(a, c, w):
        need(notion in ("zcdp", "rdp"), f"the curve of the notion {notion!r} is not known")
        one = a * math.log(c) + (1 - a) * math.log(w)
        two = a * math.log1p(-c) + (1 - a) * math.log1p(-w) if c < 1 else -math.inf
        return (max(one, two) + math.log1p(math.exp(-abs(one - two)))) / (a - 1)

    def number(c, w):
        if notion in ("gdp", "tradeoff"):
            return quantile(c) - quantile(w) if notion == "gdp" else c / power(w)
        return max(divergence(a, c, w) / allowed for a, allowed in orders)

    def limit(x, w):
        if not 0 < w < 1 or notion == "tradeoff":
            return min(1 - w, x * power(w)) if notion == "tradeoff" else 0.0
        if notion == "gdp":
            return min(1 - w, normal(quantile(w) + x) * (1 + 1e-12))
        top = 1 - w
        for _ in range(8):  # the order that forbids most, alone; until none forbids more
            worst, a, allowed = max((divergence(a, top, w) / allowed, a, allowed) for a, allowed in orders)
            if worst <= x * (1 + 1e-6):
                break
            low, high = min(w, top), top
            for _ in range(40):
                middle = (low + high) / 2
                low, high = (middle, high) if divergence(a, middle, w) <= x * allowed else (low, middle)
            top = high
        return top

    return number, limit


class Box:
    """Outcomes (v, j) at least as extreme as (right, wrong): for each block of j the least v; those outside are in."""

    def __init__(self, right, wrong, n, nuisance, extreme):
        self.n, self.nuisance, self.least, last, step = n, nuisance, [], 0, 1
        self.low, self.high = float(rate_at(n, wrong, nuisance / 2)), 1 - float(rate_at(n, n - wrong, nuisance / 2))
        spread = 5.7 * math.sqrt(n * self.high) + 12
        first, end = min(wrong, max(0, int(n * self.low - spread))), max(wrong, min(n, int(n * self.high + spread))) + 1
        self.starts = sorted({*range(first, end, -(-(end - first) // 240)), wrong, end})
        for j in self.starts[:-1]:  # the least v rises with j, and by about as much as before
            low, high, rise = last - 1, max(1, last + step), max(1, step // 8)
            while high <= n and not extreme(high, j):
                low, high, rise = high, high + rise, 2 * rise
            high = min(high, n + 1)
            while high - low > 1:
                middle = max(low + 1, high - rise)
                low, high, rise = (low, middle, 2 * rise) if middle > 0 and extreme(middle, j) else (middle, high, rise)
            last, step = high, max(1, high - last)
            self.least.append(min(high, right) if j <= wrong else high)

    def whole(self, w, c):
        """Pr[region] from above, at these rates of wrong and of right guesses."""
        beyond = [quick(self.n, j, w) for j in self.starts]
        rows = [(j, v, x - y) for j, v, (x, y) in zip(self.starts, self.least, pairwise(beyond), strict=False)]
        rows = [row for row in rows if row[2] >= self.nuisance / 1e5]
        inside = sum(m * quick(self.n - j, v, c / (1 - w)) for j, v, m in rows)
        return 1 - math.fsum(m for *_, m in rows) + 1e-9 + inside

    def p_value(self, limit, level=0.0):
        """(from below, from above) max of Pr[region] over w in its interval, c <= limit(w), plus the nuisance level.

        Cells of w, each with its least w and largest limit: the worst is halved until it is clear on which side of the
        level, or within a hundredth.
        """

        def cell(a, b):
            top = limit(b)
            return self.whole(a, 1 - a if top >= 1 - b - 1e-12 else top), a, b

        edges = [self.low + (self.high - self.low) * i / 8 for i in range(9)]
        cells = sorted(cell(a, b) for a, b in pairwise(edges))
        reached = max(self.whole(a, limit(a)) for a in edges)
        for _ in range(200):
            worst, a, b = cells.pop()
            sides = level - self.nuisance if level else 0.0
            if worst <= max(sides, 1.01 * reached + self.nuisance / 100) or reached > sides > 0:
                break
            middle = (a + b) / 2
            reached = max(reached, self.whole(middle, limit(middle)))
            cells = sorted([*cells, cell(a, middle), cell(middle, b)])
        return min(1.0, reached + self.nuisance), min(1.0, max(worst, reached) + self.nuisance)


def searched(record, working, right, wrong):
    """unconditional and curve: the bounds as limits of rates, and limit -> p-value."""
    n, level, half = working["trials"], record["significance"], 2 if record["one_sided"] else 1
    need((working["nuisance"], working["order"]) == (level / 50, level), "levels that are fixed in advance are others")
    (number, bound), d = curve_of(record["notion"], record["claim"]), record["delta"] / half

    def response(eps):
        return lambda w: min(1 - w, math.exp(min(eps, 700.0)) * w + d)

    def limit(x):
        return lambda w: (lambda b, g: g / half if half == 1 or g < 1 - b - 1e-12 else 1 - w)(
            min(1.0, half * w), bound(x, min(1.0, half * w))
        )

    if record["test"] == "unconditional":
        need(right > n * d or record["eps_lower"] == 0, "a bound where no guess was more than revealed")
        rest, spans = 0.0, [(0, wrong)]  # the largest of upper(j)/(1 - n d/(right + j)); both factors are monotone
        while spans:
            a, b = spans.pop()
            worst = quick_upper(right + b, b, level) / (1 - n * d / (right + a))
            rest = max(rest, quick_upper(right + b, b, level) / (1 - n * d / (right + b)))
            if a < b and worst > rest:
                spans += [(a, (a + b) // 2), ((a + b) // 2 + 1, b)]
        rest *= 1 + 1e-8

        def extreme(v, j):
            return quick(v + j, v, 1 - min(1.0, rest * max(1 - n * d / (v + j), 0.0))) <= level * 1.0005
    elif not working["abstains"]:
        need(right + wrong == n and half == 1, "a rule that always guesses left trials out")

        def sign(allowed, level=0.0):
            low, high = 0.0, 0.5
            for _ in range(60):
                middle = (low + high) / 2
                low, high = (middle, high) if allowed(middle) < 1 - middle else (low, middle)
            return (tail(n, right, 1 - Decimal(low)),) * 2

        return {"number_lower": limit, "eps_lower": response}, sign
    else:
        c, w = half * float(rate_at(n, right, level)), half * quick_upper(n, wrong, level)
        order = limit(number(c, w) if c > 1e-300 and c + w < 1 else 0.0)
        rates = cache(
            lambda j: (lambda w, g: (1 - 1e-8) * (g if g < 1 - w - 1e-12 else 1.0))(
                quick_upper(n, j, level), order(quick_upper(n, j, level))
            )
        )

        def extreme(v, j):
            return quick(n, v, rates(j)) <= level * 1.0005

    box = Box(right, wrong, n, working["nuisance"], extreme)
    return {"number_lower": limit if record["test"] == "curve" else response, "eps_lower": response}, box.p_value


def one_run(record, working, eps_lower, number_lower, alone):
    """Guesses on canaries of one run; n coins, each of which a failure of probability delta may give away."""
    n, level, delta, log = working["trials"], record["significance"], record["delta"], record["log10_p_value"]
    rows = [(*(sum(side[:k]) for side in zip(*working["levels"], strict=True)), s) for k, s in working["events"]]
    need(working["pooled"] in dict(working["events"]), "its event is none of those that share the significance")
    need(sum(share for *_, share in rows) < 1 + 1e-9 and min(share for *_, share in rows) > 0, "shares exceed 1")

    def most(v, w, eps):
        """The largest chance of v right guesses of v + w."""
        beyond = tail(v + w, v, expit(eps))
        if not v or not delta or beyond == 1:
            return beyond
        return beyond + (1 - beyond) * min(ONE, n * Decimal(delta) * beyond / (v * mass(v + w, v, expit(eps))))

    def p_value(eps):
        return (min(ONE, *(most(v, w, eps) / Decimal(share) for v, w, share in rows), ONE),) * 2

    bracketed(p_value, eps_lower, level, "eps_lower")
    if record["test"] == "one run":
        need(record["notion"] in ("pure", "approx") and eps_lower == number_lower, "a test of another claim")
        return same(p_value(record["claimed"])[0].log10(), log, "log10_p_value", 1e-6) if alone else None
    _, limit = curve_of(record["notion"], record["claim"])

    @cache
    def table(x):
        """Rates of wrong guesses and the largest of right ones, as far as these rise."""
        points = [(w, limit(x, w)) for w in (10 ** (-24 + i / 16) for i in range(24 * 16))]
        return [points[0], *(q for p, q in pairwise(points) if p[1] < q[1] == max(q[1], p[1]))]

    def least(points, c):
        """A w below all with limit >= c: a concave curve lies below the chords of neighbouring intervals, extended."""
        i = bisect_right(points, c, key=lambda point: point[1]) - 1
        found = points[i][0] if i >= 0 else 0.0
        for a, b, end in ((i - 1, i, i), (i + 1, i + 2, i + 1)):
            if 0 <= a < b < len(points) and i >= 0:
                (w, g), (x, h) = points[a], points[b]
                found = max(found, points[end][0] + (c - points[end][1]) * (x - w) / (h - g))
        return found * (1 - 1e-9)

    def impossible(x, v, w, chance):
        """v right guesses with that chance need more mass of fewer right ones than there is."""
        r, points = v + w, table(x)
        mass_at = {v: chance}
        rights, wrongs = v * chance / n, w * chance / n
        for k in range(v - 1, -1, -1):
            needed = least(points, rights)
            if needed <= wrongs:
                return False
            mass_at[k] = (needed - wrongs) * n / (r - k)
            rights, wrongs = rights + k * mass_at[k] / n, needed
            if math.fsum((rights, wrongs)) > r / n * (1 + 1e-9):
                return True
        return False

    def refuted(x):
        return any(impossible(x, v, w, share * level) for v, w, share in rows)

    need(number_lower == 0 or refuted(number_lower * (1 - NEAR)), "number_lower does not follow from the counts")
    need(not refuted(number_lower * (1 + NEAR) or 1e-9 * record["claimed"]), "number_lower is more")
    if alone and log < 0:
        room = 0.01 if record["notion"] in ("gdp", "tradeoff") else 0.3  # of divergences fewer orders are asked here
        claimed, ends = record["claimed"], [10 ** (log + room), 10 ** (log - 0.01)]
        more, less = (any(impossible(claimed, v, w, min(1.0, e * s)) for v, w, s in rows) for e in ends)
        need(more and (not less or log < -11), f"log10_p_value is not {log!r}")


def betting(record, working):
    """Wealth against H0(eps) after each block: part on fixed stakes, by the counts so far, part on predictions."""
    claimed, d, bets, part = record["claimed_eps"], record["delta"], working["bets"], working["following"]
    stakes = [1.5**-i / (1 + d) for i in range(36)] + [1 / (math.exp(claimed) + d)]
    near, levels = [0.05 <= s * (math.exp(claimed) + d) <= 1 + 1e-15 for s in stakes], len(working["levels"])
    shares = [math.log(0.25 / 37 + 0.75 * close / sum(near)) for close in near]

    def added(logs):
        return max(logs) + math.log(math.fsum(math.exp(each - max(logs)) for each in logs))

    def wealth(x, every=True):
        rho, sums, n, log = math.exp(x), [[0] * levels] * 2, 0, 0.0
        for i, bet in enumerate(bets):
            stake = [min(0.95, max(0.0, 1 - (1 - p) * (1 + rho))) / (rho + d) for p in bet["predicted"]]
            paid, rows, n = d * max(stake), (bet["right"], bet["wrong"]), n + bet["trials"]
            log += (bet["trials"] - sum(map(sum, rows))) * math.log1p(-paid)
            for s, v, w in zip(stake, *rows, strict=True):
                log += v * math.log1p(s - paid) + w * math.log1p(-s * rho - paid) if v or w else 0.0
            sums = [[a + b for a, b in zip(old, new, strict=True)] for old, new in zip(sums, rows, strict=True)]
            if every or i == len(bets) - 1:
                terms = [math.log1p(-part) - 1e300]
                for k, (v, w) in enumerate(zip(*map(accumulate, sums), strict=True)):
                    on = math.log1p(-part) + math.log(0.5 / levels + 0.5 * (k == levels - 1))
                    for s, share in zip(stakes, shares, strict=True):
                        left = 1 - s * (rho + d)
                        if left > 0 or (left == 0 and not w):
                            gained = v * math.log1p(s * (1 - d)) + (n - v - w) * math.log1p(-s * d)
                            terms.append(gained + on + share + (w * math.log(left) if w else 0.0))
                yield added([math.log(part) + log, *terms])

    goal, lower = -math.log(record["significance"]), 0.0
    for x in sorted({*working["grid"], claimed}):
        if max(wealth(x, every=False)) < goal and max(wealth(x)) < goal:
            break
        lower = x
    same(lower, record["eps_lower"], "eps_lower")
    course = list(wealth(claimed))
    same(-max(0.0, *course) / math.log(10), record["log10_p_value"], "log10_p_value")
    same(math.exp(min(course[-1], 700.0)), record["e_value"], "e_value", 1e-6)


def sparse_vector(move, scale, told):
    """Of one run: of each threshold, of two movements (one where answers are monotone) of each positive, of values."""
    count, released = told["count"], told["value_scale"] is not None
    scales = Fraction(told["query_scale"]), Fraction(told["value_scale"] if released else 1)
    need(count >= 1 and min(scales) > 0, "a sparse vector without noise or positive outcomes")
    loss = (count if told["fresh"] else 1) * move / scale
    loss += (1 if told["monotone"] else 2) * count * move / scales[0]
    return loss + released * count * move / scales[1]


def account(events, record, left):
    """The sum of a ledger of plain noise: of largest log ratios, of rho, or the root of squares of mu."""
    pure, rho, smooth = Fraction(0), Fraction(0), True
    for event, size, count in ((each, *shift) for each in events for shift in each["shifts"]):
        move, scale, times = Fraction(size), Fraction(event["size"]), event["times"] * count
        need(move >= 0 and scale > 0 and times >= 0, "a ledger of negative numbers")
        gaussian, smooth = "Gaussian" in event["event"], smooth and event["event"] == "GaussianNoise"
        rho += times * (move / scale) ** 2 / 2 * gaussian
        loss = math.inf if gaussian else move / scale if "Laplace" in event["event"] else scale
        if event["event"] == "AboveThreshold":
            loss = sparse_vector(move, scale, event["comparisons"])
        pure += times * loss if move and times else 0
    eps, delta, notion = record["eps_upper"], record["delta"], record["notion"]
    exact = {"pure": pure, "zcdp": rho, "gdp": math.sqrt(2 * rho)}
    if delta and smooth and rho:
        mu = math.sqrt(2 * rho)
        need(profile(mu, eps) <= delta * (1 + 1e-6), "eps_upper is less than the ledger's noise has")
        need(eps == 0 or profile(mu, eps * (1 - 1e-6)) > delta * (1 - 1e-6), "eps_upper is more than the noise has")
    elif delta:
        need(eps <= pure * (1 + 1e-9), "eps_upper exceeds the sum of the largest log ratios")
        left.append("eps_upper, a numerical composition")
    else:
        same(pure, eps, "eps_upper")
    if notion == "pure" or (notion in exact and smooth):
        same(exact[notion], record["number_upper"], "number_upper")
    else:
        left.append("number_upper, a numerical account")


LOGS = {
    "laplace": lambda z, p: -abs(z),
    "normal": lambda z, p: -z * z / 2,
    "exponential": lambda z, p: -z,
    "gumbel": lambda z, p: -z - math.exp(-z),
    "discrete_laplace": lambda z, p: -abs(z) / p[0],
    "discrete_gaussian": lambda z, p: -z * z / (2 * p[0] ** 2),
}


def tape(record, found, left):
    """A transcript's log ratio from its values, and the mass that transcripts leave open."""
    lower, terms = found["lower"], found["terms"]
    need(not found["refutes"] or (lower or 0) > record["claimed"], "what the tape shows refutes nothing")
    if (
        lower is not None
        and terms is not None
        and all(t["family"] in LOGS and t["parameters"] == t["other_parameters"] for t in terms)
    ):
        rows = [(LOGS[t["family"]], t["parameters"], t["scale"] / t["other_scale"], t) for t in terms]
        ratio = sum(f(t["z"], p) - f(t["other_z"], p) - math.log(scale) for f, p, scale, t in rows)
        same(ratio * (1 - 1e-9), lower, "the witness's log ratio")
    elif lower is not None:
        left.append("the witness on the tape, whose values are not listed")
    if found["chances"] and not record["delta"] and lower < math.inf:
        q, p = sorted(found["chances"])
        need(p > 0, "the enumerated event has no chance")
        if q > 0:
            same(math.log(p / q) * (1 - 1e-9), lower, "the log ratio of the enumerated event", 1e-6)
    need(record["notion"] not in ("pure", "approx") or found["eps"] == found["number"], "the tape has two accounts")
    highest = math.inf if found["number"] is None else found["number"]
    need(not found["paths"] or 0 <= lower <= highest, "the ends of an enumerated law")
    if found["paths"]:
        left.append("the enumeration of a law (run it again: dpverify trace --exact)")
    if found["events"] and any(e["event"] in ("FiniteLaws", "BinomialNoise") for e in found["events"]):
        left.append("the account of coins and flips that the tape has seen, a numerical composition")
    elif found["events"] and found["eps"] is not None:
        events = [
            {**e, "size": str(Fraction(e["values"][0])), "shifts": [[Fraction(e["moves_by"]), 1]]}
            for e in found["events"]
        ]
        account(events, {**record, "eps_upper": found["eps"], "number_upper": found["number"]}, left)
    if found["delta_k"] is not None:
        missed = -math.expm1(math.log((1 - found["confidence"]) / 2) / found["transcripts"])
        same(missed, found["delta_k"], "the mass that transcripts leave open", 1e-12)


def counted(record, alone, left):
    """The bounds and p-values of a record from its counts."""
    working, level, claimed, delta = record["working"], record["significance"], record["claimed"], record["delta"]
    eps_lower, number_lower = record["audited"] or (record["eps_lower"], record["number_lower"])
    if working is None:
        nothing = (eps_lower, number_lower, record["trials"], record["right"], record["wrong"], record["log10_p_value"])
        return need(nothing == (0, 0, 0, 0, 0, 0) and record["p_value"] == 1, "a bound without counts")
    n, levels, test, d = working["trials"], working["levels"], record["test"], delta / (1 + record["one_sided"])
    need(n <= 10**12, "more trials than anybody has made")
    need(n in (record["trials"], record["trials"] - record["selection_trials"]), "the trials are not those counted")
    sides = list(zip(*levels, strict=True))
    need(min(map(min, sides)) >= 0 and sum(map(sum, sides)) <= n, "counts cannot be")
    curve = [[w / n, v / n] for v, w in zip(*map(accumulate, sides), strict=True)]
    need(curve == record["curve"] and (record["course"] or [[n]])[-1][0] == n, "its curve is not that of the counts")
    blocks = working["blocks"] or [[0, b["trials"], sum(b["right"]), sum(b["wrong"])] for b in working["bets"]]
    need(all(row[0] == i * bool(working["blocks"]) for i, row in enumerate(blocks)), "blocks are not in order")
    need(
        record["sequential"] == (test == "betting") and (working["abstains"] or test == "curve"), "another kind of test"
    )
    need([sum(c) for c in zip(*blocks, strict=True)][1:] == [n, *map(sum, sides)], "blocks do not add up to the counts")
    right, wrong = (sum(side[: working["pooled"]]) for side in sides)
    need((record["right"], record["wrong"]) == (right, wrong), "guesses are not those of the counts")
    stated, log = record["p_value"], record["log10_p_value"]
    alone = alone or record["pairs"] == 1
    near = log < -289 if stated < 1e-290 else abs(math.log10(stated) - log) < 1e-6
    need(near, "log10_p_value is not that of p_value")
    if test == "betting":
        return betting({**record, "eps_lower": eps_lower}, working)
    if test in ("one run", "one run curve"):
        return one_run(record, working, eps_lower, number_lower, alone)
    if test in ("unconditional", "curve"):
        bounds, p_value = searched(record, working, right, wrong)
        need(test == "curve" or eps_lower == number_lower, "two bounds where there is one")
        for name, value in (("number_lower", number_lower), ("eps_lower", eps_lower))[: 1 + (test == "curve")]:
            bracketed(lambda x, name=name: p_value(bounds[name](x), level), value, level, name, NEAR, Decimal("0.001"))
        if number_lower * (1 - NEAR) <= claimed < number_lower:
            left.append(f"the refutation, by less than {NEAR:.0%}")
        ends = [float(Decimal(each).log10()) for each in p_value(bounds["number_lower"](claimed), stated)]
        need(not alone or ends[0] - 0.3 <= log <= ends[1] + 0.01, f"p_value is {stated!r}, not within 10^{ends}")
        return None
    need(test in ("binomial", "shared binomial", "threshold", "weighted"), f"{test} is no test that is known")
    need(eps_lower == number_lower and (delta == 0 or "binomial" not in test), "a test of another claim")
    if test == "threshold":
        same(max(0.0, two_step(right, wrong, n, d, level)), eps_lower, "eps_lower", 1e-8)
        ends = (
            [two_step(right, wrong, n, d, stated * (1 + sign * 1e-6)) for sign in (1, -1)]
            if 1e-290 < stated < 0.99
            else []
        )
        need(not alone or not ends or ends[0] >= claimed > ends[1], f"p_value is not {stated!r}")
        return None
    events = working["events"] or [[working["pooled"], 1.0]]
    need(sum(share for _, share in events) < 1 + 1e-9 and min(share for _, share in events) > 0, "shares exceed 1")

    def p_value(eps):
        if test == "weighted":
            return (weighted(working, eps, d),) * 2
        rows = [(*(sum(side[:k]) for side in sides), share) for k, share in events]
        return (min(ONE, *(tail(v + w, v, expit(eps)) / Decimal(share) for v, w, share in rows), ONE),) * 2

    bracketed(p_value, eps_lower, level, "eps_lower")
    exact = p_value(claimed)[0].log10()
    if alone and test == "weighted" and exact < log:  # its fast convolutions are charged 1e-11
        most = (10**exact + Decimal("2e-11")).log10()
        return need(log <= most, f"log10_p_value is {log!r}, not {exact:.4f}")
    return same(exact, log, "log10_p_value", 1e-6) if alone else None


GRADES = "proved from the code", "code conforms", "author's ledger", "author's theorem"  # the strongest first
PROVED = "CERTIFIED", "ACCOUNTED"
COMPARED = "LaplaceNoise", "GaussianNoise", "DiscreteLaplaceNoise", "DiscreteGaussianNoise", "BinomialNoise"


def rests_on(record):
    """What a proof by this record's ledger rests on: the code, or the author's word for a ledger or a theorem."""
    found = record["tape"] or {"status": "", "number": None}
    need(found["status"] not in ("CONFORMS", "EXACT") or not found["refutes"], "the tape conforms and refutes")
    need(found["status"] != "CONFORMS" or found["ledger"] == "CONFORMS", "the tape has two words about one ledger")
    moves = found.get("paths") is not None or any(row["moved"] for row in found.get("draws", ()))
    seen = moves and found["alignment"] != "learned" and not found["uncovered"]
    if seen and found["status"] in ("CONFORMS", "EXACT"):
        return GRADES[1]
    if any(row[1].partition(" ")[0] not in COMPARED for row in record["ledger"]):
        return GRADES[3]
    return GRADES[1 if seen and found["number"] is not None and found["number"] <= record["claimed"] else 2]


def judged(record, alone, left):
    """All of one record: what its verdict, status and words rest on."""
    name, kind, claimed, verdict = (
        record["claim"].partition(":")[0],
        record["notion"],
        record["claimed"],
        record["verdict"],
    )
    number = record["claim"].partition(":")[2].split(",")
    need(name == kind, "the claim is of another notion")
    need(kind in ("rdp", "tradeoff") or float(Fraction(number[0])) == claimed, "claimed is not the claim's number")
    need(kind != "approx" or float(Fraction(number[1])) == record["delta"], "delta is not the claim's")
    need(kind != "pure" or record["delta"] == 0, "pure claims have no delta")
    need(kind not in ("pure", "approx") or record["claimed_eps"] == claimed, "claimed_eps is not claimed")
    if kind == "gdp":
        share = profile(claimed, record["claimed_eps"]) / record["delta"]
        if record["claimed_eps"] > 0 or not share <= 1:  # at eps 0 there may be less
            same(share, 1.0, "the share of delta at claimed_eps", 1e-4)
    elif kind not in ("pure", "approx"):
        left.append("claimed_eps, a conversion")
    counted(record, alone, left)
    found = record["tape"]
    if found is not None:
        tape(record, found, left)
    if record["audited"]:
        need(found and found["refutes"] and record["number_lower"] == found["lower"], "audited")
        own = kind in ("pure", "approx") or record["number_lower"] == math.inf
        need(record["eps_lower"] == (found["lower"] if own else record["audited"][0]), "audited, its eps")
    upper, lower, detectable = record["number_upper"], record["number_lower"], record["detectable"]
    unlike = found is not None and found["ledger"] == "CONTRADICTED"
    unmatched = found is not None and found["ledger"] == "UNMATCHED"
    need(kind not in ("pure", "approx") or upper == record["eps_upper"], "two upper bounds where there is one")
    if record["charged"] is not None and upper is not None:
        account(record["charged"], record, left)
    elif upper is not None:
        left.append("the account of a ledger that is more than plain noise")
    most = claimed * (1 + 2**-49 if kind in ("gdp", "zcdp") else 1)  # closed forms of roots that are no floats
    need(
        record["accounted"] == (None if upper is None or unlike or unmatched else upper <= most)
        or kind in ("approx", "tradeoff"),
        "accounted does not follow from the ledger's number",
    )
    failed = record["verdict"] == "INCONCLUSIVE" and any(record["failed_trials"].values())
    rule = (
        "INVALID"
        if record["invalid"]
        else "REFUTED"
        if lower > claimed
        else "INCONCLUSIVE"
        if detectable == math.inf or failed
        else "NOT_REFUTED"
    )
    need(verdict == rule or record["refuted_by"], f"the verdict is {verdict}, not {rule}")
    eps_upper = record["eps_upper"]
    contradicted = unlike or (eps_upper is not None and record["eps_lower"] > eps_upper)
    by_code = proved_by_code(record, left)
    basis = GRADES[0] if by_code else rests_on(record)
    blind = record["missed_twins"] and basis not in GRADES[:2]
    proved = (by_code or (record["accounted"] and not blind)) and not contradicted
    word = ("CERTIFIED" if basis in GRADES[:2] else "ACCOUNTED") if proved else "OPEN"
    status = verdict if verdict != "NOT_REFUTED" else word
    need(record["grade"] == (basis if status in PROVED else None), f"the grade does not follow: it is {basis}")
    need((status, contradicted) == (record["status"], record["ledger_contradicted"]), "the status does not follow")
    honest = record["planted"] or not contradicted
    accepted = {"": (status,), "ledger": PROVED, "conforms": PROVED[:1], "proof": PROVED[:1] if by_code else ()}
    need(record["accept"] in accepted, "what is accepted is no level of evidence")
    honest = honest and status in accepted[record["accept"]]
    wanted = record["expected_accounted"] in (None, record["accounted"]) and verdict == (
        record["expected"] or "NOT_REFUTED"
    )
    need(record["as_expected"] == (wanted and honest), "as_expected does not follow")
    left.append(
        "detectable and power, a plan; course and number_course, for plots; ladder, score and event; "
        "that trials were made as recorded (--rerun)"
    )


def promise(check, level):
    """A promise about utility: both limits of its rate of failures, and the word."""
    n, k, alpha, beta = check["trials"], check["failures"], check["significance"], check["failure_probability"]
    need(0 <= k <= n and alpha == level, "counts or level of a promise cannot be")
    same(float(rate_at(n, k, alpha)), check["rate_lower"], "rate_lower", 1e-10)
    same(1 - float(rate_at(n, n - k, alpha)), check["rate_upper"], "rate_upper", 1e-10)
    broken = any(check["violations"].values()) or check["rate_lower"] > beta
    verdict = "KEPT" if check["rate_upper"] <= beta else "OPEN"
    verdict = "BROKEN" if broken else "INCONCLUSIVE" if check.get("active_share") == 0 else verdict
    need(check["as_expected"] == (verdict == check["expected"]), "as_expected does not follow")
    need(check["verdict"] == verdict and check["failure_rate"] == k / n, f"the promise is {verdict}")


def derived(seed, name):
    """The seed of a part of a run."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:7], "big")


def certificate(document, left):
    """What a certificate says beyond its records; gives the level of each statement and the seeds."""
    records, promises, name = document["records"], document["promises"], document["subject"]
    verdicts, first = [record["verdict"] for record in records], records[0]
    worst = [each for each in ("INVALID", "REFUTED", "INCONCLUSIVE") if each in verdicts]
    need(document["verdict"] == (worst or ["NOT_REFUTED"])[0], "the certificate's verdict is not that of its records")
    unlike = any(r["tape"] is not None and r["tape"]["ledger"] in ("CONTRADICTED", "UNMATCHED") for r in records)
    need(document["accounted"] == (None if unlike else first["accounted"]), "accounted is not that of the records")
    best = max(records, key=lambda r: (bool(r["invalid"]), r["number_lower"], -r["detectable"]))
    for key in ("eps_lower", "eps_upper", "delta"):
        need(document[key] == best[key], f"{key} is not that of the strongest record")
    for key in ("detectable", "detectable_eps"):
        need(document[key] == max(record[key] for record in records), f"{key} is not the largest of the records")
    need({r["claim"] for r in records} == {document["claim"]}, "records are about other claims")
    mute = any(
        p["verdict"] in ("BROKEN", "INCONCLUSIVE") or (p["verdict"] == "OPEN" and p["detectable_rate"] is None)
        for p in promises
    )
    contradicted = any(record["ledger_contradicted"] for record in records)
    fine = document["verdict"] == "NOT_REFUTED" and document["accounted"] is True and not mute
    grades = [record["grade"] for record in records]
    fine = fine and not contradicted
    weakest = max(grades, key=GRADES.index) if fine and None not in grades else None
    need(document["grade"] == weakest, f"the certificate's grade does not follow: it is {weakest}")
    seen = fine and weakest in GRADES[:2]
    need(document["certified"] == seen == (not document["objections"]), "certified does not follow from the evidence")
    need(document["accept"] in ("ledger", "conforms", "proof"), "what is accepted is no level of evidence")
    silent = any(p["verdict"] in ("INCONCLUSIVE", "OPEN") and p["detectable_rate"] is None for p in promises) or any(
        p["verdict"] == "INCONCLUSIVE" for p in promises
    )
    word = PROVED[not seen] if fine else (worst or ["INCONCLUSIVE" if silent else "OPEN"])[0]
    need(document["status"] == word, f"the certificate's status does not follow: it is {word}")
    need(document["statements"] >= len(records) + len(promises), "more statements than shares of the significance")
    level = document["significance"] / document["statements"]
    for i, record in enumerate(records):
        seeds = {record["seed"], (record["tape"] or record)["seed"]}
        need(seeds == {derived(document["seed"], f"{name}#{i}")}, f"seed of pair {i + 1}")
        need(
            not (record["planted"] or record["missed_twins"]) and record["expected"] is None,
            f"pair {i + 1} is of no certificate",
        )
        need(record["significance"] == level and record["pairs"] == len(records), f"level of pair {i + 1}")
    for each in promises:
        need(each["seed"] == derived(document["seed"], f"{name}/{each['name']}"), f"seed of {each['name']}")
    return level


def suite(document):
    """What a suite's records say together: shares of one significance, and seeds of one seed, each subject once."""
    records, promises, seed = document["records"], document["promises"], document["seed"]
    names = [each.get("subject", each.get("name")) for each in [*records, *promises]]
    need(len(set(names)) == len(names), "a subject stands twice")
    spent = [each["significance"] * each.get("pairs", 1) for each in [*records, *promises]]
    need(math.fsum(spent) <= document["family_wise_error"] * (1 + 1e-9), "the levels exceed the family-wise error")
    for each in records:  # the strongest of its pairs
        seeds = [derived(seed, f"{each['subject']}#{i}") for i in range(each["pairs"])]
        need(each["seed"] in seeds, f"seed of {each['subject']}")
    for each in promises:
        need(each["seed"] == derived(seed, each["name"]), f"seed of {each['name']}")
    left = [each["subject"] for each in records if each["planted"] and each["verdict"] != "REFUTED"]
    left += [each["subject"] for each in document["failures"]]
    for each in records:
        own = [name.rpartition("!")[2] for name in left if name.rpartition("!")[0] == each["subject"]]
        need(each["planted"] or sorted(own) == sorted(each["missed_twins"]), f"missed twins of {each['subject']}")


# ----------------------------------------------------------------------------------------------------------------------
# Proofs from the code: expressions of a row on cells of its domain, and what releases cost on pairs of cells


def count(shape):
    """Entries of an array of this shape."""
    return math.prod(shape)


def spread(values, shape, wanted):
    """Entries of an array as those of a larger one that it is broadcast to."""
    if list(shape) == list(wanted):
        return values
    need(len(shape) <= len(wanted), "an argument has more axes than the operation")
    shape, found = [1] * (len(wanted) - len(shape)) + list(shape), []
    need(all(a in (1, b) for a, b in zip(shape, wanted, strict=True)), "shapes that do not go together")
    for at in range(count(wanted)):
        place, step, rest = 0, 1, at
        for own, size in zip(reversed(shape), reversed(wanted), strict=True):
            rest, here = divmod(rest, size)
            place, step = place + (here if own > 1 else 0) * step, step * own
        found.append(values[place])
    return found


def times_bound(a, b):
    """A product in which 0 times infinity is 0."""
    return 0.0 if a == 0 or b == 0 else a * b


def widest(low, high):
    """An interval, without an end where infinities of both signs have met."""
    return (-math.inf if math.isnan(low) else low), (math.inf if math.isnan(high) else high)


def quotient(x, y):
    """Interval of quotients."""
    if y[0] > 0 or y[1] < 0:
        found = [a / b if math.isfinite(a) or math.isfinite(b) else math.nan for a in x for b in y]
        return (min(found), max(found)) if not any(map(math.isnan, found)) else (-math.inf, math.inf)
    if x[0] >= 0 and y[0] >= 0:
        return (x[0] / y[1] if 0 < y[1] < math.inf else 0.0), math.inf
    return -math.inf, math.inf


def compared(sign, x, y):
    """Interval of the truth of a comparison."""
    if sign in (">", ">="):
        x, y, sign = y, x, {">": "<", ">=": "<="}[sign]
    if sign == "<":
        surely, never = x[1] < y[0], x[0] >= y[1]
    elif sign == "<=":
        surely, never = x[1] <= y[0], x[0] > y[1]
    else:
        need(sign in ("==", "!="), f"{sign!r} is no comparison")
        surely, never = x[0] == x[1] == y[0] == y[1], x[1] < y[0] or x[0] > y[1]
        surely, never = (surely, never) if sign == "==" else (never, surely)
    return float(surely), float(not never)


def logarithm(function):
    """A logarithm with its limits at 0 and below."""
    return lambda v: function(v) if v > 0 else -math.inf


INCREASING = {
    "sqrt": lambda v: math.sqrt(v) if v >= 0 else math.nan,
    "exp": lambda v: math.exp(v) if v < 709 else math.inf,
    "log": logarithm(math.log),
    "log2": logarithm(math.log2),
    "log10": logarithm(math.log10),
    "log1p": lambda v: math.log1p(v) if v > -1 else -math.inf,
    "expm1": lambda v: math.expm1(v) if v < 709 else math.inf,
    "tanh": math.tanh,
    "arctan": math.atan,
    "floor": lambda v: math.floor(v) if math.isfinite(v) else v,
    "ceil": lambda v: math.ceil(v) if math.isfinite(v) else v,
    "trunc": lambda v: math.trunc(v) if math.isfinite(v) else v,
    "rint": lambda v: round(v) if math.isfinite(v) else v,
    "sign": lambda v: float((v > 0) - (v < 0)),
}
OF_TWO = {
    "add": lambda x, y: widest(x[0] + y[0], x[1] + y[1]),
    "subtract": lambda x, y: widest(x[0] - y[1], x[1] - y[0]),
    "multiply": lambda x, y: (lambda all_: (min(all_), max(all_)))([times_bound(a, b) for a in x for b in y]),
    "divide": quotient,
    "minimum": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "maximum": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
    "and": lambda x, y: (min(x[0], y[0]), min(x[1], y[1])),
    "or": lambda x, y: (max(x[0], y[0]), max(x[1], y[1])),
}


def largest_size(x):
    """Interval of the absolute value."""
    return (0.0 if x[0] <= 0 <= x[1] else min(abs(x[0]), abs(x[1]))), max(abs(x[0]), abs(x[1]))


def along(values, shape, axis):
    """The entries along an axis, for every place of the others."""
    axis %= len(shape)
    inner = count(shape[axis + 1 :])
    return [
        [values[(outer * shape[axis] + at) * inner + place] for at in range(shape[axis])]
        for outer in range(count(shape[:axis]))
        for place in range(inner)
    ]


def both_ends(function, values):
    """A function of the lower ends and of the upper ones."""
    return function([v[0] for v in values]), function([v[1] for v in values])


def euclidean(values, order):
    """A norm of non-negative numbers."""
    return max(values, default=0.0) if order == math.inf else math.fsum(v**order for v in values) ** (1 / order)


def term_value(terms, at, known, pieces):
    """Intervals of the entries of the operation `at` in one cell."""
    term = terms[at]
    op, shape, extra = term["op"], term["shape"], term["extra"]
    given = [(known[each], terms[each]["shape"]) for each in term["args"]]
    need(all(each < at for each in term["args"]), "an operation of later ones")
    size = count(shape)
    if op == "column":
        found = [pieces["column", extra]]
    elif op == "constant":
        numbers = flat_numbers(extra)
        found = [(v, v) for v in numbers]
    elif op in ("public", "label"):
        found = [(extra[0], extra[1])] * size
    elif op == "place":
        found = [(0.0, extra - 1.0)]
    elif op == "reordered":
        found = [(1.0, 1.0)]
    elif op == "lookup" or (op == "public_axis" and given):
        found = []
        for low, high in given[0][0]:
            part = extra[max(0, math.ceil(low)) : math.floor(high) + 1]
            need(part and low >= 0 and high < len(extra), "a table is read beyond its ends")
            found.append((min(part), max(part)))
    elif op == "public_axis":
        found = [(0.0, 1.0)]
    elif op in OF_TWO:
        x, y = (spread(*each, shape) for each in given)
        found = [OF_TWO[op](a, b) for a, b in zip(x, y, strict=True)]
    elif op in INCREASING:
        found = [(INCREASING[op](a), INCREASING[op](b)) for a, b in spread(*given[0], shape)]
    elif op == "negative":
        found = [(-b, -a) for a, b in spread(*given[0], shape)]
    elif op == "absolute":
        found = [largest_size(v) for v in spread(*given[0], shape)]
    elif op == "square":
        found = [tuple(v * v for v in largest_size(each)) for each in spread(*given[0], shape)]
    elif op == "not":
        found = [(1 - b, 1 - a) for a, b in given[0][0]]
    elif op == "number":
        found = given[0][0]
    elif op == "compare":
        x, y = (spread(*each, shape) for each in given)
        found = [compared(extra, a, b) for a, b in zip(x, y, strict=True)]
    elif op == "where":
        rows = zip(*(spread(*each, shape) for each in given), strict=True)
        found = [a if c[0] == 1 else b if c[1] == 0 else (min(a[0], b[0]), max(a[1], b[1])) for c, a, b in rows]
    elif op == "modulo":
        x, y = (spread(*each, shape) for each in given)
        found = [
            (a % d, b % d) if math.floor(a / d) == math.floor(b / d) else (0.0, d)
            for (a, b), (d, _) in zip(x, y, strict=True)
        ]
    elif op == "reshape":
        found = [given[0][0][place] for place in extra]
    elif op in ("stack", "join"):
        axis = extra % max(1, len(shape))
        outer = count(shape[:axis])
        blocks = [len(values) // max(1, outer) for values, _ in given]
        found = [
            values[block * place + inner]
            for place in range(outer)
            for (values, _), block in zip(given, blocks, strict=True)
            for inner in range(block)
        ]
    elif op in ("sum_axis", "max_axis", "min_axis"):
        function = {"sum_axis": math.fsum, "max_axis": max, "min_axis": min}[op]
        found = [both_ends(function, values) for values in along(*given[0], extra)]
    elif op == "cumulative":
        need(len(shape) == 1, "a running sum of an array of several axes")
        found = [both_ends(math.fsum, given[0][0][: at + 1]) for at in range(size)]
    elif op == "matmul":
        columns = [list(each) for each in zip(*extra, strict=True)] if isinstance(extra[0], list) else [extra]
        found = [
            both_ends(math.fsum, [OF_TWO["multiply"](v, (w, w)) for v, w in zip(given[0][0], each, strict=True)])
            for each in columns
        ]
    elif op == "norm":
        found = [both_ends(lambda v: euclidean(v, extra), [largest_size(v) for v in given[0][0]])]
    else:
        raise Wrong(f"the operation {op!r} is not known")
    need(len(found) == size, f"the operation {op} has another shape")
    if ("term", at) in pieces:
        low, high = pieces["term", at]
        found = [v if v[0] == v[1] else (min(max(v[0], low), min(v[1], high)), min(v[1], high)) for v in found]
    for _, bound in term["norms"]:
        found = [(max(v[0], -bound), min(v[1], bound)) for v in found]
    need(not any(math.isnan(end) for v in found for end in v), f"the operation {op} is not defined everywhere")
    return found


def flat_numbers(value):
    """Numbers of nested lists."""
    return [each for part in value for each in flat_numbers(part)] if isinstance(value, list) else [float(value)]


def covered(axis, columns, terms):
    """Wrong unless the intervals of an axis cover all that its column, or its truth value or label, may be."""
    pieces = sorted(map(tuple, axis["pieces"]))
    if "column" in axis:
        column = columns[axis["column"]]
        if column["values"] or column["kind"] == "c":
            top = range(round(column["high"]) + 1)
            points = column["values"] or [float(each) for each in top]
            need(all(any(a <= v <= b for a, b in pieces) for v in points), "cells that leave out a value of a column")
            return
        low, high, whole = column["low"], column["high"], column["kind"] == "i"
    else:
        term = terms[axis["term"]]
        need(count(term["shape"]) == 1, "an axis of an array")
        if term["op"] == "place":  # places that are in the same parts are alike
            tables = [each["extra"] for each in terms if each["op"] == "public_axis" and axis["term"] in each["args"]]
            kinds = {tuple(table[place] for table in tables) for place in range(term["extra"])}
            shown = {tuple(table[round(a)] for table in tables) for a, b in pieces if a == b}
            need(kinds == shown, "cells that leave out a place")
            return
        whole = True
        if term["op"] in ("compare", "public_axis"):
            low, high = 0, 1
        else:
            need(is_whole(terms, axis["term"]), "an axis of values that are no whole numbers")
            low, high = coarse_range(terms, axis["term"], columns)
    need(pieces[0][0] == low and pieces[-1][1] == high, "cells that do not end where the domain ends")
    for (_, end), (start, _) in pairwise(pieces):
        need(start <= (end + 1 if whole else math.nextafter(end, math.inf)), "cells with a gap between them")


def is_whole(terms, at):
    """Whether an operation has whole numbers only."""
    term = terms[at]
    if term["op"] in ("reshape", "sum_axis", "max_axis", "min_axis", "number", "add", "subtract", "multiply", "stack"):
        return all(is_whole(terms, each) for each in term["args"])
    numbers = flat_numbers(term["extra"]) if term["op"] in ("constant", "lookup") else ()
    made = ("label", "place", "floor", "ceil", "trunc", "rint", "sign", "compare", "not", "and", "or", "public_axis")
    return term["op"] in made or (bool(numbers) and all(each == int(each) for each in numbers))


def coarse_range(terms, at, columns):
    """Ends of an expression over the whole domain of a row."""
    pieces, known = {}, []
    for place, column in enumerate(columns):
        points = column["values"] or [column["low"], column["high"]]
        pieces["column", place] = (min(points), max(points))
    for place in range(at + 1):
        known.append(term_value(terms, place, known, pieces))
    return math.ceil(known[at][0][0]), math.floor(known[at][0][1])


MOST_STEPS = 4_000_000  # operations on one group of cells that are computed again


def moves_of(term, values, replaces, apart):
    """For each pair of cells the interval by which a neighbour moves each entry of a sum."""
    own = [each[term] for each in values]
    if not replaces:
        return [*own, *([(-b, -a) for a, b in each] for each in own)]
    return [
        [(0.0, 0.0)] * len(own[i])
        if (i, j) in apart
        else [(c - b, d - a) for (a, b), (c, d) in zip(own[i], own[j], strict=True)]
        for i in range(len(own))
        for j in range(len(own))
    ]


def supremum(powers):
    """The largest value of a product of powers of positive unknowns."""
    found = 1.0
    for _, low, high, power in powers:
        end = high if power > 0 else low
        need(0 <= low <= high and power == int(power), "an unknown number without a range")
        found = math.inf if (end == 0 and power < 0) or end == math.inf else found * end**power
    return found


def loss_of(event, entry, moves, replaces):
    """The loss of one release for one pair: eps, or the distance in standard deviations."""
    scale, factor = event["scale"], supremum(entry["powers"])
    if not scale:
        return 0.0
    need(all(each > 0 for each in scale), "noise without a scale")
    if moves is None:
        bounds, l1, l2, wide = [(-m, m) for m in entry["move"]], entry["l1"], entry["l2"], entry["spread"]
        need(all(m >= 0 for m in entry["move"]) and min(l1, l2, wide) >= 0, "a move below 0")
    else:
        norms = dict(map(tuple, entry["norms"]))
        times = 2 if replaces else 1
        l2 = times * min(norms.get(2, math.inf), norms.get(1, math.inf))
        l1 = times * min(norms.get(1, math.inf), norms.get(2, math.inf) * math.sqrt(max(1, len(moves))))
        bounds, wide = moves, math.inf
    scale = scale * len(bounds) if len(scale) == 1 else scale
    bounds = bounds * len(scale) if len(bounds) == 1 else bounds
    need(len(scale) == len(bounds), "scales for other entries than those that move")
    sizes = [max(abs(a), abs(b)) for a, b in bounds]
    parts, even, kind = [m / b for m, b in zip(sizes, scale, strict=True)], len({*scale}) == 1, event["kind"]
    if kind == "coin":
        low, high = entry["chance"]
        found = [m * factor if m else 0.0 for m in sizes]
        if not (0 < low <= high < 1):
            return 0.0 if not any(found) else math.inf
        move = min(max(found), high - low)
        return max(math.log1p(move / low), math.log1p(move / (1 - high)))
    if kind == "gaussian":
        found = math.sqrt(math.fsum(p * p for p in parts))
        found = min(found, l2 / scale[0]) if even else found
    elif kind == "threshold":
        found = threshold_loss(event, bounds, scale)
    else:
        need(kind in ("laplace", "discrete laplace", "choice"), f"{kind!r} is no kind of release")
        found = math.fsum(parts)
        found = min(found, l1 / scale[0]) if even else found
        if kind == "choice":
            across = min(max(b for _, b in bounds) - min(a for a, _ in bounds), wide) / min(scale)
            found = min(found, across) if even or event["law"] == "laplace" else across
    return times_bound(found, factor)


def threshold_loss(event, bounds, scale):
    """Comparisons with a noisy threshold until the first above: the least over three shifts of the threshold."""
    rows = list(zip(bounds, scale, event["queries"], strict=True))
    rise = [(max(0.0, b), s) for (_, b), s, below in rows if below]
    fall = [(max(0.0, -a), s) for (a, _), s, below in rows if not below]
    bar = abs(event["bar"])
    need(bar > 0, "a threshold without noise")
    up, down = max((m for m, _ in rise), default=0.0), max((m for m, _ in fall), default=0.0)
    stays = math.fsum(m / s for m, s in rise + fall)
    rises = up / bar + math.fsum(max(0.0, up - a) / s for (a, _), s, below in rows if not below)
    falls = down / bar + math.fsum(max(0.0, down + b) / s for (_, b), s, below in rows if below)
    return min(stays, rises, falls)


def multiple(number, powers):
    """A number times powers of unknowns, e.g. 100/n."""
    above = [name if power == 1 else f"{name}^{power}" for name, _, _, power in powers if power > 0]
    below = [name if power == -1 else f"{name}^{-power}" for name, _, _, power in powers if power < 0]
    text = "*".join(([] if number == 1 else [f"{number:.6g}"]) + above) if above else f"{number:.6g}"
    return text + "".join(f"/{each}" for each in below)


def told(event, file, replaces, entries):
    """A release as a sentence."""
    place, kind, law = f"{file}:{event['line']}", event["kind"], event["law"]
    if kind == "threshold":
        return f"{len(event['queries'])} noisy values are compared with a noisy threshold at {place}"
    one = "one row moves by at most" if replaces else "one row more or less moves by at most"
    norm = {"gaussian": " in the Euclidean norm", "choice": " against each other"}.get(kind, " in total")
    norm, moved = norm * (entries > 1), multiple(event["moved"], event["data_powers"])
    if kind == "coin":
        return f"a coin at {place}, whose chance {one} {moved}"
    if law == "softmax":
        return f"a choice with chances exp(score) at {place}, whose scores {one} {moved}{norm}"
    scale = multiple(min(event["scale"]), event["noise_powers"]) + " and more" * (len({*event["scale"]}) > 1)
    name = "normal" if kind == "gaussian" else law
    what = "decides between" if kind == "choice" else "is added to"
    several = f"{entries} values" if entries > 1 else "a value"
    return f"{name}({scale}) at {place} {what} {several} that {one} {moved}{norm}"


def path_cost(path, columns, replaces, file, left):
    """eps, rho and the square of mu of one path: for each group of releases the worst pair of its cells."""
    terms, total = path["terms"], [0.0, 0.0, 0.0]
    for group in path["groups"]:
        axes, events = group["cells"], group["events"]
        for axis in axes:
            covered(axis, columns, terms)
        cells = [dict()]
        for axis in axes:
            name = ("column", axis["column"]) if "column" in axis else ("term", axis["term"])
            cells = [{**cell, name: tuple(piece)} for cell in cells for piece in axis["pieces"]]
        used = {entry["term"] for event in events for entry in event["moves"] if "term" in entry}
        size = sum(count(terms[each]["shape"]) for each in used)
        if len(cells) * sum(count(each["shape"]) + 1 for each in terms) + len(cells) ** 2 * size > MOST_STEPS:
            left.append("the losses of a path with very many cells, taken from the file")
            losses = [[event["loss"][1]] for event in events]
            rows = [[max(each) for each in losses]]
        else:
            values, needed = [], reached(terms, used)
            for cell in cells:
                known = []
                for at in range(len(terms)):
                    known.append(term_value(terms, at, known, cell) if at in needed else None)
                values.append(known)
            public = [("term", at) for at, each in enumerate(terms) if each["op"] in ("public_axis", "place")]
            apart = {
                (i, j)
                for i, one in enumerate(cells)
                for j, other in enumerate(cells)
                if any(one.get(name) != other.get(name) for name in public)
            }
            moved = {term: moves_of(term, values, replaces, apart) for term in used}
            pairs = len(cells) ** 2 if replaces else 2 * len(cells)
            rows = [
                [
                    min(
                        loss_of(event, entry, moved[entry["term"]][pair] if "term" in entry else None, replaces)
                        for entry in event["moves"]
                    )
                    for event in events
                ]
                for pair in range(pairs)
            ]
            for event, found in zip(events, zip(*rows, strict=True), strict=True):
                same(max(found), event["loss"][1], "the loss of a release", 1e-6)
        for event in events:
            entry = event["moves"][0]
            entries = len(entry["move"]) if "move" in entry else count(terms[entry["term"]]["shape"])
            need(event["text"] == told(event, file, replaces, entries), "the sentence of a release")
        if any("move" in entry for event in events for entry in event["moves"]):
            left.append("how far values move that are no sums over rows, taken from the file")
        if any(entry.get("norms") for event in events for entry in event["moves"]):
            left.append("bounds of norms of a row's value, taken from the file")
        kinds = [event["loss"][0] for event in events]
        for event, kind in zip(events, kinds, strict=True):
            wanted = "joint" if event["joint"] or event["kind"] == "threshold" else None
            plain = event["kind"] if event["kind"] in ("gaussian", "laplace") else "pure"
            need(kind == (wanted or plain), "a release of another kind")
        quiet = all(loss == 0 for row in rows for loss in row)
        pure = max((math.fsum(row) for row in rows), default=0.0)
        sums = [[zcdp_of(kind, loss) for kind, loss in zip(kinds, row, strict=True)] for row in rows]
        rho = max(map(math.fsum, sums), default=0.0)
        total[0] += 0.0 if quiet else math.inf if "gaussian" in kinds else pure
        total[1] += rho
        only = all(kind == "gaussian" for kind in kinds)
        total[2] += 0.0 if quiet else 2 * rho if only else math.inf
    return total[0], total[1], math.sqrt(total[2])


def zcdp_of(kind, loss):
    """rho of one release: mu^2/2, of Laplace noise eps - 1 + e^-eps, of the rest eps tanh(eps/2)."""
    if kind == "laplace" and 1e-4 < loss < math.inf:
        return loss + math.expm1(-loss)
    if kind == "laplace" and loss < math.inf:
        return loss**2 / 2 - loss**3 / 6 + loss**4 / 24
    if kind == "pure":
        return loss * math.tanh(loss / 2)
    return math.inf if kind == "joint" and loss else loss * loss / 2


def reached(terms, used):
    """The operations that the used ones are made of."""
    wanted, found = list(used), set()
    while wanted:
        place = wanted.pop()
        if place not in found:
            found.add(place)
            wanted += terms[place]["args"]
    return found


def complete(paths, rows):
    """Wrong unless the outcomes of the branches of all paths are all that there are, for each number of rows."""
    numbers = {path["rows"] for path in paths}
    if numbers != {None}:
        need(numbers == {*range(int(rows[0]), int(rows[1]) + 1)}, "a number of rows is missing")
    for number in numbers:
        own = [tuple(path["outcomes"]) for path in paths if path["rows"] == number]
        beginnings = {each[:k] for each in own for k in range(len(each))}
        need(len({*own}) == len(own) and not beginnings & {*own}, "a path stands twice")
        need(all({(*b, True), (*b, False)} <= beginnings | {*own} for b in beginnings), "a path is missing")


PROOF_KEYS = {*"holds eps rho mu ended steps paths notes pair mend seconds derivation".split()}
KEYS = {
    "rules": {*"by file relation rows columns paths".split()},
    "enumeration": {*"by relation rows datasets pairs eps eps_at_delta".split()},
    "column": {*"name kind low high values".split()},
    "path": {*"rows outcomes terms groups eps rho mu".split()},
    "term": {*"op args shape extra norms".split()},
    "event": {
        *"kind law line scale noise_powers joint queries bar moves loss moved data_powers text".split(),
    },
}


def keys(value, wanted, what):
    """Wrong unless a part of a derivation has these keys and no others."""
    need(value.keys() == wanted, f"keys of {what} that are not known, or missing: {sorted(value.keys() ^ wanted)}")


def shaped(derived):
    """Wrong unless a derivation has the keys that it should have."""
    need(derived["by"] in ("rules", "enumeration"), "a derivation of another kind")
    keys(derived, KEYS[derived["by"]], "a derivation")
    for column in derived.get("columns", ()):
        keys(column, KEYS["column"], "a column")
        need(column["kind"] in tuple("fibc"), "a column of another kind")
    for path in derived.get("paths", ()):
        keys(path, KEYS["path"], "a path")
        for term in path["terms"]:
            keys(term, KEYS["term"], "an operation")
        for group in path["groups"]:
            keys(group, {"cells", "events"}, "a group")
            for axis in group["cells"]:
                need(axis.keys() in ({"column", "pieces"}, {"term", "pieces"}), "an axis with other keys")
            for event in group["events"]:
                keys(event, KEYS["event"], "a release")
                for entry in event["moves"]:
                    own = {"term", "norms"} if "term" in entry else {"move", "l1", "l2", "spread"}
                    chance = {"chance"} if event["kind"] == "coin" else set()
                    keys(entry, {*own, *chance, "powers"}, "a move")


def proof(document, relation, found, left):
    """What is proved under one relation."""
    derived = found["derivation"]
    keys(found, PROOF_KEYS, "a proof")
    shaped(derived)
    need(derived["relation"] == relation, "a derivation for another relation")
    need(not found["ended"], "a proof that has ended")
    need(not found["holds"] or (found["pair"] is None and not found["mend"]), "a pair or a mend where the claim holds")
    if not found["holds"] and (found["pair"] or found["mend"]):
        left.append("the pair and the mend that a proof names, taken from the file")
    if found["notes"]:
        left.append("what a proof assumes beside the schema, taken from the file")
    if derived["by"] == "enumeration":
        left.append("the enumerated laws of all datasets (--rerun), taken from the file")
        need(derived["eps"] == found["eps"], "eps is not that of the enumeration")
        same(zcdp_of("pure", found["eps"]), found["rho"], "rho of the enumeration")
        told = f"all {derived['pairs']} pairs of neighbours of {derived['datasets']} datasets"
        need(found["steps"] == [f"{told}: the laws of all draws are enumerated"], "the steps are not those derived")
    elif not derived["paths"]:
        need(found["paths"] >= 1, "a proof without a path")
        left.append("a proof with more paths than are listed (--rerun), taken from the file")
    else:
        costs = [
            path_cost(path, derived["columns"], relation == "replace-one", derived["file"], left)
            for path in derived["paths"]
        ]
        complete(derived["paths"], derived["rows"])
        need(len(costs) == found["paths"], "the number of paths")
        for path, cost in zip(derived["paths"], costs, strict=True):
            for name, number in zip(("eps", "rho", "mu"), cost, strict=True):
                same(number, path[name], f"{name} of a path", 1e-6)
        eps, rho, mu = (max(each) for each in zip(*costs, strict=True))
        for name, number in (("eps", eps), ("rho", min(rho, zcdp_of("pure", eps))), ("mu", mu)):
            same(number, found[name], name, 1e-6)
        worst = max(derived["paths"], key=lambda path: (path["eps"], path["rho"]))
        steps = [event["text"] for group in worst["groups"] for event in group["events"]]
        need(found["steps"] == steps, "the steps are not those of the path that costs most")
        left.append("that the code has these steps and no others, at these lines (--rerun)")
    notion, _, numbers = document["claim"].partition(":")
    numbers = (
        [float(Fraction(each)) for each in numbers.split(",")] if notion in ("pure", "approx", "zcdp", "gdp") else []
    )
    room = 1 + 2.0**-40
    met = {
        "pure": lambda: found["eps"] <= numbers[0] * room,
        "zcdp": lambda: found["rho"] <= numbers[0] * room,
        "gdp": lambda: found["mu"] <= numbers[0] * room,
    }.get(notion, lambda: None)()
    if notion == "approx" and found["eps"] <= numbers[0] * room:
        met = True
    elif notion == "approx" and math.isfinite(found["mu"]):
        met = found["mu"] == 0 or profile(found["mu"], numbers[0]) <= numbers[1] * room
    decided = notion in ("pure", "zcdp") or (notion == "gdp" and math.isfinite(found["mu"]))
    if met is None or (not decided and not met and found["holds"]):
        left.append("that what is proved meets the claim, a numerical account")
        met = found["holds"]
    need(found["holds"] == met, "whether the claim is proved does not follow")


def proved_by_code(record, left):
    """Whether a record has a proof from the code, and nothing in it says otherwise."""
    if record["proof"] is None:
        return False
    found = dict(record["proof"])
    need(isinstance(found.pop("schema"), str), "a proof without its schema")
    left.append("that a proof is about the schema that it names, taken from the file")
    if found["derivation"]:
        proof(record, record["relation"], {**found, "seconds": 0.0}, left)
    else:
        need(not found["holds"], "a proof without its derivation")
    if found["holds"]:
        need(record["unit"] == "record", "a proof about rows, a claim about users")
        is_value = record["proof"]["schema"].partition(":")[0].strip() == "value"
        need(record["view"] != "local" or is_value, "a proof about datasets, a claim about one message")
    if record["verdict"] != "INVALID":
        name = {"pure": "eps", "approx": "eps", "zcdp": "rho", "gdp": "mu"}.get(record["notion"], "eps")
        lower = record["number_lower" if record["notion"] not in ("rdp", "tradeoff") else "eps_lower"]
        need(not (found["holds"] and record["verdict"] == "REFUTED"), "proved and refuted")
        need(lower <= found[name] * (1 + 1e-9), "more is shown than is proved to be possible")
    return found["holds"]


TRIED_KEYS = set(
    """schema digest command target claim relation verdict versions predicted_seconds seconds seed notes matrix pairs
    findings repro code proof again""".split()
)


def data_record(document, left):
    """What `certify --data` has found: the proof, and the word."""
    need(document.keys() == TRIED_KEYS, f"keys that are not known: {sorted(document.keys() ^ TRIED_KEYS)}")
    if document["command"] == "replay":
        left.append("what replay has found, taken from the file")
        return
    need(document["command"] == "certify", "a record of another command")
    words = "CERTIFIED", "REFUTED", "NOT_REFUTED", "INCONCLUSIVE", "INVALID"
    need(document["verdict"] in words, f"{document['verdict']!r} is no word")
    notion = document["claim"].partition(":")[0]
    need(notion in ("pure", "approx", "zcdp", "gdp", "rdp", "tradeoff"), "a claim of no notion that is known")
    need(document["target"] in shlex.split(document["again"]), "the command is about another target")
    need(document["claim"] in shlex.split(document["again"]), "the command is about another claim")
    if not document["matrix"]:
        need(not (document["pairs"] or document["findings"] or document["repro"]), "trials without their table")
    proofs = document["proof"]
    for relation, found in proofs.items():
        if found.get("derivation"):
            proof(document, relation, found, left)
        else:
            need(not found.get("holds"), "a proof without its derivation")
    asked = document["relation"].split(" and ")
    proved = bool(proofs) and any(each.get("holds") for each in proofs.values())
    refuted = [name for name, each in document["code"].items() if each["refutes"]]
    if document["verdict"] == "CERTIFIED":
        need(proved and all(proofs[each]["holds"] for each in asked), "CERTIFIED is not what is proved")
        need(not refuted and not any(each["refuted"] for each in document["matrix"]), "proved and refuted")
        if not document["matrix"]:
            rows = {tuple(proofs[each]["derivation"]["rows"]) for each in asked}
            fewest, most = next(iter(rows))
            wanted = f"for {fewest} to {most} rows", "for every value of the record"
            said = document["notes"]
            need(len(rows) == len(said) == 1 and said[0] in wanted, "the number of rows is not that of the proof")
    elif document["verdict"] == "REFUTED":
        fallen = [*refuted, *(each["relation"] for each in document["matrix"] if each["verdict"] == "REFUTED")]
        need(fallen, "REFUTED without a refutation")
    left.append("target, command, versions, seed and seconds, taken from the file")
    if document["matrix"] or document["code"]:
        left.append("trials and traces of pairs, taken from the file")


def lasting(value):
    """What a second run of the same seed has as well: all but seconds and the digest."""
    if isinstance(value, dict):
        return {k: lasting(v) for k, v in value.items() if k not in ("seconds", "predicted_seconds", "digest")}
    return [lasting(each) for each in value] if isinstance(value, list) else value


def check(document):
    """What does not follow, and what was not checked."""
    wrong, left = [], {}

    def tried(name, work, *rest):
        try:
            return work(*rest)
        except Wrong as error:
            wrong.append(f"{name}: {error}")
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            wrong.append(f"{name}: not as the schema says ({type(error).__name__}: {error})")
        return math.nan

    if document.get("schema") not in SCHEMAS:
        return [f"schema {document.get('schema')!r}: must be one of {SCHEMAS}"], {}
    if "tried" not in document["schema"] and not {"records", "promises"} <= document.keys():
        return ["records or promises are missing"], {}
    if "tried" in document["schema"]:
        text = json.dumps(lasting(document), sort_keys=True, separators=(",", ":"))
        if document.get("digest") != f"sha256:{hashlib.sha256(text.encode()).hexdigest()}":
            wrong.append("digest: not that of the contents")
        tried("record", data_record, document, left.setdefault("record", []))
        return wrong, left
    again = [{k: v for k, v in each.items() if k != "seconds"} for each in document["records"]]
    body = {**{k: v for k, v in document.items() if k != "digest"}, "records": again}
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    own = "certificate" in document["schema"]
    if (own or "digest" in document) and document.get("digest") != "sha256:" + hashlib.sha256(
        text.encode()
    ).hexdigest():
        wrong.append("digest: not that of the contents")
    level = tried("certificate", certificate, document, left) if own else tried("suite", suite, document)
    for i, record in enumerate(document["records"]):
        tried(f"record {i + 1}, {record.get('subject')}", judged, record, own, left.setdefault(f"record {i + 1}", []))
    for each in document["promises"]:
        tried(f"promise {each.get('name')}", promise, each, level if own else each["significance"])
    return wrong, left


def no_words(document):
    """What a file says beside its evidence is compared where dpverify is installed."""
    return [], ["the words of the file against its evidence (`dpverify check`)"]


def once(pairs):
    """An object of JSON, each of whose names stands there once: readers would not agree which one counts."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def main(arguments: list[str], words=no_words) -> int:  # type: ignore[no-untyped-def]
    """Checks one file, says what it found, and gives the exit code.

    `words(document)` lists what the file says otherwise than its evidence, and what was compared with nothing.
    """
    try:
        with open(arguments[0], encoding="utf-8") as file:
            document = json.load(file, parse_constant=lambda text: math.nan, object_pairs_hook=once)
        wrong, left = check(document)
        others, lines = words(document)
    except (IndexError, OSError, ValueError, AttributeError, TypeError, KeyError) as error:
        print(f"check: no certificate could be read ({type(error).__name__}: {error})", file=sys.stderr)
        return 2
    wrong += [f"words: {line}" for line in others]
    for line in wrong:
        print(f"REJECTED {line}")
    for line in [*sorted({line for own in left.values() for line in own}), *lines]:
        print(f"NOT CHECKED {line}")
    print(
        "REJECTED"
        if wrong
        else f"ACCEPTED: all that was checked follows, in {len(document.get('records', [0]))} records"
    )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
