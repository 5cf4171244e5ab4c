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
  bash -c 'source ./bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ckpt; echo "${COMPREPLY[*]}"' - ckpt "$@"
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
"$ckpt" completion tcsh 2>&1; echo $?
