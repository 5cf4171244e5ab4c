"""Names of models and what llama.cpp's gguf package reads from them.

usage: python make_names.py > names.json       needs: gguf from llama.cpp v0.5.0 (gguf-py)
One row a line: [model id, parameters, title, full name, organization, basename, finetune, version, size label]
"""
import itertools
import json

import gguf

IDS = """
Qwen3.5-9B Qwen3.5-9B-Base Qwen3.5-35B-A3B Qwen3.5-397B-A17B Qwen3-0.6B Qwen3-30B-A3B-Instruct-2507
Qwen3-235B-A22B-Thinking-2507 Qwen2.5-7B-Instruct Qwen2.5-7B-Instruct-1M Qwen2.5-Coder-32B-Instruct Qwen2.5-VL-7B-Instruct
Qwen/Qwen3-8B Qwen/Qwen3-8B-FP8 qwen3-8b qwen3_8b qwen35-micro Qwen3.5-4B-bf16 Qwen1.5-MoE-A2.7B Qwen3-Coder-480B-A35B-Instruct
Meta-Llama-3-8B Meta-Llama-3.1-70B-Instruct meta-llama/Llama-3.2-1B Llama-3.3-70B-Instruct llama-2-7b-chat-hf Llama-2-13b-hf
Llama-3-8B-Instruct-262k Llama-3-8B-Instruct-Gradient-1048k Llama-3.1-Nemotron-70B-Instruct-HF Hermes-3-Llama-3.1-8B
DeepSeek-R1-Distill-Qwen-1.5B DeepSeek-R1-Distill-Llama-8B deepseek-llm-7b-base deepseek-coder-6.7b-instruct DeepSeek-V3-0324
Mistral-7B-v0.1 Mistral-7B-Instruct-v0.3 Mistral-Nemo-Base-2407 Mixtral-8x7B-Instruct-v0.1 Mixtral-8x22B-v0.1 Ministral-8B-Instruct-2410
Mistral-Small-24B-Instruct-2501 mistralai/Mistral-7B-v0.1 Codestral-22B-v0.1 gemma-2-9b-it gemma-3-27b-it Phi-3-mini-4k-instruct
Phi-3-medium-128k-instruct Phi-3.5-MoE-instruct phi-2 phi-4 bloom-7b1 bloom-1b7 bloomz-560m falcon-7b falcon-40b-instruct
SmolLM-135M SmolLM2-1.7B-Instruct starcoder2-3b gpt2 gpt2-xl gpt2-medium gpt2-large opt-1.3b pythia-1.4b-deduped
TinyLlama-1.1B-Chat-v1.0 tinyllama-1.1b-intermediate-step-1431k-3T OpenHermes-2.5-Mistral-7B Nous-Hermes-2-Mixtral-8x7B-DPO
dolphin-2.9-llama3-8b dolphin-2.6-mixtral-8x7b zephyr-7b-beta zephyr-7b-alpha vicuna-13b-v1.5 vicuna-7b-v1.5-16k wizardlm-13b-v1.2
Yi-34B-Chat Yi-1.5-9B-Chat-16K Yi-6B-200K internlm2-chat-7b internlm2_5-7b-chat-1m chatglm3-6b glm-4-9b-chat GLM-4.5-Air
model Model my-model my_model my-model-v1 my-model-v1.2.3 my-model-iter3 iter3-model v2 v2-model 2-model 7B 7b-model 8x7B-model
model-7B-7B model-7b-8x7B-A2B model-A3B model-a3b model-1_5b model-1_5B-chat model-1.5t model-0.5K model-500M model-12T
model-small model-mini model-medium model-large model-xl model-xxl model-small-7B model-7B-small model-xl-instruct Model-Large-Instruct-2411
model-q4_k_m model-Q8_0 model-q5_K model-iq4_xs model-f16 model-F32 model-bf16 model-fp16 model-bfp16 model-fp8 model-q4 model-q4_0_4_4
model--double--dash -leading trailing- --- a-b-c a1-b2-c3 A B-7 x-1B 3B-v1 v1-3B 1.0-model model-1.0-chat model-chat-1.0 chat-model instruct-7B
model-7B-chat-instruct-vision-lora lora-model-7B-lora model-LoRA model-Vision-11B CamelCaseModel ALLCAPS-7B lower-case-words-only
mixedCase-Words-hEre word.with.dots-7B word_with_underscores foo_bar2b-x1y it's-a-model model-3b2 model-3B-2 model-2b-4bit model-4bit-7B
checkpoint-162 checkpoint-1000-merged output outputs-2024-05-01 run-2025-11-21-final merged_model_16bit llama3-8b-ft-epoch3 exp-0042
Org/Model-7B Org-Name/some-Model-7b-v2 ./model ../model-7B .hidden/model-3B a/b/c-7B /abs-7B org/ /
Some_Name_With-7B-and-More-Things-v0.1-alpha Model-1M-context Model-7B-128k Model-70B-v2.0-16K-DPO-SFT model-7B-step100 nvidia/Llama-3_3-Nemotron-Super-49B-v1
granite-3.0-8b-instruct granite-3b-code-base-128k granite-20b-code OLMo-1.7-7B-hf OLMo-2-1124-13B stablelm-2-1_6b stablelm-zephyr-3b
aya-23-8B aya-expanse-32b c4ai-command-r-v01 c4ai-command-r-plus-08-2024 EXAONE-3.0-7.8B-Instruct jais-13b-chat Viking-7B Poro-34B-chat
MiniCPM-V-4_6 MiniCPM5-1B Falcon3-7B-Base Falcon-H1-0.5B-Base LFM2-1.2B grok-2 gpt-oss-20b gpt-oss-120b Kimi-K2-Instruct Kimi-Linear-48B-A3B-Instruct
Ünïcode-7B 模型-7B модель-7b-чат Modèle-à-7B
""".split()
IDS += ["A model in words 7B", " leading space", "", "tab\there-7B", "Mistral 7B Instruct v0.2"]
PARAMETERS = (0, 8_190_735_360, 630_000_000)

rows = []
for model_id, total in itertools.product(IDS, PARAMETERS):
    parts = gguf.Metadata.get_model_id_components(model_id, total)
    rows.append([model_id, total, gguf.Metadata.id_to_title(model_id), *parts])
print("[" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "]")
