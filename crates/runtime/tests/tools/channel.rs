//! Channels and oneshots between tasks, workers and threads.

use crate::{common::*, on_both_backends};
use brunt_runtime::{
    BackendKind, Runtime, spawn,
    sync::{
        channel,
        channel::{Receiver, SendError, Sender, TryRecvError, TrySendError},
        oneshot,
    },
    time::{sleep, timeout},
    yield_now,
};
use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Wake, Waker},
    thread,
    time::Duration,
};

on_both_backends!(
    what_waits_moves_up_in_order_and_nobody_overtakes,
    a_send_that_gives_up_has_sent_or_not,
    each_side_hears_that_the_other_has_gone,
    a_closed_channel_still_gives_what_was_sent,
    a_oneshot_wakes_either_side,
    workers_and_threads_lose_nothing_between_them,
    a_dropped_recv_takes_nothing,
);

async fn what_waits_moves_up_in_order_and_nobody_overtakes() {
    let (sender, mut receiver) = channel(2);
    for n in 0..10 {
        let sender = sender.clone();
        spawn(async move { sender.send(n).await.unwrap() });
        yield_now().await;
    }
    for n in 0..10 {
        // There is room for a moment, and it belongs to those who wait.
        if n < 8 {
            assert_eq!(sender.try_send(100), Err(TrySendError::Full(100)));
        }
        assert_eq!(receiver.try_recv(), Ok(n));
    }
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(brunt_runtime::drain(PATIENCE).await, 0);
}

/// Whatever a sender does with its attempts, each value is received or comes back, and never both.
async fn a_send_that_gives_up_has_sent_or_not() {
    let (sender, mut receiver) = channel(3);
    let returned = Rc::new(Cell::new(0u64));
    let mut sum = 0;
    for from in 0..8u64 {
        let (sender, returned) = (sender.clone(), returned.clone());
        sum += (from * 1000..from * 1000 + 300).sum::<u64>();
        spawn(async move {
            let mut dice = Dice::new(from + 1);
            for value in from * 1000..from * 1000 + 300 {
                let mut send = sender.send(value);
                let patience = Duration::from_micros(dice.roll(300));
                if timeout(patience, &mut send).await.is_err() {
                    returned.set(returned.get() + send.take_back().unwrap_or(0));
                }
            }
        });
    }
    drop(sender);
    let (mut got, mut dice, mut last) = (0, Dice::new(99), [0; 8]);
    while let Some(value) = receiver.recv().await {
        let before = std::mem::replace(&mut last[value as usize / 1000], value);
        assert!(before <= value, "{value} after {before}");
        got += value;
        if dice.roll(4) == 0 {
            sleep(Duration::from_micros(dice.roll(200))).await;
        }
    }
    assert!(got > 0 && returned.get() > 0, "{got} received, {} returned: too tame", returned.get());
    assert_eq!(got + returned.get(), sum);
}

async fn each_side_hears_that_the_other_has_gone() {
    let (sender, mut receiver) = channel::<Rc<u8>>(1);
    let waiting = spawn(async move { receiver.recv().await });
    yield_now().await;
    let second = sender.clone();
    drop(sender);
    yield_now().await;
    assert!(!waiting.is_finished(), "one sender is left");
    drop(second);
    assert_eq!(waiting.await.unwrap(), None);

    let (sender, receiver) = channel(1);
    let value = Rc::new(5);
    sender.send(value.clone()).await.unwrap();
    let waiting = spawn({
        let value = value.clone();
        async move { sender.send(value).await.map_err(|SendError(value)| (sender.is_closed(), *value)) }
    });
    yield_now().await;
    drop(receiver);
    assert_eq!(waiting.await.unwrap(), Err((true, 5)), "the value comes back");
    assert_eq!(Rc::strong_count(&value), 1, "what nobody received was dropped");
}

async fn a_closed_channel_still_gives_what_was_sent() {
    let (sender, mut receiver) = channel(2);
    sender.send(1).await.unwrap();
    sender.send(2).await.unwrap();
    let waiting = spawn({
        let sender = sender.clone();
        async move { sender.send(3).await }
    });
    yield_now().await;
    receiver.close();
    assert_eq!(sender.try_send(4), Err(TrySendError::Closed(4)));
    assert_eq!((receiver.recv().await, receiver.recv().await, receiver.recv().await), (Some(1), Some(2), None));
    assert_eq!(waiting.await.unwrap(), Err(SendError(3)));
    assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
}

async fn a_oneshot_wakes_either_side() {
    let (sender, receiver) = oneshot();
    let waiting = spawn(receiver);
    yield_now().await;
    sender.send(7).unwrap();
    assert_eq!(waiting.await.unwrap(), Ok(7));

    let (mut sender, receiver) = oneshot::<Rc<u8>>();
    let waiting = spawn(async move {
        sender.closed().await;
        assert!(sender.is_closed());
        sender.send(Rc::new(1)).unwrap_err()
    });
    yield_now().await;
    assert!(!waiting.is_finished());
    drop(receiver);
    assert_eq!(*waiting.await.unwrap(), 1);

    let (sender, receiver) = oneshot();
    let value = Rc::new(1);
    sender.send(value.clone()).unwrap();
    drop(receiver);
    assert_eq!(Rc::strong_count(&value), 1);
}

async fn a_dropped_recv_takes_nothing() {
    let (sender, mut receiver) = channel(1);
    let sending = spawn(async move {
        for n in 0..500 {
            sender.send(n).await.unwrap();
            if n % 3 == 0 {
                sleep(Duration::from_micros(50)).await;
            }
        }
    });
    let mut next = 0;
    while next < 500 {
        if let Ok(value) = timeout(Duration::from_micros(20), receiver.recv()).await {
            assert_eq!(value, Some(next));
            next += 1;
        }
    }
    sending.await.unwrap();
}

const WORKERS: u64 = 3;
const EACH: u64 = 2000;

/// Sends numbered values from a worker of its own, half of them from two tasks of it, giving up and trying again at times.
fn sender_thread(backend: BackendKind, index: u64, sender: Sender<(u64, u64)>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        build(backend).block_on(guarded(async move {
            let mut tasks = Vec::new();
            for task in 0..2 {
                let sender = sender.clone();
                tasks.push(spawn(async move {
                    let mut dice = Dice::new(index * 2 + task + 1);
                    for n in 0..EACH {
                        let mut value = (index * 2 + task, n);
                        loop {
                            let mut send = sender.send(value);
                            match timeout(Duration::from_micros(dice.roll(500)), &mut send).await {
                                Ok(sent) => break sent.unwrap(),
                                Err(_) => match send.take_back() {
                                    Some(back) => value = back,
                                    None => break,
                                },
                            }
                        }
                    }
                }));
            }
            for task in tasks {
                task.await.unwrap();
            }
        }));
    })
}

/// The receiver is handed from worker to worker as it goes.
fn receive_some(
    backend: BackendKind,
    mut receiver: Receiver<(u64, u64)>,
    some: u64,
    next: &mut [u64],
) -> Receiver<(u64, u64)> {
    build(backend).block_on(guarded(async {
        for _ in 0..some {
            let Some((from, n)) = receiver.recv().await else { break };
            assert_eq!(n, next[from as usize], "sender {from}");
            next[from as usize] += 1;
        }
    }));
    receiver
}

async fn workers_and_threads_lose_nothing_between_them() {
    let backends = [BackendKind::Uring, BackendKind::Epoll];
    let (sender, mut receiver) = channel(4);
    let threads: Vec<_> =
        (0..WORKERS).map(|index| sender_thread(backends[index as usize % 2], index, sender.clone())).collect();
    drop(sender);
    let (result, answer) = oneshot();
    thread::spawn(move || {
        let mut next = [0; 2 * WORKERS as usize];
        let part = WORKERS * EACH;
        receiver = receive_some(BackendKind::Uring, receiver, part, &mut next);
        receiver = receive_some(BackendKind::Epoll, receiver, part - 1, &mut next);
        receive_some(BackendKind::Uring, receiver, 2, &mut next);
        result.send(next).unwrap();
    });
    assert_eq!(answer.await, Ok([EACH; 2 * WORKERS as usize]));
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

#[test]
fn a_runtime_that_ends_with_senders_in_line_leaves_the_line_in_order() {
    for backend in BACKENDS {
        let (sender, mut receiver) = channel(1);
        let runtime = build(backend);
        runtime.block_on(async {
            for n in 0..5 {
                let sender = sender.clone();
                spawn(async move { sender.send(n).await });
            }
            yield_now().await;
        });
        // Four attempts end with their tasks.
        drop(runtime);
        let other = Runtime::new().unwrap();
        other.block_on(guarded(async {
            assert_eq!(receiver.recv().await, Some(0));
            sender.send(9).await.unwrap();
            assert_eq!(receiver.recv().await, Some(9));
            assert_eq!(timeout(Duration::ZERO, sender.send(1)).await, Ok(Ok(())));
        }));
        drop(sender);
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Closed));
    }
}

/// A waker of somebody else that panics must hurt neither those who call it nor those who wait beside it.
#[test]
fn a_waker_that_panics_keeps_nobody_from_being_woken() {
    struct Bomb;
    impl Wake for Bomb {
        fn wake(self: Arc<Self>) {
            panic!("on purpose");
        }
    }
    for backend in BACKENDS {
        on(backend, async {
            let (sender, mut receiver) = channel(1);
            sender.send(0).await.unwrap();
            let bomb = Waker::from(Arc::new(Bomb));
            let mut first = sender.send(1);
            assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&bomb)).is_pending());
            let mut third = sender.send(3);
            let second = spawn({
                let sender = sender.clone();
                async move { sender.send(2).await }
            });
            yield_now().await;
            assert!(Pin::new(&mut third).poll(&mut Context::from_waker(&bomb)).is_pending());
            assert_eq!(receiver.recv().await, Some(0));
            receiver.close();
            assert_eq!(second.await.unwrap(), Err(SendError(2)));
            assert_eq!((first.await, third.await), (Ok(()), Err(SendError(3))));
            assert_eq!(receiver.recv().await, Some(1));
        });
    }
}
