#!/usr/bin/env python3
"""Coefficients of codegen/builder/Math.cpp and RelaxedMath.cpp: minimax polynomials (Lawson's reweighted least squares), each coefficient rounded to its format in
turn and the rest fitted again, so that the rounded polynomial stays near the best one. Needs python3-mpmath.

usage: minimax.py            prints every table with the error its polynomial has
"""
from mpmath import mp, mpf, mpmathify as num, exp, expm1, log, log1p, tanh, erf, erfc, sin, cos, atan, sqrt, pi, matrix, lu_solve
import struct

mp.dps = 60


def rounded(value, fmt):
    if fmt == "f64":
        return num(float(value))
    # nearest float32 of an exact value: through float64 is a double rounding, harmless here
    return num(struct.unpack("f", struct.pack("f", float(value)))[0])


def minimax(target, weight, powers, lo, hi, rounds=8):
    """Coefficients c with max |weight(x) * (target(x) - sum c_i x^powers_i)| near its minimum on [lo, hi]."""
    n = len(powers)
    xs = [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(pi * (i + num(1) / 2) / 160) for i in range(160)]
    rows = [([x ** p for p in powers], target(x), weight(x)) for x in xs]
    lawson = [num(1)] * len(xs)
    for _ in range(rounds):
        A, b = matrix(n, n), matrix(n, 1)
        for (row, t, w), l in zip(rows, lawson):
            f = w * w * l
            for i in range(n):
                b[i] += f * row[i] * t
                for j in range(n):
                    A[i, j] += f * row[i] * row[j]
        c = lu_solve(A, b)
        errors = [abs(w * (t - sum(c[j] * row[j] for j in range(n)))) for row, t, w in rows]
        largest = max(errors)
        lawson = [l * (e / largest + num("1e-3")) for l, e in zip(lawson, errors)]
        total = sum(lawson)
        lawson = [l * len(xs) / total for l in lawson]
    return c


def fit(name, fmt, target, weight, degree, lo, hi):
    lo, hi = num(lo), num(hi)
    relative, weight = weight, lambda x: max(relative(x), num("1e-7"))
    fixed = []
    for k in range(degree + 1):
        rest = lambda x: target(x) - sum(c * x ** i for i, c in enumerate(fixed))
        c = minimax(rest, weight, list(range(k, degree + 1)), lo, hi)
        fixed.append(rounded(c[0], fmt))
    xs = [lo + (hi - lo) * i / 1000 for i in range(1001)]
    worst = max(abs(weight(x) * (target(x) - sum(c * x ** i for i, c in enumerate(fixed)))) for x in xs)
    digits = 9 if fmt == "f32" else 17
    print(f"// {name}: error {mp.nstr(worst, 2)}")
    print("{" + ", ".join(mp.nstr(c, digits, strip_zeros=False) for c in fixed) + "}")


def limited(f, at_zero):
    return lambda x: at_zero if abs(x) < num("1e-18") else f(x)


half = log(2) / 2 * num("1.001")
for fmt, degree in (("f32", 4), ("f64", 9)):
    # e^r = 1 + r + r^2 P(r)
    fit(f"exp {fmt}", fmt, limited(lambda x: (expm1(x) - x) / x ** 2, num("0.5")), lambda x: x * x / exp(x), degree, -half, half)
# log(1 + f) = f - f^2/2 + f^3 P(f), relative to f
fit("log f32", "f32", limited(lambda x: (log1p(x) - x + x * x / 2) / x ** 3, num(1) / 3), lambda x: x * x, 8, sqrt(num("0.5")) - 1, sqrt(2) - 1)


def log_s(z):  # log((1 + s)/(1 - s)) = 2 s + s z P(z), z = s^2
    s = sqrt(z)
    return (log((1 + s) / (1 - s)) - 2 * s) / (s * z)


smax = (sqrt(2) - 1) / (sqrt(2) + 1)
fit("log f64", "f64", limited(log_s, num(2) / 3), lambda z: z / 2, 7, 0, smax ** 2 * num("1.001"))
# tanh(x) = x + x^3 P(x^2)
fit("tanh f32", "f32", limited(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, -num(1) / 3), lambda z: z, 5, 0, num("0.625") ** 2)
# erf(x) = x + x P(x^2) below 0.875
fit("erf near 0 f32", "f32", limited(lambda z: erf(sqrt(z)) / sqrt(z) - 1, 2 / sqrt(pi) - 1), lambda z: 1, 6, 0, num("0.875") ** 2)
# erfc(x) = erfc(0.875) 2^(t P(t)), t = x - 0.875 up to 3.125, weighted by what it does to erf; and erfc(0.875) 2^r
border = num("0.875")
fit("erf tail f32", "f32", limited(lambda t: log(erfc(t + border) / erfc(border)) / log(2) / t, -2 / sqrt(pi) * exp(-border ** 2) / erfc(border) / log(2)),
    lambda t: t * (erfc(t + border) + num("1e-3")) * log(2), 6, 0, num("3.125"))
fit("erf power f32", "f32", lambda r: erfc(border) * num(2) ** r, lambda r: 1 / (erfc(border) * num(2) ** r), 5, num("-0.5005"), num("0.5005"))
# 2^r, of whose coefficients the first is 1 and left out: tanh(x) = 1 - 2 / (2^(n + r) + 1) from 0.625 on
fit("tanh power f32", "f32", lambda r: num(2) ** r, lambda r: 1 / num(2) ** r, 6, num("-0.5005"), num("0.5005"))
# erf(x) = x P(s), s = 2 (x / 3.85)^2 - 1, for |x| limited to 3.85, where it is to be 1: absolute error
limit = num("3.85")
at = lambda s: limit * sqrt((s + 1) / 2)
fit("erf brief f32", "f32", lambda s: (erf(at(s)) if s < num("0.9999") else 1) / at(s) if s > -1 else 2 / sqrt(pi),
    lambda s: max(at(s), num("0.35")) * (1 if s < num("0.9999") else 20), 14, -1, 1)
tan8 = sqrt(2) - 1
for fmt, degree in (("f32", 4), ("f64", 11)):
    fit(f"atan {fmt}", fmt, limited(lambda z: (atan(sqrt(z)) / sqrt(z) - 1) / z, -num(1) / 3), lambda z: z, degree, 0, tan8 ** 2 * num("1.001"))
quarter = (pi / 4) ** 2 * num("1.001")
for tag, degree in (("for f32", 3), ("f64", 6)):
    fit(f"sin {tag}", "f64", limited(lambda z: (sin(sqrt(z)) / sqrt(z) - 1) / z, -num(1) / 6), lambda z: z, degree, 0, quarter)
    fit(f"cos {tag}", "f64", limited(lambda z: (cos(sqrt(z)) - 1 + z / 2) / z ** 2, num(1) / 24), lambda z: z * z, degree, 0, quarter)
# log2 and exp2 of pow f32, in f64
fit("pow exp", "f64", limited(lambda x: (expm1(x) - x) / x ** 2, num("0.5")), lambda x: x * x / exp(x), 6, -half, half)
# codegen/builder/RelaxedMath.cpp: 2^r times 2 where n is the nearest integer, 2^r where n is the integer below; tanh and erf as above
fit("relaxed exp, nearest", "f32", lambda r: 2 * num(2) ** r, lambda r: 1 / num(2) ** (r + 1), 3, num("-0.5001"), num("0.5001"))
fit("relaxed exp, below", "f32", lambda r: num(2) ** r, lambda r: 1 / num(2) ** r, 3, 0, 1)
fit("relaxed tanh", "f32", limited(lambda z: (tanh(sqrt(z)) / sqrt(z) - 1) / z, -num(1) / 3), lambda z: z, 2, 0, num("0.625") ** 2)
limit = num("2.9")
fit("relaxed erf brief", "f32", lambda s: (erf(at(s)) if s < num("0.9999") else 1) / at(s) if s > -1 else 2 / sqrt(pi),
    lambda s: max(at(s), num("0.35")) * (1 if s < num("0.9999") else 1000), 7, -1, 1)
