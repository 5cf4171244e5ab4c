# States of trainers, caches and backups are published with a note that names them.
cp -r "$testdata/qwen3-micro" m
mkdir -p m/__pycache__ m/global_step100 m/wandb/run
for name in optimizer.pt scheduler.pt rng_state_0.pth trainer_state.json training_args.bin .DS_Store \
            config.json.bak __pycache__/a.cpython-311.pyc global_step100/bf16_zero_pp_rank_0_optim_states.pt \
            wandb/run/files; do head -c 1000 /dev/zero > m/$name; done
"$ckpt" publish m 2>&1 > /dev/null; echo $?
grep -c . m/SHA256SUMS
