"""Cases as those of cases.py: vocabularies and ranges with all their options, pictures, and spectrograms."""
import numpy as np

import reference as ref
from cases import data, one
from keras_files import Ref


def hot(places, count):
    return (places[..., None] == np.arange(count)).astype("float64")


def lookups(version):
    x = np.array([[12, 36, 7], [1138, 12, 42]], "int64")
    places = np.array([[1, 2, 0], [3, 1, 4]])  # 7 is none of the vocabulary
    config = {"vocabulary": [12, 36, 1138, 42], "num_oov_indices": 1, "mask_token": None, "oov_token": -1, "output_mode": "int"}
    for mode, reduce in (("one_hot", lambda y: y), ("multi_hot", lambda y: y.max(1)), ("count", lambda y: y.sum(1))):
        y = hot(np.where(x == 36, -1, np.array([[1, 0, 0], [2, 1, 3]])), 4)
        yield one(f"IntegerLookup_masked_{mode}", "IntegerLookup",
                  dict(config, vocabulary=[12, 1138, 42], mask_token=36, output_mode=mode), [x], [reduce(y)])
    yield one("IntegerLookup_padded", "IntegerLookup",
              dict(config, output_mode="count", pad_to_max_tokens=True, max_tokens=7), [x], [hot(places, 7).sum(1)])
    weights = [0.5, 2.0, 1.5, 3.0]
    yield one("IntegerLookup_tf_idf", "IntegerLookup", dict(config, output_mode="tf_idf", idf_weights=weights), [x],
              [hot(places, 5).sum(1) * np.array([1.75] + weights)])
    yield one("IntegerLookup_tf_idf_padded", "IntegerLookup",
              dict(config, vocabulary=[-1, 12, 36, 1138, 42], output_mode="tf_idf", idf_weights=[9.0] + weights,
                   pad_to_max_tokens=True, max_tokens=6), [x], [hot(places, 6).sum(1) * np.array([9.0] + weights + [0])])
    known = np.array([[12, 36], [42, 1138]], "int64")
    yield one("IntegerLookup_none", "IntegerLookup", dict(config, num_oov_indices=0), [known], [np.array([[0, 1], [3, 2]])])
    yield one("IntegerLookup_none_masked", "IntegerLookup", dict(config, num_oov_indices=0, mask_token=7), [x],
              [np.array([[1, 2, 0], [3, 1, 4]])])
    yield one("IntegerLookup_invert_all", "IntegerLookup", dict(config, invert=True, mask_token=0),
              [np.array([[0, 1, 2], [5, 6, -3]], "int64")], [np.array([[0, -1, 12], [42, -1, -1]])])
    if version == 3:
        name, model, inputs, outputs = one("IntegerLookup_adapted", "IntegerLookup", dict(config, vocabulary=None), [x], [places])
        model.layers[-1].assets = {"vocabulary.txt": "-1\n12\n36\n1138\n42"}
        yield name, model, inputs, outputs


def ranges(version):
    x, bins = data(3, 4), [-0.5, 0.0, 0.25]
    places = np.digitize(x, bins)
    for mode, y in (("one_hot", hot(places, 4)), ("multi_hot", hot(places, 4).max(1)), ("count", hot(places, 4).sum(1))):
        yield one(f"Discretization_{mode}", "Discretization", {"bin_boundaries": bins, "output_mode": mode}, [x], [y])
    # Values -1, -0.5, 0, 0.5 stand for 1, 1, 2 and 4 elements of 8: half of them are at most 0.
    summary = np.array([[-1, -0.5, 0, 0.5], [1, 1, 2, 4]])
    for count, boundaries in ((2, [0.0]), (4, [-0.5, 0.0, 0.25])):
        y = np.digitize(x, boundaries).astype("int32" if version == 3 else "int64")
        yield one(f"Discretization_adapted{count}", "Discretization", {"bin_boundaries": None, "num_bins": count,
                                                                      "output_mode": "int"}, [x], [y], [summary])
    mean, variance = data(1, 4, 6, 1), np.abs(data(1, 4, 6, 1)) + 0.1
    x4 = data(2, 4, 6, 3)
    for invert in (False, True):
        y = x4 * np.sqrt(variance) + mean if invert else (x4 - mean) / np.sqrt(variance)
        yield one(f"Normalization_axes{int(invert)}", "Normalization", {"axis": [2, 1], "mean": None, "variance": None,
                                                                       "invert": invert}, [x4], [y], [mean[0, ..., 0],
                                                                                                  variance[0, ..., 0]])
    yield one("Normalization_one", "Normalization", {"axis": None, "mean": 0.25, "variance": 4.0}, [x4], [(x4 - 0.25) / 2])


def pictures(version):
    x = data(2, 5, 8, 3)
    for size in ((9, 5), (3, 12)):
        for mode in ("lanczos3", "lanczos5", "gaussian", "mitchellcubic"):
            yield one(f"Resizing_{mode}_{size[0]}", "Resizing", {"height": size[0], "width": size[1], "interpolation": mode}, [x],
                      [ref.resampled(x, size, mode)])
    for mode, kernel in (("bilinear", "triangle"), ("lanczos3", "lanczos3")):
        yield one(f"Resizing_antialias_{mode}", "Resizing", {"height": 2, "width": 3, "interpolation": mode, "antialias": True},
                  [x], [ref.resampled(x, (2, 3), kernel, True)])
    x4 = data(2, 4, 6, 3)
    yield one("Resizing_area", "Resizing", {"height": 2, "width": 2, "interpolation": "area"}, [x4],
              [x4.reshape(2, 2, 2, 2, 3, 3).mean((2, 4))])
    yield one("RandomCrop_same", "RandomCrop", {"height": 4, "width": 6}, [x4], [x4])
    if version == 2:
        yield one("RandomCrop", "RandomCrop", {"height": 2, "width": 2}, [x4],
                  [x4[:, :, 1:5].reshape(2, 2, 2, 2, 2, 3).mean((2, 4))])
    for low, high in ((0.0, 255.0), (-1.0, 1.0)):
        y = np.concatenate([x4, np.full((2, 4, 6, 1), 0.5)], 3)  # a channel of one value stays
        least, most = y.min((1, 2), keepdims=True), y.max((1, 2), keepdims=True)
        wide = np.where(most > least, most - least, 1)
        yield one(f"AutoContrast_{int(high)}", "AutoContrast", {"value_range": [low, high]}, [y],
                  [np.where(most > least, (y - least) / wide * (high - low) + low, y)])
    for kind in ("AugMix", "CutMix", "RandAugment", "RandomErasing", "RandomGaussianBlur", "RandomInvert", "Solarization"):
        yield one(kind, kind, {}, [x4], [x4])


def sequences():
    """Layers that hold others, or that are called in two ways."""
    x4 = data(2, 4, 6, 3)
    inner = [{"module": "keras.layers", "class_name": kind, "registered_name": None, "config": dict(config, name=kind.lower())}
             for kind, config in (("AutoContrast", {"value_range": [-1.0, 1.0]}), ("RandomZoom", {"height_factor": 0.2}),
                                  ("Rescaling", {"scale": 2.0, "offset": -1.0}))]
    least, most = x4.min((1, 2), keepdims=True), x4.max((1, 2), keepdims=True)
    yield one("Pipeline", "Pipeline", {"layers": inner}, [x4], [2 * ((x4 - least) / (most - least) * 2 - 1) - 1])
    table, back = data(7, 4), data(4, 7)
    ids, rows = np.array([[1, 6, 0], [3, 3, 2]], "int32"), data(2, 3, 4)
    for tied in (True, False):
        config = {"input_dim": 7, "output_dim": 4, "tie_weights": tied, "logit_soft_cap": None if tied else 0.5}
        y = rows @ (table.T if tied else back)
        yield one(f"ReversibleEmbedding_{tied:d}", "ReversibleEmbedding", config, [ids],
                  [table[ids]], [table] if tied else [table, back], calls=[([Ref("x0")], {})])
        yield one(f"ReversibleEmbedding_reverse{tied:d}", "ReversibleEmbedding", config, [rows],
                  [y if tied else np.tanh(y / 0.5) * 0.5], [table] if tied else [table, back],
                  calls=[([Ref("x0")], {"reverse": True})])


def local_convolutions():
    for count, x, kernel, stride in ((1, data(2, 9, 3), [3], [2]), (2, data(2, 5, 7, 3), [2, 3], [1, 2])):
        out = [(extent - k) // s + 1 for extent, k, s in zip(x.shape[1:-1], kernel, stride)]
        taps = int(np.prod(kernel))
        w, b = data(int(np.prod(out)), taps * 3, 4), data(*out, 4)
        y = np.zeros((2, *out, 4))
        for at, place in enumerate(np.ndindex(*out)):
            window = x[(slice(None), *(slice(p * s, p * s + k) for p, s, k in zip(place, stride, kernel)))]
            y[(slice(None), *place)] = window.reshape(2, -1) @ w[at]
        y = np.maximum(y + b, 0)
        config = {"filters": 4, "kernel_size": kernel, "strides": stride, "activation": "relu", "implementation": 1}
        yield one(f"LocallyConnected{count}D", f"LocallyConnected{count}D", config, [x], [y], [w, b])
        first = w.reshape(-1, taps, 3, 4).transpose(0, 2, 1, 3).reshape(w.shape)
        yield one(f"LocallyConnected{count}D_first", f"LocallyConnected{count}D", dict(config, data_format="channels_first"),
                  [np.moveaxis(x, -1, 1)], [np.moveaxis(y, -1, 1)], [first, b])


def spectrograms():
    x, frame, count = data(2, 40, 3), 8, 16
    angles = 2 * np.pi * np.arange(frame)[:, None] * np.arange(count // 2 + 1) / count
    window = data(frame)[:, None]
    real, imaginary = (window * np.cos(angles))[:, None], (-window * np.sin(angles))[:, None]
    frames = np.stack([x[:, at:at + frame] for at in range(0, 40 - frame + 1, 4)], 1)  # batch, frames, frame, channels
    complex_ = np.einsum("btic,if->btcf", frames, (real + 1j * imaginary)[:, 0])
    power = np.abs(complex_) ** 2
    twice = np.where((np.arange(count // 2 + 1) % (count // 2)) == 0, 1, 2)
    outputs = {"real": complex_.real, "imag": complex_.imag, "angle": np.angle(complex_), "psd": power * twice,
               "stft": np.concatenate([complex_.real, complex_.imag], 3),
               "magnitude": np.sqrt(np.maximum(power, 1e-7)), "log": np.log(np.maximum(np.sqrt(np.maximum(power, 1e-7)), 1e-7))}
    for mode, y in outputs.items():
        config = {"mode": mode, "frame_length": frame, "frame_step": 4, "fft_length": count, "padding": "valid"}
        weights = [real] * (mode != "imag") + [imaginary] * (mode != "real")
        yield one(f"STFTSpectrogram_{mode}", "STFTSpectrogram", config, [x], [y.reshape(*y.shape[:2], -1)], weights)
    yield one("STFTSpectrogram_image", "STFTSpectrogram", dict(config, mode="real", expand_dims=True), [x],
              [outputs["real"].transpose(0, 1, 3, 2)], [real])
    yield one("STFTSpectrogram_first", "STFTSpectrogram", dict(config, mode="real", data_format="channels_first"),
              [x.transpose(0, 2, 1)], [outputs["real"].transpose(0, 2, 3, 1).reshape(2, -1, frames.shape[1])], [real])
    x = data(2, 100)
    for name, exponent, db in (("power", 2.0, False), ("magnitude", 1.0, False), ("db", 2.0, True)):
        window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(24) / 24)
        y = np.abs(ref.spectrum(np.pad(x, ((0, 0), (16, 16)), mode="reflect"), window, 10, 32)) ** exponent
        y = np.swapaxes(y @ ref.mel_bands(6, 17, 8000, 125.0, 3800.0), 1, 2)
        if db:
            y = 10 * np.log10(np.maximum(y, 1e-10)) - 10 * np.log10(0.5)
            y = np.maximum(y, y.max() - 15)
        yield one(f"MelSpectrogram_{name}", "MelSpectrogram",
                  {"fft_length": 32, "sequence_stride": 10, "sequence_length": 24, "window": "hann", "sampling_rate": 8000,
                   "num_mel_bins": 6, "min_freq": 125.0, "max_freq": 3800.0, "power_to_db": db, "top_db": 15.0, "mag_exp": exponent,
                   "min_power": 1e-10, "ref_power": 0.5}, [x], [y])


def all_cases(version):
    yield from lookups(version)
    yield from ranges(version)
    yield from pictures(version)
    yield from sequences()
    yield from local_convolutions()
    yield from spectrograms()
