# an OUT that is there and empty stays, a mount point perhaps: the files are put into it
model="$testdata/llama-micro"
mkdir out && stat -c %i out > inode
"$ckpt" convert "$model" out -q > /dev/null; echo "exit $?"
stat -c %i out | cmp - inode && ls -A out
"$ckpt" convert "$model" out 2>&1; echo "exit $?"
mkdir disk 'disk/lost+found' && ln -s disk link
"$ckpt" convert "$model" link/ -q > /dev/null; echo "exit $?"; ls disk; readlink link
mkdir here && cd here && "$ckpt" convert "$model" . -q > /dev/null; echo "exit $?"; ls -A | wc -l; cd ..
mkdir one two && "$ckpt" convert "$model" one --also two=bf16 -q > /dev/null; echo "exit $?"; ls -A two | wc -l
mkdir shared && "$ckpt" convert "$model" shared/ --to f16 --plan-out plan.json -q > /dev/null || exit 9
"$ckpt" execute plan.json --part 1/2 > /dev/null 2>&1; echo "exit $?"; ls -A shared
"$ckpt" convert "$model" shared 2>&1; echo "exit $?"
"$ckpt" execute plan.json --part 2/2 > /dev/null 2>&1; echo "exit $?"; ls -A shared
mkdir theirs theirs/.ckpt-partial && echo mine > theirs/.ckpt-partial/notes.txt
"$ckpt" convert "$model" theirs 2>&1; echo "exit $?"; cat theirs/.ckpt-partial/notes.txt
