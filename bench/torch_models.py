#!/usr/bin/python3
"""usage: torch_models.py NAME [--dynamic-batch] | --list   Prints the path of the network as PyTorch exports it, or all names.

Exported once into build/bench/models (or LATHE_BENCH_MODELS), and again when the exporter has changed. Exit code 77 where
PyTorch is not installed (`dev/setup.sh bench` installs it).
"""
import hashlib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(os.environ.get("LATHE_BENCH_MODELS", HERE.parent / "build" / "bench" / "models"))
PYTHON = "/usr/bin/python3"  # Debian's: the one that Debian's python3-torch belongs to

# What `make bench` and `make test-all` look at: classifiers, then segmentation.
NETWORKS = """alexnet vgg16 resnet18 resnet50 resnext50_32x4d mobilenet_v2 mobilenet_v3_large efficientnet_b0 densenet121 googlenet
inception_v3 shufflenet_v2_x1_0 squeezenet1_1 mnasnet1_0 vit_b_16 swin_t convnext_tiny
fcn_resnet50 deeplabv3_mobilenet_v3_large""".split()


class NoTorch(Exception):
    pass


def require_torch():
    """Throws NoTorch with the reason."""
    found = subprocess.run([PYTHON, "-c", "import torch, torchvision"], capture_output=True, text=True)
    if found.returncode:
        raise NoTorch("PyTorch is not installed (%s): `dev/setup.sh bench` installs it" % found.stderr.strip().splitlines()[-1])


def exported(name, dynamic=False):
    """The path of the ONNX file. Throws NoTorch, or RuntimeError with the exporter's message."""
    return export(name, name + (".dyn" if dynamic else ""), "export_torch.py", ["--dynamic-batch"] if dynamic else [])


def exported_dynamic(name):
    """The path of a network of export_dynamic.py. Throws like `exported`."""
    return export(name, "dynamic." + name, "export_dynamic.py", [])


def export(name, stem, exporter, arguments):
    """Exports once, and again after a change of one of the exporters: one uses the other."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / (stem + ".onnx")
    stamp = file.with_suffix(".stamp")
    sources = [HERE / "export_torch.py"] + [HERE / exporter] * (exporter != "export_torch.py")
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    if file.exists() and stamp.exists() and stamp.read_text() == digest:
        return str(file)
    require_torch()
    part = file.with_suffix(".part%d" % os.getpid())
    result = subprocess.run([PYTHON, str(HERE / exporter), name, "-o", str(part), *arguments], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError("%s: %s" % (name, (result.stderr.strip() or "exporter failed").splitlines()[-1]))
    part.rename(file)
    stamp.write_text(digest)
    return str(file)


if __name__ == "__main__":
    if sys.argv[1:] == ["--list"]:
        print("\n".join(NETWORKS))
        sys.exit()
    try:
        print(exported(sys.argv[1], "--dynamic-batch" in sys.argv))
    except NoTorch as error:
        print("torch_models.py: %s" % error, file=sys.stderr)
        sys.exit(77)
    except RuntimeError as error:
        sys.exit("torch_models.py: %s" % error)
