"""An unprivileged user who exchanges two names of a directory as fast as the kernel allows: swap.py DIRECTORY A B

Started as root; becomes the user 65534 before the first exchange. Ends when its standard input ends, and prints the
number of exchanges. The loop is that of libpathrs' attack tests: renameat2(2) with RENAME_EXCHANGE leaves no moment
in which either name is missing, so a victim that checks a name and uses it later meets both in turn.
"""

import ctypes
import os
import select
import signal
import sys

RENAME_EXCHANGE = 2
PR_SET_PDEATHSIG = 1
NOBODY = 65534
LONGEST_S = 900

directory, a, b = sys.argv[1:4]
libc = ctypes.CDLL(None, use_errno=True)
libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
signal.alarm(LONGEST_S)
os.setgroups([])
os.setgid(NOBODY)
os.setuid(NOBODY)
where = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
first, second = a.encode(), b.encode()
exchange = libc.renameat2
count = 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for _ in range(512):
        if exchange(where, first, where, second, RENAME_EXCHANGE) == 0:
            count += 1
print(count, flush=True)
