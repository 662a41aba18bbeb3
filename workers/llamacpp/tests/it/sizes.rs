//! Context sizes on machines that are not this one (rows H2 to H4).

use superfluid_worker_kit::Device;
use superfluid_worker_llamacpp::{Room, Shape, cut, keeping, sequences, size};

const GIB: u64 = 1 << 30;

/// An 8B model of the llama family at 4 bits.
const LLAMA_8B: Shape = Shape { weights: 5 * GIB, kv_token: 131_072, trained: 131_072, shared: false };

fn device(backend: &str, kind: &str, free: u64, total: u64) -> Device {
    Device {
        backend: backend.into(),
        name: "a device".into(),
        kind: kind.into(),
        memory_total: total * GIB,
        memory_free: free * GIB,
    }
}

#[test]
fn sequences_are_lanes_and_two_at_least_four_at_most_256() {
    for (lanes, expected) in
        [(0, 4), (1, 4), (2, 4), (3, 5), (8, 10), (254, 256), (1000, 256), (u32::MAX, 256)]
    {
        assert_eq!(sequences(lanes), expected);
    }
}

#[test]
fn the_window_is_8192_on_a_processor_and_on_an_integrated_gpu() {
    for device in
        [device("cpu", "cpu", 60, 64), device("cuda", "igpu", 60, 64), device("vulkan", "gpu", 60, 64)]
    {
        let size = size(&LLAMA_8B, &Room::of(&[device]), 8, None).expect("it fits");
        assert_eq!((size.window, size.cells, size.seqs), (8192, 81_920, 10));
    }
}

#[test]
fn the_window_is_sized_for_a_dedicated_gpu_and_for_metal() {
    for device in [device("cuda", "gpu", 79, 80), device("metal", "gpu", 79, 80)] {
        let room = Room::of(&[device]);
        let size = size(&LLAMA_8B, &room, 8, None).expect("it fits");
        assert_eq!(size.window % 1024, 0);
        assert!(size.window > 8192 && size.window <= LLAMA_8B.trained);
        let taken = LLAMA_8B.weights + u64::from(size.cells) * LLAMA_8B.kv_token + room.reserve();
        assert!(taken <= room.budget());
    }
}

#[test]
fn a_window_is_never_longer_than_the_model_was_trained_on() {
    let short = Shape { trained: 2048, ..LLAMA_8B };
    for room in [Room::of(&[device("cpu", "cpu", 60, 64)]), Room::of(&[device("cuda", "gpu", 79, 80)])] {
        assert_eq!(size(&short, &room, 4, None).expect("it fits").window, 2048);
        assert_eq!(size(&short, &room, 4, Some(9000)).expect("it fits").window, 2048);
    }
}

#[test]
fn two_gpus_of_one_backend_count_together() {
    let room = Room::of(&[
        device("cuda", "gpu", 20, 24),
        device("cuda", "gpu", 20, 24),
        device("cpu", "cpu", 60, 64),
    ]);
    assert_eq!((room.free, room.total), (40 * GIB, 48 * GIB));
}

#[test]
fn what_does_not_fit_gets_a_shorter_window_before_memory_is_touched() {
    let room = Room::of(&[device("cpu", "cpu", 12, 16)]);
    let size = size(&LLAMA_8B, &room, 8, None).expect("it fits");
    assert!(size.window < 8192 && size.window >= 256);
    assert!(LLAMA_8B.weights + u64::from(size.cells) * LLAMA_8B.kv_token + room.reserve() <= room.budget());
}

#[test]
fn what_cannot_fit_at_all_is_refused_with_numbers() {
    let refusal =
        size(&LLAMA_8B, &Room::of(&[device("cpu", "cpu", 4, 16)]), 8, None).expect_err("it can't fit");
    assert_eq!(refusal.code, "not_enough_memory");
    assert!(refusal.message.contains("5120 MiB"), "{}", refusal.message);
}

#[test]
fn a_shared_pool_holds_a_window_a_lane_and_shortens_it_below_one() {
    let shape = Shape { shared: true, ..LLAMA_8B };
    let size = size(&shape, &Room::of(&[device("cpu", "cpu", 60, 64)]), 8, None).expect("it fits");
    assert_eq!((size.window, size.cells, size.seqs), (8192, 65_536, 10));
    let fewer = cut(&shape, size, 20_000).expect("cells are left");
    assert_eq!((fewer.window, fewer.cells), (8192, 19_968));
    let short = cut(&shape, size, 5_000).expect("cells are left");
    assert_eq!((short.window, short.cells), (4864, 4864));
    assert_eq!(cut(&shape, size, 255), None);
}

/// Host memory keeps as many tokens as the pool has cells, within 8 GiB and 60% of what is free.
#[test]
fn host_memory_is_bounded_three_ways() {
    let size = size(&LLAMA_8B, &Room::of(&[device("cuda", "gpu", 24, 24)]), 8, Some(1024)).expect("it fits");
    let small = Shape { kv_token: 1024, ..LLAMA_8B };
    let all = keeping(&small, &size, 0, 64 * GIB);
    assert!(all.host_bytes >= u64::from(size.cells) * 1024 && all.host_bytes < u64::from(size.cells) * 2048);
    assert_eq!(keeping(&LLAMA_8B, &size, 0, 64 * GIB).host_bytes, 10_240 * (131_072 + 32) + 10 * (64 << 10));
    let wide = Shape { kv_token: 1 << 20, ..LLAMA_8B };
    assert_eq!(keeping(&wide, &size, 0, 64 * GIB).host_bytes, 8 * GIB);
    assert_eq!(keeping(&wide, &size, 0, 2 * GIB).host_bytes, 2 * GIB / 100 * 60);
    assert_eq!(all.rest_tokens, None, "a sequence with a buffer of its own costs others nothing at rest");
    let shared = keeping(&Shape { shared: true, ..small }, &size, 5 << 20, 64 * GIB);
    assert_eq!(shared.rest_tokens, Some(1024), "one lane's context");
    assert!(shared.state(1) > 5 << 20, "a recurrent state is large whatever its tokens");
}
