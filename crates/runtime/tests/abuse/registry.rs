//! Workers are created and dropped while other threads wake tasks of live and ended workers: no wake-up is lost, and a stale
//! one has no effect.

use crate::shared::*;
use brunt_runtime::{CancellationToken, spawn, time::timeout};
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

/// Workers that each of three threads makes, one after the other.
const LIVES: usize = 50;

/// The newest wakers, called by all threads.
#[derive(Default)]
struct Board {
    wakers: Mutex<Vec<Waker>>,
    stops: Mutex<Vec<CancellationToken>>,
    next: AtomicU64,
    over: AtomicBool,
}

impl Board {
    fn pin_up(&self, waker: &Waker) {
        let mut wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner);
        let place = self.next.fetch_add(1, Ordering::Relaxed) as usize % 64;
        if wakers.len() < 64 {
            wakers.push(waker.clone());
        } else {
            wakers[place] = waker.clone();
        }
    }

    fn wake_all(&self) {
        let wakers = self.wakers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        wakers.into_iter().for_each(Waker::wake);
    }

    fn raise_all(&self) {
        let stops = std::mem::take(&mut *self.stops.lock().unwrap_or_else(PoisonError::into_inner));
        stops.iter().for_each(CancellationToken::cancel);
    }
}

#[test]
fn workers_are_created_and_dropped_while_others_wake_their_tasks() {
    let board = Board::default();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !board.over.load(Ordering::Relaxed) {
                    board.wake_all();
                    board.raise_all();
                    thread::yield_now();
                }
            });
        }
        let workers: Vec<_> = (0..3)
            .map(|n| {
                let board = &board;
                scope.spawn(move || (0..LIVES).for_each(|life| live(board, nth_backend(n + life))))
            })
            .collect();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        board.over.store(true, Ordering::Relaxed);
    });
}

/// One short-lived worker: each of its tasks waits for a wake-up from another thread.
fn live(board: &Board, backend: brunt_runtime::BackendKind) {
    let runtime = build(backend);
    runtime.block_on(async {
        for round in 0..5 {
            let stop = CancellationToken::new();
            board.stops.lock().unwrap_or_else(PoisonError::into_inner).push(stop.clone());
            let tasks: Vec<_> = (0..4)
                .map(|n| {
                    let stop = stop.clone();
                    let (posted, waited) = (AtomicBool::new(false), AtomicU64::new(0));
                    let pinned = std::rc::Rc::new(std::cell::RefCell::new(None));
                    let kept = pinned.clone();
                    let task = spawn(async move {
                        // Stale wake-ups of earlier workers cost a poll.
                        poll_fn(|cx| {
                            *kept.borrow_mut() = Some(cx.waker().clone());
                            waited.fetch_add(1, Ordering::Relaxed);
                            if posted.swap(true, Ordering::Relaxed) || n == 3 { Poll::Ready(()) } else { Poll::Pending }
                        })
                        .await;
                        stop.cancelled().await;
                    });
                    (task, pinned)
                })
                .collect();
            brunt_runtime::yield_now().await;
            tasks.iter().filter_map(|(_, waker)| waker.borrow().clone()).for_each(|waker: Waker| board.pin_up(&waker));
            if round == 4 {
                // The runtime ends with waiting tasks; their wakers stay shared.
                return;
            }
            for (task, _) in tasks {
                timeout(LIMIT, task).await.expect("a wake-up is lost").unwrap();
            }
        }
    });
}
