"""python -m ckpt_tool runs the program."""
import os
import sys

from ._process import find_binary

binary = find_binary()
os.execv(binary, [binary, *sys.argv[1:]])
