#!/usr/bin/env bash
# Runs the runtime under valgrind: the unit tests with the scripted ring, which is the io_uring path without system calls that
# valgrind knows only in part, and a selection of tests on epoll. Takes about a minute.
set -euo pipefail
cd "$(dirname "$0")/../../.."

command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind"; exit 1; }

binary() { # binary NAME-OF-TARGET-FLAGS...: builds a test program and prints where it is
    cargo test --locked -p brunt-runtime "$@" --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p' | tail -n 1
}

check() { # check PROGRAM FILTER...
    # Counts unreferenced heap blocks; memory leaked on purpose is mapped. Lines between two dashes report unknown system calls
    # (epoll_pwait2, which the runtime does without).
    RUST_BACKTRACE=0 RUST_TEST_THREADS=1 timeout 900 valgrind --quiet --error-exitcode=9 \
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --fair-sched=yes "$@" \
        2> >(grep -v '^--[0-9]*--' >&2)
}

library=$(binary --lib)
all=$(binary --test all)
abuse=$(binary --test abuse)

PROPTEST_CASES=24 check "$library" sim::scripted slab cancel
check "$all" both::epoll:: \
    --skip kept_buffers --skip a_slow_reader --skip echoes_every_byte --skip many_connections --skip timers_fire
check "$abuse" panics::epoll tasks::epoll::a_destructor wakers::epoll::the_last wakers::epoll::a_waker_that_owns \
    outlive::leftover --skip uring
