#!/usr/bin/env python3
"""What PyTorch's exporter writes around shapes, in small networks: with static inputs no integer arithmetic is left in the plan, with a
symbolic batch none but the plan's own, and the outputs stay right.

usage: shape_arithmetic_test.py PATH/TO/lathe [NAME...]     exit code 77: PyTorch is not installed
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

try:
    import torch
    import torch.nn.functional as F
except ImportError:
    sys.exit(77)


class Network(torch.nn.Module):
    def __init__(self, forward):
        super().__init__()
        self.body = forward
        self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 64 * 64).reshape(64, 64))

    def forward(self, x):
        return self.body(self, x)


def attention_heads(net, x):  # the split and merge of heads, sizes computed
    n, c, h, w = x.size()
    t = x.flatten(2).transpose(1, 2)
    q = t.reshape(n, h * w, 4, c // 4).permute(0, 2, 1, 3)
    return (q @ q.transpose(-2, -1)).softmax(-1).matmul(q).transpose(1, 2).reshape(n, h * w, c)


def positions(net, x):  # embeddings of positions from arange
    t = x.flatten(2).transpose(1, 2)
    p = torch.arange(t.shape[1], device=t.device)
    return t + net.weight[p % 64][:, : t.shape[2]]


def mesh(net, x):
    y, z = torch.meshgrid(torch.arange(x.shape[2]), torch.arange(x.shape[3]), indexing="ij")
    return x + (y * x.shape[3] + z).to(x.dtype) / (x.shape[2] * x.shape[3])


CASES = {
    "view": lambda net, x: x.view(x.size(0), -1),
    "view_pairs": lambda net, x: x.view(x.size(0), x.size(1) // 2, 2, x.size(2), x.size(3)).sum(2),
    "flatten": lambda net, x: torch.flatten(x, 1).relu(),
    "chunk": lambda net, x: torch.cat([part.relu() for part in torch.chunk(x, 3, 1)][::-1], 1),
    "split": lambda net, x: torch.cat(x.split([x.shape[1] // 2, x.shape[1] - x.shape[1] // 2], 1)[::-1], 1),
    "interpolate_size": lambda net, x: F.interpolate(x, size=(x.shape[2] * 2, x.shape[3] + 3), mode="bilinear", align_corners=False),
    "interpolate_like": lambda net, x: F.interpolate(F.max_pool2d(x, 2), size=x.shape[-2:], mode="nearest") + x,
    "interpolate_scale": lambda net, x: F.interpolate(x, scale_factor=2.0, mode="nearest"),
    "pad_computed": lambda net, x: F.pad(x, (0, (4 - x.shape[3] % 4) % 4, 0, (4 - x.shape[2] % 4) % 4)),
    "pad_same": lambda net, x: F.max_pool2d(F.pad(x, (x.shape[3] // 8, 1, 0, 1)), 3, 2),
    "roll": lambda net, x: torch.roll(x, shifts=(1, -2), dims=(2, 3)),
    "expand": lambda net, x: x * net.weight[0, : x.shape[1]].view(1, -1, 1, 1).expand(x.size(0), -1, x.size(2), x.size(3)),
    "expand_as": lambda net, x: x.mean((2, 3), keepdim=True).expand_as(x) + x,
    "repeat": lambda net, x: x.repeat(1, 2, 1, 1).relu(),
    "index_select": lambda net, x: x.index_select(1, torch.tensor([2, 0, 3])),
    "index_slice": lambda net, x: x[:, ::2, 1:-1, : x.shape[3] // 2],
    "class_token": lambda net, x: torch.cat([net.weight[:1, : x.shape[1]].unsqueeze(0).expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], 1),
    "class_token_out": lambda net, x: x.flatten(2).transpose(1, 2)[:, 0],
    "shuffle": lambda net, x: x.view(x.size(0), 2, x.size(1) // 2, x.size(2), x.size(3)).transpose(1, 2).contiguous().view(x.size(0), -1, x.size(2), x.size(3)),
    "windows": lambda net, x: x.permute(0, 2, 3, 1).view(x.size(0), x.size(2) // 2, 2, x.size(3) // 2, 2, x.size(1)).permute(0, 1, 3, 2, 4, 5).reshape(-1, 4, x.size(1)).softmax(1),
    "zeros_like_size": lambda net, x: x + torch.zeros(x.shape[0], x.shape[1], 1, 1),
    "new_full": lambda net, x: torch.where(x > 0, x, x.new_full((x.shape[0], 1, 1, 1), -2.0)),
    "scale_by_size": lambda net, x: x / (x.shape[1] ** 0.5),
    "numel": lambda net, x: x.sum((1, 2, 3)) / float(x[0].numel()),
    "attention_heads": attention_heads, "positions": positions, "mesh": mesh,
    "adaptive_pool": lambda net, x: F.adaptive_avg_pool2d(x, (2, 2)).flatten(1),
    "stack": lambda net, x: torch.stack([x[:, i] for i in range(x.shape[1])], 2).sum(1),
    "unfold": lambda net, x: x.unfold(2, 2, 2).sum(-1),
    "group_mean": lambda net, x: x.reshape(x.shape[0], 4, -1).mean(-1).view(x.shape[0], 4, 1, 1).repeat_interleave(x.shape[1] // 4, 1) + x,
}


def main():
    lathe, names = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(CASES)
    warnings.simplefilter("ignore")
    torch.manual_seed(1)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            for dynamic in (False, True):
                path = os.path.join(folder, f"{name}{'.dyn' if dynamic else ''}.onnx")
                network = Network(CASES[name]).eval()
                axes = {"x": {0: "N"}} if dynamic else None
                torch.onnx.export(network, torch.randn(2, 12, 8, 8), path, input_names=["x"], output_names=["y"], dynamic_axes=axes,
                                  opset_version=16, do_constant_folding=False)
                for problem in problems(lathe, path, dynamic):
                    failures.append(f"{name}{' (symbolic batch)' if dynamic else ''}: {problem}")
                    print(failures[-1], flush=True)
    print(f"{len(names)} networks, {len(failures)} failures")
    sys.exit(bool(failures))


def problems(lathe, path, dynamic):
    check = subprocess.run([lathe, "check", path, "--json", "-"], capture_output=True, text=True)
    if check.returncode:
        unsupported = json.loads(check.stdout)["unsupported"] if check.stdout.startswith("{") else []
        yield "; ".join(f"{node['node']} ({node['op']}): {node['reason']}" for node in unsupported) or check.stderr.strip()
        return
    for use in json.loads(check.stdout)["references"]:
        yield f"reference call: {use['node']} ({use['op']}, {use['type']}): {use['reason']}"
    kernels = subprocess.run([lathe, "compile", path, "--emit", "kernels"], capture_output=True, text=True)
    for line in kernels.stdout.splitlines():
        if "call @" in line and "->" in line and any(t in line.split("->")[-1].split("loc(")[0] for t in ("xi64>", "<i64>", "xi32>", "xi1>", "<i1>")):
            yield f"integers are computed: {line.strip()[:200]}"
    for batch in (["1", "3"] if dynamic else [None]):
        verify = subprocess.run([lathe, "verify", path, "--seeds", "1"] + (["--batch", batch] if batch else []), capture_output=True, text=True)
        if verify.returncode:
            yield "verify: " + (verify.stderr.strip() or verify.stdout.strip())[:300]


if __name__ == "__main__":
    main()
