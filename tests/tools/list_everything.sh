"$ckpt" list >/dev/null && "$ckpt" list types | grep -c '^q4_k_m ' && "$ckpt" list families --json | head -1
