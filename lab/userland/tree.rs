// SPDX-License-Identifier: GPL-2.0-only
//! A Rust program: generic functions, trait objects, closures, a panic that is caught, std's sort.
//!
//!	main ── lab::round ── descend::<Depth> … ── Work::work ── burn
//!	                   ── catch_unwind ── panics
//!	                   ── sort_by ── closure

use std::io::Write;

/// What the compiler is to know nothing of; std::hint's own is younger than Debian 12's compiler.
#[inline(never)]
fn black_box<T>(value: T) -> T {
    let kept = std::mem::ManuallyDrop::new(value);
    unsafe { std::ptr::read_volatile(&*kept) }
}

trait Work {
    fn work(&self, count: u64) -> u64;
}

struct Square;

#[inline(never)]
fn burn(count: u64) -> u64 {
    let mut sum = 0u64;
    for i in 0..count {
        sum = black_box(sum.wrapping_add(i * i));
    }
    sum
}

impl Work for Square {
    #[inline(never)]
    fn work(&self, count: u64) -> u64 {
        black_box(burn(count)) + 1
    }
}

#[inline(never)]
fn descend<W: Work + ?Sized>(work: &W, depth: u32) -> u64 {
    if depth == 0 {
        black_box(work.work(200_000))
    } else {
        black_box(descend(work, depth - 1)) + 1
    }
}

#[inline(never)]
fn panics(at: u64) -> u64 {
    if black_box(at) % 2 == 0 {
        panic!("as expected");
    }
    burn(at)
}

#[inline(never)]
fn sorting() -> u64 {
    let mut numbers: Vec<u64> = (0..2000).map(|i| i * 7919 % 2000).collect();
    numbers.sort_by(|a, b| {
        black_box(burn(10));
        a.cmp(b)
    });
    black_box(numbers[3])
}

#[inline(never)]
fn round(work: &dyn Work) -> u64 {
    let mut sum = descend(work, 12);
    for i in 0..20 {
        sum += std::panic::catch_unwind(|| panics(i)).unwrap_or(1);
    }
    black_box(sum + sorting())
}

fn main() {
    std::panic::set_hook(Box::new(|_| {}));
    println!("started");
    let _ = std::io::stdout().flush();
    let work: Box<dyn Work> = Box::new(Square);
    loop {
        black_box(round(black_box(&*work)));
    }
}
