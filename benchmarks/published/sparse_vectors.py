"""Sparse vectors, right and wrong ones; the queries are the column sums of the data."""


def sparse_vector_one(x, rng, epsilon=1.0, threshold=1.0):
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    for query in x.sum(axis=0):
        if query + rng.laplace(scale=4 / epsilon) >= bar:
            out.append(True)
            break
        out.append(False)
    return out


def sparse_vector(x, rng, epsilon=1.0, threshold=1.0, most=2):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    count = 0
    i = 0
    while count < most and i < len(queries):
        noise = rng.laplace(scale=4 * most / epsilon)
        if queries[i] + noise >= bar:
            out.append(True)
            count += 1
        else:
            out.append(False)
        i += 1
    return out


def sparse_vector_below(x, rng, epsilon=1.0, threshold=0.5, most=1):
    out = []
    bar = threshold + rng.laplace(scale=2.0 / epsilon)
    count = 0
    for query in x.sum(axis=0):
        noise = rng.laplace(scale=4.0 * most / epsilon)
        if query + noise >= bar:
            out.append(True)
            count += 1
            if count >= most:
                break
        else:
            out.append(False)
    return out.count(False)


def sparse_vector_monotone(x, rng, epsilon=1.0, threshold=1.0, most=2):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    count = 0
    i = 0
    while count < most and i < len(queries):
        noise = rng.laplace(scale=2 * most / epsilon)
        if queries[i] + noise >= bar:
            out.append(True)
            count += 1
        else:
            out.append(False)
        i += 1
    return out


def numeric_sparse_vector_one(x, rng, epsilon=1.0, threshold=1.0):
    out = []
    bar = threshold + rng.laplace(scale=3 / epsilon)
    for query in x.sum(axis=0):
        if query + rng.laplace(scale=6 / epsilon) >= bar:
            out.append(query + rng.laplace(scale=3 / epsilon))
            break
        out.append(0)
    return out


def numeric_sparse_vector(x, rng, epsilon=1.0, threshold=1.0, most=2):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=3 / epsilon)
    count = 0
    i = 0
    while count < most and i < len(queries):
        noise = rng.laplace(scale=6 * most / epsilon)
        if queries[i] + noise >= bar:
            out.append(queries[i] + rng.laplace(scale=3 * most / epsilon))
            count += 1
        else:
            out.append(0)
        i += 1
    return out


def gap_sparse_vector(x, rng, epsilon=1.0, threshold=1.0, most=1):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    count = 0
    i = 0
    while count < most and i < len(queries):
        noisy = queries[i] + rng.laplace(scale=4 * most / epsilon)
        if noisy >= bar:
            out.append(noisy - bar)
            count += 1
        else:
            out.append(0)
        i += 1
    return out


def bad_gap_sparse_vector(x, rng, epsilon=1.0, threshold=1.0, most=1):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    count = 0
    i = 0
    while count < most and i < len(queries):
        noisy = queries[i] + rng.laplace(scale=4 * most / epsilon)
        if noisy >= bar:
            out.append(noisy)
            count += 1
        else:
            out.append(0)
        i += 1
    return out


def adaptive_sparse_vector(x, rng, epsilon=1.0, threshold=1.0, most=2, far=16.0):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    spent = epsilon / 2
    far_cost = epsilon / (4 * most)
    near_cost = epsilon / (2 * most)
    i = 0
    while i < len(queries) and spent + near_cost <= epsilon:
        gap = queries[i] + rng.laplace(scale=8 * most / epsilon) - bar
        if gap >= far:
            out.append(gap)
            spent += far_cost
        else:
            gap = queries[i] + rng.laplace(scale=4 * most / epsilon) - bar
            if gap >= 0:
                out.append(gap)
                spent += near_cost
            else:
                out.append(0)
        i += 1
    return out


def bad_adaptive_sparse_vector(x, rng, epsilon=1.0, threshold=1.0, most=1, far=16.0):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    spent = epsilon / 2
    far_cost = epsilon / (4 * most)
    near_cost = epsilon / (2 * most)
    i = 0
    while i < len(queries) and spent + near_cost <= epsilon:
        noisy = queries[i] + rng.laplace(scale=8 * most / epsilon)
        if noisy - bar >= far:
            out.append(noisy)
            spent += far_cost
        else:
            gap = queries[i] + rng.laplace(scale=4 * most / epsilon) - bar
            if gap >= 0:
                out.append(gap)
                spent += near_cost
            else:
                out.append(0)
        i += 1
    return out


def distance(found, expected):
    return sum(one != other for one, other in zip(found, expected, strict=False)) + abs(len(found) - len(expected))


def isvt1(x, rng, epsilon=1.0, threshold=1.0):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2.0 / epsilon)
    for query in queries:
        if query >= bar:
            out.append(True)
        else:
            out.append(False)
    half = len(queries) // 2
    return distance(out, [i < half for i in range(len(queries))])


def isvt2(x, rng, epsilon=1.0, threshold=1.0):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=2.0 / epsilon)
    for query in queries:
        noise = rng.laplace(scale=2.0 / epsilon)
        if query + noise >= bar:
            out.append(True)
        else:
            out.append(False)
    half = len(queries) // 2
    return distance(out, [i < half for i in range(len(queries))])


def isvt3(x, rng, epsilon=1.0, threshold=1.0, most=2):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=4.0 / epsilon)
    count = 0
    for query in queries:
        noise = rng.laplace(scale=4.0 / (3.0 * epsilon))
        if query + noise > bar:
            out.append(True)
            count += 1
            if count >= most:
                break
        else:
            out.append(False)
    half = len(queries) // 2
    return distance(out, [i < half for i in range(len(queries))])


def isvt4(x, rng, epsilon=1.0, threshold=1.0, most=1):
    out = []
    bar = threshold + rng.laplace(scale=2.0 / epsilon)
    count = 0
    for query in x.sum(axis=0):
        noise = rng.laplace(scale=2.0 * most / epsilon)
        if query + noise > bar:
            out.append(query + noise)
            count += 1
            if count >= most:
                break
        else:
            out.append(False)
    return out.count(False), out[-1]


def bad_sparse_vector_1(x, rng, epsilon=1.0, threshold=1.0):
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    for query in x.sum(axis=0):
        if query >= bar:
            out.append(True)
        else:
            out.append(False)
    return out


def bad_sparse_vector_2(x, rng, epsilon=1.0, threshold=1.0):
    out = []
    bar = threshold + rng.laplace(scale=2 / epsilon)
    for query in x.sum(axis=0):
        if query + rng.laplace(scale=2 / epsilon) >= bar:
            out.append(True)
        else:
            out.append(False)
    return out


def bad_sparse_vector_3(x, rng, epsilon=1.0, threshold=1.0, most=2):
    queries = x.sum(axis=0)
    out = []
    bar = threshold + rng.laplace(scale=4 / epsilon)
    count = 0
    i = 0
    while count < most and i < len(queries):
        noise = rng.laplace(scale=4 / (3 * epsilon))
        if queries[i] + noise >= bar:
            out.append(True)
            count += 1
        else:
            out.append(False)
        i += 1
    return out
