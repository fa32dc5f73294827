"""Neighbouring pairs from a schema: a fixed grid of what breaks libraries, then random ones.

Each base is changed in one record: to a corner of the domain, to another class, to a class of its own, to missing, to
a copy of another record, to an extreme weight. For add-or-remove the same record is added. It is the last record, in
some pairs the first or one in the middle: code may read its data in order, or stop early. Pairs out of the domain (far
values, infinities, NaN and categories that the schema excludes) are apart: a library may refuse them.

Where a user has many rows, all of them are changed, added or removed together: 1, 2 and the most rows, in one group and
spread over all, at the end, at the start and among the others.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise
from typing import Any

import numpy as np

from dpverify.claims.neighbours import Relation
from dpverify.wild.datasets import _comparable, Candidate, Record, Records
from dpverify.wild.schema import Column, Schema

ORDINARY, FEW, MOST = 20, 5, 200  # rows of a base, within what the schema allows
FAR = 49.0  # widths of the domain beyond its ends
MISSING = 0.15  # of the cells of a column where values may be missing
IDLE = 1000  # random changes in a row that are none
NONE = "no two datasets of this schema are neighbours and differ: it needs more rows, more values or another relation"
MOST_VALUES = 8  # of a local category that are paired with the first one


def grid(schema: Schema, relation: Relation, rng: np.random.Generator) -> list[Candidate]:
    """The fixed pairs of a relation, equal ones dropped; bases and random corners from `rng`."""
    if schema.local:
        return [] if relation is Relation.ADD_OR_REMOVE_ONE else unique(_local(schema, rng))
    made = _grid if schema.unit is None else _unit_grid
    found = unique(each for each in made(schema, relation, rng) if complete(schema, each))
    crossed = [each for each in crossed_pairs(schema, relation, rng) if complete(schema, each)]
    return unique([*found[:BEFORE], *crossed, *found[BEFORE:]])


# ----------------------------------------------------------------------------------------------------------------------
# Crossed pairs: where the changed record stands, which way its columns go, how many rows there are, who is of its class
#
# A bug may need two of these at once: teachers who all see the first rows show it in small datasets, columns that are
# compared with one another where one rises and the other falls. All combinations are many; an order in which each two
# levels of two factors meet early (a pairwise covering array) is short.

BEFORE, CROSSED = 8, 28  # pairs of the grid before the crossed ones; crossed pairs at most
POSITIONS = {"first": 0.0, "middle": 0.5, "last": 1.0, **{f"{eighth}/8": eighth / 8 for eighth in (1, 2, 3, 5, 6, 7)}}
WAYS = ("all up", "all down", "up and down in turn", "down and up in turn")
OTHERS = ("ordinary", "all low", "all high", "against it")
MEMBERS = (None, 0, 1, 2, 3)  # other rows of the class of the changed record; None: as it comes
VALUES = ("all high", "all low", "spread over all values")


def _levels(schema: Schema) -> dict[str, list[Any]]:
    """The factors of a schema and their levels."""
    fewest, most = schema.rows
    sizes = [size for size in (*range(fewest, fewest + 6), ORDINARY) if max(1, fewest) <= size <= max(1, most)]
    if schema.unit is not None:
        return {
            "size": sizes or [fewest],
            "place": list(PLACES),
            "values": list(VALUES),
            "others": ["ordinary", "alike"],
        }
    factors: dict[str, list[Any]] = {
        "position": list(POSITIONS),
        "size": sizes or [fewest],
        "way": list(WAYS),
        "others": list(OTHERS),
    }
    if _classes_of(schema):
        factors["members"] = list(MEMBERS)
    if len(schema.columns) == 1:
        factors["way"], factors["others"] = list(WAYS[:2]), list(OTHERS[:3])
    return factors


def crossed_pairs(schema: Schema, relation: Relation, rng: np.random.Generator) -> list[Candidate]:
    """Pairs in which each two levels of two factors meet early; at most CROSSED of them, none of a single row."""
    if schema.rows[1] < 2:
        return []
    from allpairspy import AllPairs

    factors = _levels(schema)
    rows = [dict(zip(factors, row, strict=True)) for row in AllPairs([list(each) for each in factors.values()])]
    made = _crossed_unit if schema.unit is not None else _crossed
    found = (each for row in rows for each in made(schema, relation, row, rng))
    return list(islice(found, CROSSED))


def covered_levels(schema: Schema) -> dict[str, tuple[str, ...]]:
    """The factors of the crossed pairs and the levels that are tried, in words; empty for one local record."""
    if schema.local or schema.rows[1] < 2:
        return {}
    return {name: tuple(str(level) for level in levels) for name, levels in _levels(schema).items()}


def _classes_of(schema: Schema) -> list[int]:
    return [
        at
        for at, column in enumerate(schema.columns)
        if not (column.numeric or column.names) and len(column.values) > 1
    ]


def _crossed(schema: Schema, relation: Relation, row: dict[str, Any], rng: np.random.Generator) -> list[Candidate]:
    low, high = _all(schema, 0), _all(schema, 1)
    turned = tuple((high if at % 2 == 0 else low)[at] for at in range(len(low)))
    against = tuple((low if at % 2 == 0 else high)[at] for at in range(len(low)))
    old, new = {WAYS[0]: (low, high), WAYS[1]: (high, low), WAYS[2]: (against, turned), WAYS[3]: (turned, against)}[
        row["way"]
    ]
    size = row["size"]
    base = ordinary(schema, size, rng)
    alike = {"all low": low, "all high": high, "against it": old}.get(row["others"])
    if alike is not None:
        base = _numbered(schema, (alike,) * size)
    for at in _classes_of(schema) if row.get("members") is not None else ():
        mine, other = new[at], next(value for value in schema.columns[at].values if value != new[at])
        base = tuple(
            (*each[:at], mine if place < row["members"] else other, *each[at + 1 :]) for place, each in enumerate(base)
        )
    if relation is Relation.REPLACE_ONE and base:
        base = (
            *base[:-1],
            tuple(base[-1][at] if schema.columns[at].kind == "id" else cell for at, cell in enumerate(old)),
        )
    said = f"{len(base)} rows, {row['others']}"
    said += "" if row.get("members") is None else f", {row['members']} others of its class"
    found = _changed(schema, relation, base, row["way"], new, "in", said + ": ")
    return [each.placed(round(POSITIONS[row["position"]] * (len(each.second) - 1))) for each in found]


def _crossed_unit(schema: Schema, relation: Relation, row: dict[str, Any], rng: np.random.Generator) -> list[Candidate]:
    many, size = most_rows(schema, relation), row["size"]
    base = ordinary(schema, size, rng)
    for at in _classes_of(schema):  # others are alike, so that what one user brings is new
        base = tuple((*each[:at], schema.columns[at].values[0], *each[at + 1 :]) for each in base)
    high = _all(schema, 1)
    rows = {VALUES[0]: (high,) * many, VALUES[1]: (_all(schema, 0),) * many, VALUES[2]: _spread(schema, many, high)}[
        row["values"]
    ]
    said = f"{len(base)} rows alike: "
    return _changed_unit(schema, relation, base, row["values"], rows, said=said, place=row["place"]) if many else []


def outside(schema: Schema, relation: Relation, rng: np.random.Generator) -> list[Candidate]:
    """Pairs with one record out of the stated domain."""
    found = []
    base = ordinary(schema, _size(schema, ORDINARY), rng)
    for what, record in _far(schema, base[-1] if base else random_record(schema, rng)):
        if schema.unit is None:
            found += _changed(schema, relation, base, what, record, "out")
        else:
            found += _changed_unit(schema, relation, base, what, (record,), domain="out")
    return unique(each for each in found if complete(schema, each))


def random_pairs(schema: Schema, relation: Relation, rng: np.random.Generator) -> Iterator[Candidate]:
    """Random bases with one random change, without end; they end where a schema has hardly any neighbours."""
    number, found = 0, 0
    while number - found < IDLE:
        number += 1
        if schema.local:
            one, two = random_record(schema, rng), corner(schema, rng)
            if _differ(one, two):
                found = number
                yield Candidate(f"random pair {number}", Relation.REPLACE_ONE, (one,), (two,))
            continue
        size = int(rng.integers(schema.rows[0], schema.rows[1] + 1))
        base = ordinary(schema, size, rng)
        if schema.unit is not None:
            for each in _random_unit(schema, relation, base, rng, f"random pair {number}: "):
                found = number
                yield each
            continue
        record = corner(schema, rng) if rng.integers(2) else random_record(schema, rng)
        pairs = _changed(schema, relation, base, "a random record", record, "in", f"random pair {number}: ")
        row = size if number % 2 or not size else int(rng.integers(size))  # the last one in every other pair
        for each in pairs:
            if complete(schema, each):
                found = number
                yield each.placed(min(row, len(each.second) - 1))


def ordinary(schema: Schema, size: int, rng: np.random.Generator) -> Records:
    """Uniform draws; the first records go through all classes, so that each has a member where there is room."""
    records = [random_record(schema, rng) for _ in range(size)]
    for at, column in enumerate(schema.columns):
        if not (column.numeric or column.names):
            for row in range(min(size, len(column.values))):
                records[row] = (*records[row][:at], column.values[row], *records[row][at + 1 :])
    return _numbered(schema, tuple(records))


def random_record(schema: Schema, rng: np.random.Generator) -> Record:
    """One uniform record."""
    return tuple(random_cell(column, rng) for column in schema.columns)


def corner(schema: Schema, rng: np.random.Generator) -> Record:
    """Every cell at one of its extremes."""
    return tuple(column.extremes()[int(rng.integers(2))] for column in schema.columns)


def random_cell(column: Column, rng: np.random.Generator) -> object:
    """One uniform value of a column."""
    if column.missing and rng.random() < MISSING:
        return None
    if column.kind == "integer":
        return int(rng.integers(math.ceil(column.low), math.floor(column.high) + 1))
    if column.numeric:
        return min(max(round(float(rng.uniform(column.low, column.high)), 3), column.low), column.high)
    if column.names:
        return int(rng.integers(10**6))
    return column.values[int(rng.integers(len(column.values)))]


def _numbered(schema: Schema, records: Records) -> Records:
    """Ids are unique; users have 1, 2 and the most rows in turn."""
    if schema.unit is not None:
        at, most = schema.unit, schema.columns[schema.unit].most
        users = (user for user in range(len(records)) for _ in range((1, min(2, most), most)[user % 3]))
        records = tuple((*row[:at], user, *row[at + 1 :]) for user, row in zip(users, records, strict=False))
    ids = [at for at, column in enumerate(schema.columns) if column.kind == "id"]
    return (
        tuple(tuple(row if at in ids else cell for at, cell in enumerate(record)) for row, record in enumerate(records))
        if ids
        else records
    )


def _size(schema: Schema, wanted: int) -> int:
    return min(max(wanted, schema.rows[0]), schema.rows[1])


def _all(schema: Schema, end: int) -> Record:
    return tuple(column.extremes()[end] for column in schema.columns)


def _with(schema: Schema, record: Record, kinds: str, value: object) -> Iterator[tuple[Column, Record]]:
    """The record with each cell of this sort of column set to `value`."""
    for at, column in enumerate(schema.columns):
        if (kinds == "missing" and column.missing) or column.kind == kinds:
            yield column, (*record[:at], value if kinds == "missing" else column.number(column.high), *record[at + 1 :])


def _grid(schema: Schema, relation: Relation, rng: np.random.Generator) -> Iterator[Candidate]:
    twenty = ordinary(schema, _size(schema, ORDINARY), rng)
    five = ordinary(schema, _size(schema, FEW), rng)
    fewest = ordinary(schema, _size(schema, 1), rng)
    low, high = _all(schema, 0), _all(schema, 1)

    def changed(base: Records, what: str, record: Record, said: str) -> list[Candidate]:
        return _changed(schema, relation, base, what, record, "in", said + ": ")

    for base, said in ((twenty, f"{len(twenty)} ordinary rows"), (five, f"{len(five)} ordinary rows")):
        yield from changed(base, "all high", high, said)
        yield from changed(base, "all low", low, said)
    yield from changed(twenty, "a random corner", corner(schema, rng), f"{len(twenty)} ordinary rows")
    for end, name, other, named in ((0, "low", high, "all high"), (1, "high", low, "all low")):
        base = _mixed(schema, (_all(schema, end),) * _size(schema, FEW))
        yield from changed(base, named, other, f"{len(base)} rows, all {name}")
    yield from _cells(schema, relation, twenty) if twenty else ()
    yield from changed(fewest, "all high", high, f"{len(fewest)} rows, the fewest")
    yield from changed(fewest, "all low", low, f"{len(fewest)} rows, the fewest")
    for row in (0, len(twenty) // 2) if twenty else ():
        yield from (each.placed(row) for each in changed(twenty, "all high", high, f"{len(twenty)} ordinary rows"))
    yield from (each.placed(0) for each in changed(twenty, "all low", low, f"{len(twenty)} ordinary rows"))
    most = ordinary(schema, _size(schema, MOST), rng)
    if len(most) > len(twenty):
        for row in (0, len(most) - 1):
            yield from (each.placed(row) for each in changed(most, "all high", high, f"{len(most)} ordinary rows"))
    if schema.rows[0] <= 1 <= schema.rows[1]:
        yield from changed((low,), "all high", high, "one row, all low")
    if schema.rows[0] == 0 and relation is Relation.ADD_OR_REMOVE_ONE:
        yield from changed((), "all high", high, "no rows")
        yield from changed((), "all low", low, "no rows")


def _cells(schema: Schema, relation: Relation, twenty: Records) -> Iterator[Candidate]:
    """A copy of another record, an extreme weight, a missing value, another class."""

    def changed(base: Records, what: str, record: Record, said: str) -> list[Candidate]:
        return _changed(schema, relation, base, what, record, "in", said + ": ")

    last = twenty[-1]
    yield from changed(twenty, "a copy of another", twenty[0], f"{len(twenty)} ordinary rows")
    for column, record in _with(schema, last, "weight", None):
        yield from changed(twenty, f"{column.name} = {column.high:g}", record, f"{len(twenty)} ordinary rows")
    for column, record in _with(schema, last, "missing", None):
        yield from changed(twenty, f"{column.name} missing", record, f"{len(twenty)} ordinary rows")
        whole = _complete(schema, twenty)  # the first missing value of all is another matter than one more
        gone = tuple(None if each is column else cell for each, cell in zip(schema.columns, whole[-1], strict=True))
        yield from changed(whole, f"{column.name} missing", gone, "nothing missing")
        bare = _mostly_missing(schema, twenty, column)
        if len(bare) > 1:
            yield from changed(bare, f"{column.name} missing", bare[0], f"{column.name} mostly missing")
    yield from _classes(schema, relation, twenty)


def _classes(schema: Schema, relation: Relation, base: Records) -> Iterator[Candidate]:
    """Another class with the same features; a class with a single member."""
    for at, column in enumerate(schema.columns):
        if column.numeric or column.names or len(column.values) < 2:
            continue
        record = base[-1]
        others = [value for value in column.values if value != record[at]]
        moved = (*record[:at], others[0], *record[at + 1 :])
        said = f"{len(base)} ordinary rows: "
        yield from _changed(schema, relation, base, f"{column.name} = {others[0]!r}", moved, "in", said)
        common = column.values[0]
        alone = tuple((*each[:at], common, *each[at + 1 :]) for each in base)
        single = (*record[:at], column.values[-1], *record[at + 1 :])
        own = f"{column.name} = {column.values[-1]!r}, a class of its own"
        yield from _changed(schema, relation, alone, own, single, "in", f"{column.name} = {common!r} everywhere: ")


def _mixed(schema: Schema, base: Records) -> Records:
    """Classes in turn: equal numbers need no equal classes."""
    found = []
    for row, record in enumerate(base):
        found.append(
            tuple(
                cell if column.numeric or column.names else column.values[row % len(column.values)]
                for column, cell in zip(schema.columns, record, strict=True)
            )
        )
    return _numbered(schema, tuple(found))


def _complete(schema: Schema, base: Records) -> Records:
    """No value is missing: extremes stand for those that are."""
    return tuple(
        tuple(
            column.extremes()[row % 2] if cell is None else cell
            for column, cell in zip(schema.columns, record, strict=True)
        )
        for row, record in enumerate(base)
    )


def _mostly_missing(schema: Schema, base: Records, column: Column) -> Records:
    """Two values are left: the last record's, which is changed, and one before it."""
    at = schema.columns.index(column)
    there = [column.extremes()[row % 2] if each[at] is None else each[at] for row, each in enumerate(base)]
    return tuple(
        (*each[:at], None if row < len(base) - 2 else there[row], *each[at + 1 :]) for row, each in enumerate(base)
    )


def _changed(
    schema: Schema, relation: Relation, base: Records, what: str, record: Record, domain: str, said: str = ""
) -> list[Candidate]:
    """The last record replaced, or the record added; none where they are equal or there is no room."""
    record = tuple(10**6 if column.kind == "id" else cell for column, cell in zip(schema.columns, record, strict=True))
    if relation is Relation.REPLACE_ONE:
        if not base or not _differ(base[-1], record):
            return []
        return [Candidate(f"{said}the last becomes {what}", relation, base, (*base[:-1], record), domain)]
    most = max(1, schema.rows[1])  # the neighbours of no rows have one
    if len(base) >= most:
        base = base[: most - 1]
    if len(base) < schema.rows[0]:
        return []
    return [Candidate(f"{said}added: {what}", relation, base, (*base, record), domain)]


# ----------------------------------------------------------------------------------------------------------------------
# All rows of one user.


USER = 10**6  # the one who is changed
PLACES = ("at the end", "at the start", "among the others")


def most_rows(schema: Schema, relation: Relation) -> int:
    """The most rows of a user for which there is room."""
    assert schema.unit is not None
    room = schema.rows[1] - (schema.rows[0] if relation is Relation.ADD_OR_REMOVE_ONE else 0)
    return min(schema.columns[schema.unit].most, max(room, int(schema.rows[1] == 0)))


def _unit_grid(schema: Schema, relation: Relation, rng: np.random.Generator) -> Iterator[Candidate]:
    low, high, many = _all(schema, 0), _all(schema, 1), most_rows(schema, relation)
    counts = sorted({min(1, many), min(2, many), many} - {0}, reverse=True)
    bases = [ordinary(schema, _size(schema, size), rng) for size in (ORDINARY, FEW)]

    def changed(base: Records, what: str, rows: Records, place: str = PLACES[0]) -> list[Candidate]:
        return _changed_unit(schema, relation, base, what, rows, said=f"{len(base)} ordinary rows: ", place=place)

    for base in bases:
        for count in counts:
            yield from changed(base, "all high", (high,) * count)
            yield from changed(base, "all low", (low,) * count)
            yield from changed(base, "spread over all values", _spread(schema, count, high))
    for base in bases[:1] if many else ():
        for place in PLACES[1:]:
            yield from changed(base, "all high", (high,) * many, place=place)
        for column, record in _with(schema, low, "missing", None):
            yield from changed(base, f"{column.name} missing", (record,) * many)
        for at, column in enumerate(schema.columns):
            if not (column.numeric or column.names) and len(column.values) > 1:
                alone = tuple((*row[:at], column.values[0], *row[at + 1 :]) for row in base)
                yield from changed(alone, f"{column.name} = {column.values[-1]!r}, a class of its own", (high,) * many)
        yield from changed(ordinary(schema, _size(schema, MOST), rng), "all high", (high,) * many)
        yield from changed(ordinary(schema, _size(schema, 1), rng), "all high", (high,) * many)
        if relation is Relation.REPLACE_ONE and not schema.public_size:
            yield from _changed_unit(schema, relation, base, "all high", (high,) * many, before=1)


def _spread(schema: Schema, count: int, record: Record) -> Records:
    """Rows of one user in as many groups as there are."""
    return tuple(
        tuple(
            cell if column.numeric or column.names else column.values[row % len(column.values)]
            for column, cell in zip(schema.columns, record, strict=True)
        )
        for row in range(count)
    )


def _random_unit(
    schema: Schema, relation: Relation, base: Records, rng: np.random.Generator, said: str
) -> list[Candidate]:
    many = most_rows(schema, relation)
    count = many if rng.integers(2) else int(rng.integers(1, many + 1)) if many else 0
    make = corner if rng.integers(2) else random_record
    rows = tuple(make(schema, rng) for _ in range(count))
    place = PLACES[int(rng.integers(3))]
    found = _changed_unit(schema, relation, base, "random rows", rows, place=place, said=said)
    return [each for each in found if complete(schema, each)]


def _changed_unit(
    schema: Schema,
    relation: Relation,
    base: Records,
    what: str,
    rows: Records,
    *,
    domain: str = "in",
    said: str = "",
    place: str = PLACES[0],
    before: int | None = None,
) -> list[Candidate]:
    """A user with these rows is added, or takes the place of one with `before` rows (default: as many)."""
    count, (fewest, most) = len(rows), schema.rows
    adds = relation is Relation.ADD_OR_REMOVE_ONE
    before = 0 if adds else count if before is None else before
    kept = len(base) if adds else len(base) - before
    others = base[: max(0, min(kept, max(most, int(adds)) - count))]
    if not count or len(others) + before < fewest or len(base) < before or (before and len(others) + count < fewest):
        return []
    own = _of_user(schema, base[len(base) - before :]), _of_user(schema, rows)
    first, second = (_placed(others, each, place) for each in own)
    if len(first) == len(second) and not any(map(_differ, first, second)):
        return []
    where = "" if place == PLACES[0] else f", {place}"
    does = f"added: a user of {count} rows" if adds else f"a user of {before} rows becomes one of {count}"
    return [Candidate(f"{said}{does}, {what}{where}", relation, first, second, domain, schema.unit)]


def _of_user(schema: Schema, rows: Records) -> Records:
    """The rows of the user who is changed."""
    return tuple(
        tuple(
            USER if column.kind == "unit" else USER + row if column.kind == "id" else cell
            for column, cell in zip(schema.columns, record, strict=True)
        )
        for row, record in enumerate(rows)
    )


def _placed(others: Records, rows: Records, place: str) -> Records:
    if place == PLACES[1]:
        return (*rows, *others)
    if place == PLACES[0]:
        return (*others, *rows)
    step = len(others) // (len(rows) + 1)
    cuts = [step * (at + 1) for at in range(len(rows))]
    found: list[Record] = list(others)
    for cut, row in zip(reversed(cuts), reversed(rows), strict=True):
        found.insert(cut, row)
    return tuple(found)


def _differ(one: Record, other: Record) -> bool:
    return tuple(map(_comparable, one)) != tuple(map(_comparable, other))


def _far(schema: Schema, record: Record) -> Iterator[tuple[str, Record]]:
    for at, column in enumerate(schema.columns):
        values: list[object] = []
        if column.numeric:
            width = FAR * (column.high - column.low or max(1.0, abs(column.high)))
            values = [column.number(column.low - width), column.number(column.high + width)]
            if not column.whole:
                values += [math.inf] + ([] if column.missing else [math.nan])
        elif column.kind in ("category", "text") and not column.open:
            values = [] if (new := unseen(column)) is None else [new]
        for value in values:
            text = f"{value:g}" if isinstance(value, float) else repr(value)
            yield f"{column.name} = {text}", (*record[:at], value, *record[at + 1 :])


def unseen(column: Column) -> object:
    """A value that the schema does not list, no longer than the longest; None where there is none at hand."""
    if all(type(each) is int for each in column.values):
        return max(column.values) + 1
    if all(isinstance(each, str) for each in column.values):
        longest = max(1, *(len(each) for each in column.values))
        return next((each for each in ("unseen"[:longest], "?", "z") if each not in column.values), None)
    return None


def _local(schema: Schema, rng: np.random.Generator) -> Iterator[Candidate]:
    low, high = _all(schema, 0), _all(schema, 1)
    middle = tuple(
        column.number((column.low + column.high) / 2) if column.numeric else cell
        for column, cell in zip(schema.columns, low, strict=True)
    )
    found = [
        ("all low and all high", low, high),
        ("all low and the middle", low, middle),
        ("all high and the middle", high, middle),
    ]
    for at, column in enumerate(schema.columns):
        if not column.numeric:
            values = column.values[: MOST_VALUES + 1]
            for one, two in [*((values[0], value) for value in values[1:]), *pairwise(values[1:])]:
                ends = [(*low[:at], value, *low[at + 1 :]) for value in (one, two)]
                found.append((f"{column.name}: {one!r} and {two!r}", ends[0], ends[1]))
        else:
            found.append((f"{column.name}: low and high", low, (*low[:at], high[at], *low[at + 1 :])))
    for number in range(4):
        found.append((f"two corners, {number + 1}", corner(schema, rng), corner(schema, rng)))
    for name, one, two in found:
        if _differ(one, two):
            yield Candidate(name, Relation.REPLACE_ONE, (one,), (two,))


def complete(schema: Schema, candidate: Candidate) -> bool:
    """Whether both datasets have every value of the columns that promise so."""
    return all(
        {repr(value) for value in column.values} <= {repr(record[at]) for record in records}
        for at, column in enumerate(schema.columns)
        if column.all_present
        for records in (candidate.first, candidate.second)
    )


def unique(found: Iterable[Candidate]) -> list[Candidate]:
    """The same pairs in the same order, each once."""
    seen, kept = set(), []
    for each in found:
        key = frozenset((repr(each.first), repr(each.second)))
        if key not in seen:
            seen.add(key)
            kept.append(each)
    return kept
