# every command and option of the help is in every script
for shell in bash zsh fish; do
  "$ckpt" completion $shell > $shell || exit 9
  "$ckpt" --help | sed -n '/^Subcommands/,$s/^  \([a-z][a-z]*\)   .*/\1/p' > verbs
  for verb in $(cat verbs); do
    grep -q "$verb" $shell || echo "$shell lacks $verb"
    for option in $("$ckpt" help "$verb" | sed -n '/^Options/,$s/^  [^ ]*--\([a-z0-9-]*\).*/\1/p'); do
      case $shell in
        bash) grep -q -e "  $verb) words=.*--$option[ ']" bash ;;
        zsh) awk "/^    $verb\)/,/;;/" zsh | grep -q -e "--$option\[" ;;
        fish) grep -q "from $verb;.* -l $option " fish ;;
      esac || echo "$shell lacks $verb --$option"
    done
  done
done
[ "$(wc -l < verbs)" -ge 9 ] && echo looked at every command
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
for step in $("$ckpt" list steps --json | sed -n 's/.*"schema":1,"name":"\([a-z0-9-]*\)".*/\1/p'); do
  grep -q "^    $step) keys='" bash || echo "bash lacks step $step"
  grep -q "^    $step) keys=(" zsh || echo "zsh lacks step $step"
  grep -q "^    case '$step:\*'" fish || echo "fish lacks step $step"
done
grep -c "__ckpt_step)'" fish
grep -c ":step:_ckpt_step'" zsh
for shell in zsh fish; do ! command -v $shell >/dev/null || $shell -n ./$shell || echo "$shell does not parse"; done
"$ckpt" completion tcsh 2>&1; echo $?
