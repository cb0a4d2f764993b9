//! Trees of cancellation tokens across tasks, workers and threads.

use crate::{on_both_backends, shared::*};
use brunt_runtime::{CancellationToken, spawn, time::sleep, yield_now};
use std::{sync::mpsc, thread, time::Duration};

on_both_backends!(a_parent_cancels_all_branches_and_a_branch_only_itself, a_child_created_during_cancel_is_cancelled,);

async fn a_parent_cancels_all_branches_and_a_branch_only_itself() {
    let root = CancellationToken::new();
    let branches: Vec<CancellationToken> = (0..10).map(|_| root.child_token()).collect();
    let mut tasks = Vec::new();
    for (index, branch) in branches.iter().enumerate() {
        for _ in 0..5 {
            // Only the leaf keeps its branch alive.
            let leaf = branch.child_token();
            tasks.push((index, spawn(async move { leaf.cancelled().await })));
        }
    }
    yield_now().await;
    branches[3].cancel();
    // The guard around each test bounds the wait.
    while tasks.iter().any(|(index, task)| *index == 3 && !task.is_finished()) {
        yield_now().await;
    }
    for (index, task) in &tasks {
        assert_eq!(task.is_finished(), *index == 3);
    }
    drop(branches);
    let far = thread::spawn({
        let root = root.clone();
        move || root.cancel()
    });
    for (_, task) in tasks {
        task.await.unwrap();
    }
    far.join().unwrap();
    assert!(root.child_token().child_token().is_cancelled(), "a late child is created cancelled");
}

/// Threads create and drop children while another cancels the parent: none may miss it.
async fn a_child_created_during_cancel_is_cancelled() {
    for round in 0..100u64 {
        let root = CancellationToken::new();
        let (done, all_done) = mpsc::channel();
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (root, done) = (root.clone(), done.clone());
                thread::spawn(move || {
                    build(brunt_runtime::BackendKind::Epoll).block_on(guarded(async move {
                        loop {
                            let child = root.child_token();
                            drop((root.child_token(), child.child_token()));
                            if root.is_cancelled() {
                                child.cancelled().await;
                                break done.send(()).unwrap();
                            }
                            let grandchild = child.child_token();
                            spawn(async move { grandchild.cancelled().await });
                            yield_now().await;
                        }
                        assert_eq!(brunt_runtime::drain(LIMIT).await, 0);
                    }));
                })
            })
            .collect();
        sleep(Duration::from_micros(round * 10)).await;
        root.cancel();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(all_done.try_iter().count(), 2);
    }
}
