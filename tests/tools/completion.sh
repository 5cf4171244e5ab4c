# every command and option of the help is completed
PATH=$(dirname "$ckpt"):$PATH
"$ckpt" | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' > verbs
ckpt complete '' | cut -f1 > completed
for verb in $(cat verbs); do
  grep -qx "$verb" completed || echo "no command $verb"
  ckpt complete "$verb" -- | cut -f1 > completed-options
  for option in $("$ckpt" help "$verb" | grep '^  -' | cut -c1-28 | grep -oe '--[a-z][a-z0-9-]*'); do
    grep -qx -e "$option" completed-options || echo "$verb lacks $option"
  done
done
[ "$(wc -l < verbs)" -ge 9 ] && echo every command was checked
for shell in bash zsh fish; do "$ckpt" completion $shell > $shell || exit 9; done
# what bash completes
bash -n bash || exit 9
completes() {
  bash -c 'source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)) COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
           _ckpt; echo "${COMPREPLY[*]}"' - ckpt "$@"
}
completes ve
completes help pub
completes convert in/ out/ --shard
completes doctor m --for vllm-0
completes convert in/ out/ --to q4_k
completes show m --color ''
completes completion ''
completes list st
echo "files: $(completes convert in)"
echo "-- values of options"
completes convert in/ out/ --preset ''
completes convert in/ out/ --search s
completes convert in/ out/ --rounding ''
completes convert in/ out/ --to=q4_k
completes convert in/ out/ --step dequ
echo "-- options of steps; bash replaces what stands behind the last : or ="
completes convert in/ out/ --step dequantize:
completes convert in/ out/ --step dequantize:ty
completes convert in/ out/ --step dequantize:type=b
completes convert in/ out/ --step dequantize:type=bf16,
completes convert in/ out/ --step=dequantize:type=bf16,folds=
completes patch m --step export:type=nvfp4,preset=
completes convert in/ out/ --step drop:tensors=
completes convert in/ out/ --step nosuchstep:
bash -c 'source ./bash; COMP_WORDBREAKS=" " COMP_WORDS=(ckpt patch m --step cast:type=f) COMP_CWORD=4
         COMP_LINE="${COMP_WORDS[*]}"; COMP_POINT=${#COMP_LINE}; _ckpt; echo "${COMPREPLY[*]}"'
for step in $("$ckpt" list steps --json | sed -n '/"options":\[\]/d; s/.*"schema":1,"name":"\([a-z0-9-]*\)".*/\1/p'); do
  ckpt complete convert --step "$step:" | grep -q "^$step:.*=" || echo "no options of $step"
done
echo "-- words with a meaning; unfinished words, unknown words and files"
ckpt complete convert in --to=q4_k
ckpt complete patch --step dequantize:ty
ckpt complete doctor --fo
ckpt complete; ckpt complete nosuch ''; ckpt complete convert --nosuch=''; ckpt complete convert --out ''; ckpt complete help convert ''
echo "-- other shells, where they are"
if command -v fish > /dev/null; then
  fish -c 'source ./fish; complete -C "ckpt convert in --to=q4_k"; complete -C "ckpt completion "' | cut -f1 | tr '\n' ' ' > by_fish
  [ "$(cat by_fish)" = "--to=q4_k_m --to=q4_k_s bash fish zsh " ] || cat by_fish
fi
for shell in zsh fish; do ! command -v $shell >/dev/null || $shell -n ./$shell || echo "$shell does not parse"; done
"$ckpt" completion tcsh 2>&1; echo $?
