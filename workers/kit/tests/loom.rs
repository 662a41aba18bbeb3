//! Every interleaving of small uses of the mailbox, checked by loom over the file the worker runs.

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU32, Ordering};
    pub(crate) use loom::sync::{Condvar, Mutex, MutexGuard};
}

#[path = "../src/mailbox.rs"]
mod mailbox;

use loom::sync::Arc;
use loom::thread;
use mailbox::{CLOSED, Mailbox, Refused};

/// Bounds the preemptions of one execution, which keeps every model below a second and still
/// covers the orders in which real faults show.
fn model(body: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(body);
}

#[test]
fn nothing_is_lost_and_the_order_of_a_sender_is_kept() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new(8));
        let senders: Vec<_> = [10, 20]
            .map(|base| {
                let mailbox = mailbox.clone();
                thread::spawn(move || {
                    mailbox.send(base).unwrap();
                    mailbox.send(base + 1).unwrap();
                })
            })
            .into();
        let got: Vec<i32> = (0..4).map(|_| mailbox.recv().unwrap()).collect();
        for base in [10, 20] {
            let of_one: Vec<i32> = got.iter().copied().filter(|n| n / 10 == base / 10).collect();
            assert_eq!(of_one, [base, base + 1]);
        }
        for sender in senders {
            sender.join().unwrap();
        }
    });
}

#[test]
fn a_full_mailbox_lets_its_sender_go_on_once_there_is_room() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new(1));
        let sender = {
            let mailbox = mailbox.clone();
            thread::spawn(move || (0..3).for_each(|n| mailbox.send(n).unwrap()))
        };
        assert_eq!([mailbox.recv(), mailbox.recv(), mailbox.recv()], [Some(0), Some(1), Some(2)]);
        sender.join().unwrap();
    });
}

#[test]
fn taking_everything_makes_room_too() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new(1));
        let sender = {
            let mailbox = mailbox.clone();
            thread::spawn(move || (0..2).for_each(|n| mailbox.send(n).unwrap()))
        };
        let mut got = Vec::new();
        while got.len() < 2 {
            mailbox.wait(None);
            assert!(mailbox.take_all(&mut got));
        }
        assert_eq!(got, [0, 1]);
        sender.join().unwrap();
    });
}

#[test]
fn closing_wakes_a_sender_a_receiver_and_a_waiter() {
    model(|| {
        let full = Arc::new(Mailbox::new(1));
        full.send(1).unwrap();
        let empty = Arc::new(Mailbox::<i32>::new(1));
        let sender = thread::spawn({
            let full = full.clone();
            move || assert_eq!(full.send(2), Err(2))
        });
        let receiver = thread::spawn({
            let empty = empty.clone();
            move || assert_eq!(empty.recv(), None)
        });
        full.close();
        empty.close();
        empty.wait(None);
        sender.join().unwrap();
        receiver.join().unwrap();
        assert_eq!((full.recv(), full.recv()), (Some(1), None), "what is inside can still be taken");
        assert_eq!(full.push(3, 0), Err(Refused::Closed(3)));
    });
}

#[test]
fn an_item_sent_before_the_close_arrives() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let sender = thread::spawn({
            let mailbox = mailbox.clone();
            move || {
                mailbox.send(7).unwrap();
                mailbox.close();
            }
        });
        assert_eq!((mailbox.recv(), mailbox.recv()), (Some(7), None));
        sender.join().unwrap();
    });
}

#[test]
fn alerts_are_seen_until_their_item_is_taken() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new(4));
        let sender = thread::spawn({
            let mailbox = mailbox.clone();
            move || {
                mailbox.push("cancel", 0b01).unwrap();
                mailbox.offer("urgent", 0b10).unwrap();
                mailbox.close();
            }
        });
        let mut got = Vec::new();
        while got.len() < 2 {
            mailbox.wait(None);
            let alerts = mailbox.alerts();
            let had = got.len();
            mailbox.take_all(&mut got);
            // What was raised before the look is among what was there after it.
            if alerts & 0b01 != 0 {
                assert!(got.contains(&"cancel"));
            }
            if alerts & 0b10 != 0 {
                assert!(got.contains(&"urgent"));
            }
            assert!(got.len() > had || alerts & CLOSED != 0);
        }
        sender.join().unwrap();
        assert_eq!(mailbox.alerts(), CLOSED);
    });
}

#[test]
fn what_was_sent_is_inside_until_it_is_taken() {
    model(|| {
        let mailbox = Arc::new(Mailbox::new(2));
        let sender = {
            let mailbox = mailbox.clone();
            thread::spawn(move || {
                mailbox.send(1).unwrap();
                mailbox.is_empty()
            })
        };
        assert_eq!(mailbox.recv(), Some(1));
        assert!(mailbox.is_empty(), "it was taken");
        sender.join().unwrap();
    });
}
