#!/usr/bin/env python3
"""What an error of the weights does to the next token: a forward pass of small models in NumPy, in float32.

  sensitivity.py kl SOURCE TEXT FOLDER...     KL divergence of the next token of each FOLDER from SOURCE
  sensitivity.py roles SOURCE TEXT [CHUNKS]   KL for a relative error of 1, tensor by tensor, then by role:
                                              the numbers behind plan/size_target/sensitivity.cc

SOURCE and FOLDER are Hugging Face folders of Llama, Qwen3 or Qwen3.5 (dense, untied) with float weights: a GGUF becomes one
by `ckpt convert x.gguf folder/ --to f32`. TEXT is cut into chunks of 256 tokens, of which the first 40 count.
Needs numpy and tokenizers. Made for models of a few million weights; a gigabyte of weights wants a program with a GPU.
"""
import collections
import glob
import json
import re
import sys

import numpy as np
from tokenizers import Tokenizer

CHUNK, CHUNKS = 256, 40
NOISE = 0.005  # energy of the noise over that of the tensor


def floats(raw, dtype):
    if dtype == "BF16":
        return (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
    return np.frombuffer(raw, {"F32": np.float32, "F16": np.float16}[dtype]).astype(np.float32)


def load(folder):
    out = {}
    for path in sorted(glob.glob(folder + "/*.safetensors")):
        with open(path, "rb") as file:
            content = file.read()
        start = 8 + int.from_bytes(content[:8], "little")
        for name, entry in json.loads(content[8:start]).items():
            if name != "__metadata__":
                begin, end = entry["data_offsets"]
                out[name] = floats(content[start + begin:start + end], entry["dtype"]).reshape(entry["shape"])
    return out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def silu(x):
    return x * sigmoid(x)


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


class Model:
    def __init__(self, config, weights):
        self.config, self.weights = config, weights
        self.is_qwen35 = config["model_type"].startswith("qwen3_5")

    def linear(self, x, name):
        return x @ self.weights[name].T

    def norm(self, x, name, plus=None):
        plus = (1 if self.is_qwen35 else 0) if plus is None else plus
        scale = np.sqrt((x * x).mean(-1, keepdims=True) + self.config["rms_norm_eps"])
        return x / scale * (self.weights[name] + plus)

    def rotate(self, x):
        rope = self.config["rope_parameters"]
        rotated = int(self.config["head_dim"] * rope.get("partial_rotary_factor", 1))
        inverse = rope["rope_theta"] ** -(np.arange(0, rotated, 2) / rotated)
        angles = np.tile(np.outer(np.arange(x.shape[1]), inverse), 2)[:, None]
        first, second = np.split(x[..., :rotated], 2, -1)
        turned = x[..., :rotated] * np.cos(angles) + np.concatenate([-second, first], -1) * np.sin(angles)
        return np.concatenate([turned, x[..., rotated:]], -1).astype(np.float32)

    def attention(self, x, at):
        config, (batch, length, _) = self.config, x.shape
        heads, kv_heads, width = config["num_attention_heads"], config["num_key_value_heads"], config["head_dim"]
        query, gate = self.linear(x, at + "q_proj.weight").reshape(batch, length, heads, -1), None
        if self.is_qwen35:
            query, gate = query[..., :width], query[..., width:].reshape(batch, length, -1)
        key = self.linear(x, at + "k_proj.weight").reshape(batch, length, kv_heads, width)
        value = self.linear(x, at + "v_proj.weight").reshape(batch, length, kv_heads, width)
        if at + "q_norm.weight" in self.weights:
            query, key = self.norm(query, at + "q_norm.weight"), self.norm(key, at + "k_norm.weight")
        query, key = self.rotate(query), self.rotate(key)
        key, value = (np.repeat(each, heads // kv_heads, 2).transpose(0, 2, 1, 3) for each in (key, value))
        scores = query.transpose(0, 2, 1, 3) @ key.transpose(0, 1, 3, 2) / np.sqrt(width)
        scores = np.where(np.tril(np.ones((length, length), bool)), scores, -1e30)
        out = (softmax(scores) @ value).transpose(0, 2, 1, 3).reshape(batch, length, -1).astype(np.float32)
        return self.linear(out if gate is None else out * sigmoid(gate), at + "o_proj.weight")

    def gated_delta_net(self, x, at):
        config, (batch, length, _) = self.config, x.shape
        key_heads, heads = config["linear_num_key_heads"], config["linear_num_value_heads"]
        width, value_width = config["linear_key_head_dim"], config["linear_value_head_dim"]
        mixed = self.linear(x, at + "in_proj_qkv.weight")
        taps = self.weights[at + "conv1d.weight"].reshape(mixed.shape[-1], -1)
        padded = np.pad(mixed, ((0, 0), (taps.shape[1] - 1, 0), (0, 0)))
        mixed = silu(sum(padded[:, i:i + length] * taps[:, i] for i in range(taps.shape[1])))
        query, key, value = np.split(mixed, [key_heads * width, 2 * key_heads * width], -1)
        shape = (batch, length, key_heads, width)
        query = np.repeat(unit(query.reshape(shape)), heads // key_heads, 2) / np.sqrt(width)
        key = np.repeat(unit(key.reshape(shape)), heads // key_heads, 2)
        value = value.reshape(batch, length, heads, value_width)
        beta = sigmoid(self.linear(x, at + "in_proj_b.weight"))
        step = np.logaddexp(0, self.linear(x, at + "in_proj_a.weight") + self.weights[at + "dt_bias"])
        decay = np.exp(-np.exp(self.weights[at + "A_log"]) * step)
        state = np.zeros((batch, heads, width, value_width), np.float32)
        out = np.empty((batch, length, heads, value_width), np.float32)
        for t in range(length):
            state = state * decay[:, t, :, None, None]
            found = (key[:, t, :, None] @ state)[:, :, 0]
            state = state + key[:, t, :, :, None] * ((value[:, t] - found) * beta[:, t, :, None])[:, :, None]
            out[:, t] = (query[:, t, :, None] @ state)[:, :, 0]
        gate = silu(self.linear(x, at + "in_proj_z.weight")).reshape(out.shape)
        out = self.norm(out, at + "norm.weight", plus=0) * gate
        return self.linear(out.reshape(batch, length, -1), at + "out_proj.weight")

    def logits(self, tokens):
        x = self.weights["model.embed_tokens.weight"][tokens]
        for layer in range(self.config["num_hidden_layers"]):
            at = f"model.layers.{layer}."
            inner = self.norm(x, at + "input_layernorm.weight")
            is_linear = at + "linear_attn.in_proj_qkv.weight" in self.weights
            x = x + (self.gated_delta_net(inner, at + "linear_attn.") if is_linear else self.attention(inner, at + "self_attn."))
            inner = self.norm(x, at + "post_attention_layernorm.weight")
            gated = silu(self.linear(inner, at + "mlp.gate_proj.weight")) * self.linear(inner, at + "mlp.up_proj.weight")
            x = x + self.linear(gated, at + "mlp.down_proj.weight")
        return self.linear(self.norm(x, "model.norm.weight"), "lm_head.weight")


class Bench:
    def __init__(self, source, text, chunks):
        with open(source + "/config.json") as file:
            self.config = json.load(file)
        with open(text) as file:
            tokens = Tokenizer.from_file(source + "/tokenizer.json").encode(file.read()).ids
        chunks = min(chunks, len(tokens) // CHUNK)
        self.tokens = np.array(tokens[:chunks * CHUNK]).reshape(chunks, CHUNK)
        self.weights = load(source)
        self.expected = log_softmax(Model(self.config, self.weights).logits(self.tokens))

    def divergence(self, weights):
        found = log_softmax(Model(self.config, weights).logits(self.tokens))
        return float((np.exp(self.expected) * (self.expected - found)).sum(-1).mean())


def roles(bench):
    random, by_role = np.random.default_rng(0), collections.defaultdict(list)
    for name, weight in bench.weights.items():
        if weight.ndim != 2:
            continue
        noise = random.standard_normal(weight.shape) * np.sqrt(NOISE * (weight * weight).mean())
        value = bench.divergence({**bench.weights, name: (weight + noise).astype(np.float32)}) / NOISE
        print(f"{name:52s} {value:8.3f}", flush=True)
        by_role[re.sub(r"model\.(layers\.\d+\.)?", "", name)].append(value)
    for role, values in by_role.items():
        print(f"{role:32s} mean {np.mean(values):.3f}")


def main():
    if len(sys.argv) < 4 and sys.argv[1:2] != ["roles"] or sys.argv[1] not in ("kl", "roles"):
        sys.exit(__doc__)
    what, source, text, *rest = sys.argv[1:]
    if what == "roles":
        return roles(Bench(source, text, int(rest[0]) if rest else CHUNKS))
    bench = Bench(source, text, CHUNKS)
    for folder in rest:
        print(f"{folder:40s} KL {bench.divergence(load(folder)):.5f}", flush=True)


main()
