"""The posterior of a tree once more, node by node in plain loops: slow, and short enough to check.

Nothing of the package is used here. Nodes are pairs (depth, number); measurements are lists of
(rate, value) by node. Every node that has no children was measured.
"""

from math import asin, cos, exp, gamma, sin, sqrt

import numpy as np

POINTS, ANGLES, WIDE, NEGLIGIBLE, STRENGTH = 24, 16, 12, 1e-7, 8


def halves(node):
    depth, number = node
    return (depth + 1, 2 * number), (depth + 1, 2 * number + 1)


def random_tree(rng, deepest, epsilon=1.0):
    """Counts that fall as they like, and measurements of some nodes at rates of all sizes."""
    counts = {(0, 0): float(rng.choice([3, 30, 1000, 50_000]))}
    found, waiting = {}, [(0, 0)]
    while waiting:
        node = waiting.pop()
        ends = node[0] == deepest or (node[0] > 0 and rng.random() < 0.3)
        times = max(int(rng.integers(0, 3)), int(ends))
        rates = epsilon * np.round(rng.uniform(0.02, 0.6, times), 3)
        noise = rng.laplace(0, 1 / rates) if times else []
        found[node] = [(e, round(counts[node] + z)) for e, z in zip(rates, noise, strict=True)]
        if not ends:
            share = rng.choice([0, 1, 0.5, rng.random(), rng.beta(0.15, 0.15)])
            left, right = halves(node)
            counts[left] = share * counts[node]
            counts[right] = counts[node] - counts[left]
            waiting += [left, right]
    return found


def least_squares(found):
    """The estimate and the deviation of each node, from the normal equations."""
    ends = [node for node in found if halves(node)[0] not in found]

    def holds(node):
        return [float(end[1] >> max(end[0] - node[0], 0) == node[1]) * (end[0] >= node[0])
                for end in ends]  # fmt: skip

    rows = [(holds(node), e, y) for node, every in found.items() for e, y in every]
    matrix, weight = np.array([row[0] for row in rows]), np.array([row[1] ** 2 / 2 for row in rows])
    covariance = np.linalg.inv(matrix.T @ (weight[:, None] * matrix))
    cells = covariance @ (matrix.T @ (weight * np.array([row[2] for row in rows])))
    sides = {node: np.array(holds(node)) for node in found}
    return {node: (h @ cells, sqrt(h @ covariance @ h)) for node, h in sides.items()}


def grids(found):
    estimates, grid = least_squares(found), {}
    for node in sorted(found):
        m, s = estimates[node]
        above = grid[node[0] - 1, node[1] >> 1][-1] if node[0] else float("inf")
        high = min(above, max(m + WIDE * s, s / 2))
        low = max(0.0, m - WIDE * s)
        u = np.arange(POINTS) / (POINTS - 1)
        grid[node] = low + u * (high - low) if 0 < low <= high else high * u**2
    return grid


def at(grid, up, node, n):
    """The likelihood at n: interpolated, and 0 outside the grid."""
    low, high = grid[node][0], grid[node][-1]
    slack = 1e-9 * (high - low)
    return np.interp(n, grid[node], up[node]) if low - slack <= n <= high + slack else 0.0


def bracket(grid, up, node, n, weights, alphas):
    """The ways in which n may fall: the left count, the part of the prior, the chance."""
    left, right = halves(node)

    def both(t):
        return at(grid, up, left, t) * at(grid, up, right, n - t)

    if n == 0:
        return [(0.0, part, w * both(0.0)) for part, w in enumerate(weights)]
    terms = [(t, 0, weights[0] / 2 * both(t)) for t in (0.0, n)]
    terms.append((n / 2, 1, weights[1] * both(n / 2)))
    low = max(grid[left][0], n - grid[right][-1], 0.0)
    high = min(grid[left][-1], n - grid[right][0], n)
    if low < high:
        first, last = asin(sqrt(low / n)), asin(sqrt(high / n))
        step = (last - first) / ANGLES
        for j in range(ANGLES):
            angle = first + (j + 0.5) * step
            t, product = n * sin(angle) ** 2, sin(angle) * cos(angle)
            for part, a in enumerate(alphas, 2):
                density = 2 * gamma(2 * a) / gamma(a) ** 2 * product ** (2 * a - 1)
                terms.append((t, part, weights[part] * both(t) * density * step))
    return terms


def upwards(found, grid, weights, alphas):
    up = {}
    for node in sorted(found, reverse=True):
        own = [-sum(e * abs(y - n) for e, y in found[node]) for n in grid[node]]
        own = np.array([exp(value - max(own)) for value in own])
        up[node] = own
        if halves(node)[0] in found:
            ways = (bracket(grid, up, node, n, weights[node[0]], alphas) for n in grid[node])
            more = own * [sum(chance for _, _, chance in terms) for terms in ways]
            up[node] = more / more.max() if more.max() > 0 else own
    return up


def add(belief, grid, n, mass):
    """Split a mass between the neighbouring points, so that the mean is kept."""
    k = min(max(int(np.searchsorted(grid, n, side="right")) - 1, 0), POINTS - 2)
    part = min(max((n - grid[k]) / (grid[k + 1] - grid[k]), 0.0), 1.0)
    belief[k] += mass * (1 - part)
    belief[k + 1] += mass * part


def downwards(found, grid, up, weights, alphas):
    """The means, and how often each part of the prior was found by depth."""
    belief = {node: np.zeros(POINTS) for node in found}
    steps = np.diff(grid[0, 0])
    belief[0, 0] = up[0, 0] * (np.append(steps, 0) + np.append(0, steps)) / 2
    ways, means = np.zeros_like(weights), {}
    for node in sorted(found):
        belief[node] /= belief[node].sum()
        means[node] = belief[node] @ grid[node]
        if halves(node)[0] not in found:
            continue
        left, right = halves(node)
        for n, b in zip(grid[node], belief[node], strict=True):
            terms = bracket(grid, up, node, n, weights[node[0]], alphas) if b > NEGLIGIBLE else []
            total = sum(chance for _, _, chance in terms)
            for t, part, chance in terms if total > 0 else []:
                add(belief[left], grid[left], t, b * chance / total)
                add(belief[right], grid[right], n - t, b * chance / total)
                ways[node[0], part] += b * chance / total
    return means, ways


def read_plainly(found, start, alphas, rounds):
    """Posterior means by node."""
    grid = grids(found)
    weights = np.tile(start, (max(depth for depth, _ in found) + 1, 1))
    for turn in range(rounds + 1):
        means, ways = downwards(found, grid, upwards(found, grid, weights, alphas), weights, alphas)
        if turn < rounds:
            weights = (ways + STRENGTH * start) / (ways.sum(axis=1, keepdims=True) + STRENGTH)
    return means
