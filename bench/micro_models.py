#!/usr/bin/env python3
"""Small models that have learned something, of families that bench/sensitivity.py cannot run, and their KL divergence.

  micro_models.py train TOKENIZER TEXT OUT FAMILY...   granite, llama, olmo2, qwen3; TOKENIZER: a folder with a byte-level BPE
  micro_models.py kl SOURCE TEXT FOLDER...             KL of the next token of each FOLDER from SOURCE, 10,240 tokens
  micro_models.py roles SOURCE TEXT OUT.csv            KL for a relative error of 1, tensor by tensor, on 2,560 tokens:
                                                       what `ckpt convert --target-bits 5 --sensitivity OUT.csv` reads

The first 90 % of TEXT are learned from; OUT/held-out.txt gets the rest, to measure on. 2.5 million weights a model; 1,000 steps of 1,024
tokens take seven minutes of one core. FOLDER has float weights: `ckpt convert x.gguf folder/ --to f32 --base SOURCE`.
Needs torch and transformers 5.
"""
import glob
import sys

import safetensors.torch
import torch
import transformers

SHAPE = dict(hidden_size=256, intermediate_size=512, num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
             max_position_embeddings=2048, bos_token_id=0, eos_token_id=0, pad_token_id=0, tie_word_embeddings=False)
FAMILIES = {
    "granite": dict(embedding_multiplier=12.0, residual_multiplier=0.4, logits_scaling=4.0, attention_multiplier=0.125,
                    tie_word_embeddings=True),
    "llama": {}, "olmo2": {}, "qwen3": dict(head_dim=64),
}
STEPS, BATCH, RATE, CHUNK, CHUNKS = 1000, 4, 2e-3, 256, 40
NOISE = 0.005  # energy of the noise over that of the tensor


def token_ids(tokenizer, text):
    return tokenizer(text, return_tensors="pt", verbose=False).input_ids[0]


def train(model, ids):
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=STEPS)
    for step in range(STEPS):
        starts = torch.randint(0, len(ids) - CHUNK, (BATCH,))
        batch = torch.stack([ids[start:start + CHUNK] for start in starts])
        loss = model(batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(f"  step {step + 1}: loss {loss.item():.3f}", flush=True)


def train_all(folder, path, out, *families):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read()
    cut = len(text) * 9 // 10
    ids = token_ids(tokenizer, text[:cut])
    for family in families:
        print(family, flush=True)
        torch.manual_seed(1)
        config = transformers.AutoConfig.for_model(family, **{**SHAPE, "vocab_size": len(tokenizer), **FAMILIES[family]})
        model = transformers.AutoModelForCausalLM.from_config(config)
        train(model, ids)
        model.to(torch.bfloat16).save_pretrained(f"{out}/{family}")
        tokenizer.save_pretrained(f"{out}/{family}")
    with open(f"{out}/held-out.txt", "w", encoding="utf-8") as file:
        file.write(text[cut:])


@torch.no_grad()
def log_probabilities(model, chunks):
    return torch.cat([torch.log_softmax(model(chunk[None]).logits, -1) for chunk in chunks])


def divergence(model, chunks, expected):
    found = log_probabilities(model, chunks)
    return (expected.exp() * (expected - found)).sum(-1).mean().item()


def open_model(source, path, count):
    with open(path, encoding="utf-8") as file:
        ids = token_ids(transformers.AutoTokenizer.from_pretrained(source), file.read())
    chunks = ids[:min(count, len(ids) // CHUNK) * CHUNK].reshape(-1, CHUNK)
    model = transformers.AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32).eval()
    return model, chunks, log_probabilities(model, chunks)


@torch.no_grad()
def roles(source, path, out):
    model, chunks, expected = open_model(source, path, CHUNKS // 4)
    torch.manual_seed(1)
    with open(out, "w", encoding="utf-8") as file:
        file.write("name,kl\n")
        for name, weight in model.named_parameters():
            if weight.ndim == 2:
                kept = weight.clone()
                weight += torch.randn_like(weight) * (NOISE * (weight * weight).mean()).sqrt()
                file.write(f"{name},{divergence(model, chunks, expected) / NOISE:.5f}\n")
                weight.copy_(kept)


def divergences(source, path, *folders):
    model, chunks, expected = open_model(source, path, CHUNKS)
    for folder in folders:
        weights = {}
        for file in glob.glob(folder + "/*.safetensors"):
            weights.update(safetensors.torch.load_file(file))
        wrong = model.load_state_dict({name: weight.float() for name, weight in weights.items()}, strict=False)
        if wrong.unexpected_keys or set(wrong.missing_keys) - {"lm_head.weight"}:
            sys.exit(f"{folder}: not the tensors of {source}: {wrong}")
        print(f"{folder:40s} KL {divergence(model, chunks, expected):.5f}", flush=True)


COMMANDS = {"train": train_all, "kl": divergences, "roles": roles}
if len(sys.argv) < 5 or sys.argv[1] not in COMMANDS or sys.argv[1] == "train" and set(sys.argv[5:]) - set(FAMILIES):
    sys.exit(__doc__)
COMMANDS[sys.argv[1]](*sys.argv[2:])
