//! Random numbers that depend on a seed and a position, and on nothing else.

const MULTIPLIER: u64 = 0xD2B7_4407_B1CE_6E93;
const WEYL: u64 = 0x9E37_79B9_7F4A_7C15;
const ROUNDS: u32 = 10;

/// The number in `[0, 1)` for `position` under `seed`, with 53 random bits.
///
/// Counter-based: Philox 2x64 with ten rounds (Salmon, Moraes, Dror, Shaw 2011), the seed as its
/// key and the position as its counter. A job that was preempted or moved to another worker thus
/// draws what it would have drawn, and two positions or seeds side by side have nothing in common.
pub fn uniform(seed: u64, position: u64) -> f64 {
    let [bits, _] = philox([position, 0], seed);
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

/// Philox 2x64 with ten rounds: 128 bits that depend on `counter` and `key` alone.
pub fn philox(mut counter: [u64; 2], mut key: u64) -> [u64; 2] {
    for _ in 0..ROUNDS {
        let product = u128::from(MULTIPLIER) * u128::from(counter[0]);
        let (high, low) = ((product >> 64) as u64, product as u64);
        counter = [high ^ key ^ counter[1], low];
        key = key.wrapping_add(WEYL);
    }
    counter
}
