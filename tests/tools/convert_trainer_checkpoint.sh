# optimizer states, random number states and stale files next to the weights are not read or copied
cp -r "$testdata/qwen35-micro" qwen35-micro
for name in optimizer.pt scheduler.pt rng_state_0.pth training_args.bin trainer_state.json \
            model.safetensors.tmp .model.safetensors.swp events.out.tfevents.1; do echo junk > "qwen35-micro/$name"; done
mkdir qwen35-micro/global_step162 && echo junk > qwen35-micro/global_step162/mp_rank_00_model_states.pt
"$ckpt" convert qwen35-micro a.gguf --to q4_k_m
"$ckpt" convert --quiet qwen35-micro copy >/dev/null && ls copy
