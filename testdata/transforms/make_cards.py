"""Folders with a model card, config and generation config, and the general.* keys that llama.cpp's gguf package gives them.

usage: python make_cards.py > cards.json       needs: gguf from llama.cpp v0.5.0 (gguf-py), pyyaml
"""
import json
import pathlib
import sys
import tempfile

import gguf

# name of the folder, documents, parameters
CASES = []


def case(folder, card=None, config=None, generation=None, total=7_000_000_000):
    documents = {}
    if card is not None:
        documents["README.md"] = card
    if config is not None:
        documents["config.json"] = config if isinstance(config, str) else json.dumps(config)
    if generation is not None:
        documents["generation_config.json"] = generation if isinstance(generation, str) else json.dumps(generation)
    CASES.append((folder, documents, total))


case("Qwen3.5-9B", """---
library_name: transformers
license: apache-2.0
license_link: https://huggingface.co/Qwen/Qwen3.5-9B/blob/main/LICENSE
pipeline_tag: image-text-to-text
base_model:
- Qwen/Qwen3.5-9B-Base
---

# Qwen3.5-9B
text --- more
""", {"architectures": ["Qwen3_5ForConditionalGeneration"]}, {"temperature": 0.6, "top_k": 20, "top_p": 0.95, "min_p": 0.0, "repetition_penalty": 1.0})
case("model", "---\nlicense: other\nlicense_name: my-license\nlanguage:\n- en\n- no\n- de\ntags: [chat, 'text, generation', \"a\\tb\"]\n---\n")
case("Meta-Llama-3.1-8B-Instruct", """---
language:
- en
- de
license: llama3.1
base_model: meta-llama/Meta-Llama-3.1-8B
pipeline_tag: text-generation
tags:
- facebook
- meta
extra_gated_prompt: >-
  ### LICENSE

  Agreement: "folded"
  text

  more
extra_gated_fields:
  First Name: text
  Date of birth: date_picker
  Job title:
    type: select
    options:
      - Student
      - other: yes
  geo: ip_location
extra_gated_description: The information you provide will be collected, stored
extra_gated_button_content: Submit
---
""")
case("merge", """---
base_model:
  - mistralai/Mistral-7B-v0.1
  - "HuggingFaceH4/zephyr-7b-beta"
  - https://huggingface.co/NousResearch/Hermes-2-Pro-Mistral-7B
  - https://example.com/some/model
  - plainname-7B-v2
datasets:
  - teknium/OpenHermes-2.5
  - https://huggingface.co/datasets/abc/def
tags:
  - mergekit
  - merge
license: [mit, apache-2.0]
model-index:
- name: merge
  results:
  - task:
      type: text-generation
      name: Text Generation
    dataset:
      name: AI2 Reasoning Challenge (25-Shot)
      args:
        num_few_shot: 25
    metrics:
    - type: acc_norm
      value: 64.59
---
""")
case("thebloke", """---
inference: false
model_creator: Mistral AI
model_name: Mistral 7B Instruct v0.2
model_type: mistral
quantized_by: TheBloke
prompt_template: '<s>[INST] {prompt} [/INST]

  '
base_model: mistralai/Mistral-7B-Instruct-v0.2
---
""")
case("fields", """---
name: A Name
author: "Some \\"One\\""
version: v2.1
organization: 'It''s Org'
description: |
  Two lines
  of text
finetune: Ft
basename: Base
size_label: 3B
url: https://example.com/x
doi: 10.1/abc
uuid: 01234567-89ab
repo_url: https://github.com/a/b
---
""")
case("block-styles", """---
description: >
  folded
  text

  new paragraph
    indented
  back
author: |-
  no line end
organization: plain text over
  two lines
name: "quoted over
  two lines"
---
""")
case("comments", """---
# a comment
license: mit # behind
tags: # of a list
  # inside
  - a#b
  - c # d
  - 'e # f'

language: en
---
""")
case("nulls", "---\nlicense: null\nbase_model:\ntags:\nlanguage: ~\ndatasets: []\nauthor: ''\n---\n")
case("base-model-empty", "---\nbase_model: []\nlicense: mit\n---\n")
case("flow", """---
base_model: [Org/Some-Model-7B-v1.5, other/thing]
tags: [
  a, b,
  "c d",
]
datasets: [{name: Data, author: Me, url: "https://example.com"}]
language: [en, fr]
widget: {text: "a: b", n: [1, {x: y}]}
---
""")
case("base-model-map", """---
base_models:
  - name: Parent
    author: Parent Author
    version: v1
    organization: Parent Org
    description: what it is
    url: https://example.com/parent
    doi: 10.5/parent
    uuid: aaaa-bbbb
    repo_url: https://example.com/repo
  - Org/Other-3B
dataset_sources:
  - name: Set
    repo_url: https://example.com/set
---
""")
case("windows", "---\r\nlicense: mit\r\ntags:\r\n- a\r\n- b\r\n---\r\n# text\r\n")
case("tabs", "---\ntags:\n\t- a\n\t- b\nlicense:\tmit\n---\n")
case("no-front-matter-7B", "# Title\n\n---\nlicense: mit\n---\n")
case("open-front-matter", "---\nlicense: mit\ntags:\n- x\n")
case("empty-front-matter", "---\n---\ntext\n")
case("empty-card", "")
case("languages", "---\nlanguages: [en]\nlanguage: de\npipeline_tag: text-generation\ntags:\n- one\n---\n")
case("unicode", "---\nname: Modèle 模型\ntags: [\"\\u00e9t\\u00e9\", 日本語]\nauthor: Ünal\n---\n")
case("path", None, {"_name_or_path": "meta-llama/Llama-2-7b-hf"})
case("path-2-13B", None, {"_name_or_path": "/home/me/models/x"})
case("empty-path-7B", None, {"_name_or_path": ""})
case("words-path", None, {"_name_or_path": "A Model In Words"})
case("Llama-3-8B-Instruct-262k", None, {})
case("Yi-6B-200K", None, None, None, 6_061_035_520)
case("sampling", None, {}, {"sequence": "abc", "top_k": 50, "top_p": 1, "min_p": 0.05, "xtc_probability": 0.1, "xtc_threshold": 0.2, "temperature": 1.5,
                            "penalty_last_n": 64, "penalty_repeat": 1.1, "repetition_penalty": 1.2, "mirostat": 2, "mirostat_tau": 5, "mirostat_eta": 0.1})
case("sampling-nulls", None, {}, {"top_k": None, "temperature": None, "repetition_penalty": 1.05})
case("sampling-broken", None, {}, "{not json")
case("quotes", """---
license: "apache-2.0"
'tags': ['it''s', "say \\"x\\"", plain]
"author": me
description: 'a: b # c'
---
""")
case("lists-in-lists", """---
widget:
- - a
  - b
- c
base_model:
-   Org/Indented-7B
-
  Org/Below-3B
license: mit
---
""")
case("colons", """---
description: see https://example.com/a:b and 12:30:00x
author: a:b
organization: "x: y"
tags:
- dataset:abc/def
- license:mit
---
""")


def keys_of(folder, documents, total):
    with tempfile.TemporaryDirectory() as top:
        path = pathlib.Path(top) / folder
        path.mkdir()
        for name, text in documents.items():
            (path / name).write_bytes(text.encode())
        metadata = gguf.Metadata.load(None, path, None, total)
    if metadata.size_label is None and total > 0:
        metadata.size_label = gguf.size_label(total, total, 0, 0)
    writer = gguf.GGUFWriter(path=None, arch="llama")
    writer.kv_data = [{}]
    metadata.set_gguf_meta_model(writer)
    out = []
    for key, value in writer.kv_data[0].items():
        out.append([key, value.type.name, value.value])
    return out


rows = []
for folder, documents, total in CASES:
    try:
        rows.append({"folder": folder, "documents": documents, "total": total, "keys": keys_of(folder, documents, total)})
    except Exception as error:
        print(folder, "is no case:", repr(error), file=sys.stderr)
print(json.dumps(rows, ensure_ascii=False, indent=1))
