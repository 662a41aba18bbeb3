//! How many tokens of context a model gets, and in how many sequences (rows H2 to H4).

use serde_json::{Map, Value, json};
use superfluid_core::Refusal;
use superfluid_core::sched::Keeping;
use superfluid_worker_kit::Device;

/// The window where the device does not say otherwise.
pub const DEFAULT_WINDOW: u32 = 8192;
/// llama.cpp allots cells in steps of this many a sequence.
const STEP: u32 = 256;
const GIB: u64 = 1 << 30;
/// Bytes an exported state has beside its keys and values, at most: for each cell, and in all.
const CELL: u64 = 32;
const HEADER: u64 = 64 << 10;

/// What of a model decides its size in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Bytes of its weights.
    pub weights: u64,
    /// Bytes of keys and values for one token, at llama.cpp's F16.
    pub kv_token: u64,
    /// Tokens it was trained on; 0 where the file does not say.
    pub trained: u32,
    /// Whether all sequences share one pool: recurrent, hybrid and sliding-window models.
    pub shared: bool,
}

/// The device that holds the context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes free before the model is loaded.
    pub free: u64,
    /// Bytes in all.
    pub total: u64,
    /// Whether the window follows from the room: Metal, and CUDA with a GPU of its own memory.
    pub sizes: bool,
}

impl Room {
    /// The room of the devices a model would be put on: the GPUs of the best one's backend
    /// together, or the processor.
    pub fn of(devices: &[Device]) -> Self {
        let Some(best) = devices.first() else { return Self { free: 0, total: 0, sizes: false } };
        let same = devices.iter().filter(|device| device.backend == best.backend && device.kind == best.kind);
        let (free, total) = same.fold((0u64, 0u64), |(free, total), device| {
            (free.saturating_add(device.memory_free), total.saturating_add(device.memory_total))
        });
        let sizes = match best.backend.as_str() {
            "metal" => true,
            "cuda" => best.kind == "gpu",
            _ => false,
        };
        Self { free, total, sizes }
    }

    /// Bytes that may be used in all.
    pub fn budget(&self) -> u64 {
        self.free.min(self.total / 100 * 85)
    }

    /// Bytes that stay free whatever is loaded.
    pub fn reserve(&self) -> u64 {
        GIB.max(self.budget() / 8)
    }
}

/// A context's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Tokens one sequence can hold.
    pub window: u32,
    /// Tokens of state in all.
    pub cells: u32,
    /// Sequences.
    pub seqs: u32,
    /// Sequences that decode at once.
    pub lanes: u32,
}

/// Sequences for so many lanes: two more to keep prefixes in, at least 4, at most 256.
pub fn sequences(lanes: u32) -> u32 {
    lanes.saturating_add(2).clamp(4, 256)
}

/// Sizes a context.
///
/// # Errors
/// `not_enough_memory` where not even the smallest window fits.
pub fn size(shape: &Shape, room: &Room, lanes: u32, asked: Option<u32>) -> Result<Size, Refusal> {
    let lanes = lanes.clamp(1, 254);
    let seqs = sequences(lanes);
    // Whole windows of state: a buffer for each sequence, or a pool that all lanes can fill.
    let shares = if shape.shared { lanes } else { seqs };
    let trained = if shape.trained == 0 { u32::MAX } else { shape.trained };
    let kv_token = shape.kv_token.max(1);
    let left = room.budget().saturating_sub(shape.weights).saturating_sub(room.reserve());
    let wanted = match asked {
        Some(window) => window.max(1).min(trained),
        None if room.sizes => {
            let pool = left / 100 * 60;
            let fits = u32::try_from(pool / (kv_token * u64::from(shares))).unwrap_or(u32::MAX);
            (fits / 1024 * 1024).clamp(4096, u32::MAX).min(trained)
        }
        None => DEFAULT_WINDOW.min(trained),
    };
    let cells = round_up(wanted).saturating_mul(shares);
    let fitting = if room.total == 0 { u32::MAX } else { u32::try_from(left / kv_token).unwrap_or(u32::MAX) };
    let size = Size { window: wanted, cells, seqs, lanes };
    if cells <= fitting {
        Ok(size)
    } else {
        cut(shape, size, fitting).ok_or_else(|| too_small(shape, room, &size))
    }
}

/// The same context with at most `cells` tokens of state: a shorter window for each sequence that
/// has a buffer of its own; a shared pool below one window shortens it. `None` where none is left.
pub fn cut(shape: &Shape, size: Size, cells: u32) -> Option<Size> {
    let each = if shape.shared { 1 } else { size.seqs };
    let share = cells / each / STEP * STEP;
    (share > 0).then(|| Size { window: size.window.min(share), cells: share * each, ..size })
}

/// What host memory keeps of states that leave the device: as many tokens as the pool has cells, within
/// 8 GiB and 60% of the memory that model and context leave `free` (row H5). A pool that sequences share
/// is read by every pass, so it holds no more than one lane's context at rest. `fixed` is what a state
/// takes whatever its tokens.
pub fn keeping(shape: &Shape, size: &Size, fixed: u64, free: u64) -> Keeping {
    let token_bytes = shape.kv_token.saturating_add(CELL);
    let state_bytes = fixed.saturating_add(HEADER);
    let all = token_bytes
        .saturating_mul(u64::from(size.cells))
        .saturating_add(state_bytes.saturating_mul(u64::from(size.seqs)));
    Keeping {
        rest_tokens: shape.shared.then_some(size.window),
        host_bytes: all.min(8 * GIB).min(free / 100 * 60),
        state_bytes,
        token_bytes,
        ..Keeping::default()
    }
}

fn round_up(window: u32) -> u32 {
    window.div_ceil(STEP).saturating_mul(STEP)
}

fn too_small(shape: &Shape, room: &Room, size: &Size) -> Refusal {
    Refusal::new(
        "not_enough_memory",
        format!(
            "the model needs {} MiB and {} sequences need {} MiB for every {STEP} tokens of context, but of {} MiB free {} MiB are kept in reserve",
            shape.weights >> 20,
            size.seqs,
            (shape.kv_token * u64::from(size.seqs) * u64::from(STEP)) >> 20,
            room.free >> 20,
            room.reserve() >> 20
        ),
    )
    .hint("pass a smaller --max-batch")
    .hint("end other programs that use much memory, or take a smaller model")
}

/// What `check --model` prints as `sizing`.
pub(crate) fn report(shape: &Shape, room: &Room, size: &Size) -> Map<String, Value> {
    let value = json!({
        "window": size.window,
        "lanes": size.lanes,
        "sequences": size.seqs,
        "cells": size.cells,
        "shared_pool": shape.shared,
        "sized_for_device": room.sizes,
        "weights_bytes": shape.weights,
        "kv_bytes_per_token": shape.kv_token,
        "trained_window": shape.trained,
        "budget_bytes": room.budget(),
        "reserve_bytes": room.reserve(),
    });
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
