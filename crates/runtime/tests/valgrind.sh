#!/usr/bin/env bash
# Memory errors and leaks of the runtime, as valgrind sees them: the unit tests with the fake ring, which is the io_uring
# path without the system calls that valgrind knows only in part, and a choice of tests on epoll. Takes about a minute.
set -euo pipefail
cd "$(dirname "$0")/../../.."

command -v valgrind >/dev/null || { echo "valgrind is missing: apt-get install valgrind"; exit 1; }

binary() { # binary NAME-OF-TARGET-FLAGS...: builds a test program and prints where it is
    cargo test --locked -p brunt-runtime "$@" --no-run 2>&1 | sed -n 's/^ *Executable .*(\(.*\))$/\1/p' | tail -n 1
}

check() { # check PROGRAM FILTER...
    # Counted are blocks of the heap that nobody refers to any more: what outlives a runtime on purpose is mappings. Lines
    # between two dashes tell of system calls that valgrind does not know: epoll_pwait2, without which the runtime goes on.
    BRUNT_BACKEND=epoll RUST_BACKTRACE=0 RUST_TEST_THREADS=1 timeout 900 valgrind --quiet --error-exitcode=9 \
        --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --fair-sched=yes "$@" \
        2> >(grep -v '^--[0-9]*--' >&2)
}

library=$(binary --lib)
both=$(binary --test both)
abuse=$(binary --test abuse)

PROPTEST_CASES=24 check "$library" sim slab cancel
check "$both" epoll:: \
    --skip leases_that_are_kept --skip a_slow_reader --skip echoes_every_byte --skip many_connections --skip timers_fire
check "$abuse" panics::epoll tasks::epoll::a_destructor wakers::epoll::the_last wakers::epoll::a_waker_that_owns \
    outlive::relics --skip uring
