//! Sampling: known answers, distributions, and against a slow, obvious reference.

use proptest::collection::vec;
use proptest::prelude::*;
use superfluid_core::wire::Sampling;
use superfluid_worker_kit::sample::{Sampler, Scratch, argmax, philox, rank, uniform};

fn sampling() -> impl Strategy<Value = Sampling> {
    let filters = (0.0f32..2.0, 0u32..12, 0.0f32..1.2, 0.0f32..1.0, any::<u64>());
    let penalties = (prop_oneof![Just(0.0f32), -2.0f32..2.0], prop_oneof![Just(0.0f32), -2.0f32..2.0]);
    (filters, penalties, prop_oneof![Just(1.0f32), 0.5f32..2.0]).prop_map(|(f, p, repeat_penalty)| Sampling {
        temperature: f.0,
        top_k: f.1,
        top_p: f.2,
        min_p: f.3,
        seed: f.4,
        presence_penalty: p.0,
        frequency_penalty: p.1,
        repeat_penalty,
        ..Sampling::default()
    })
}

/// The same rules over a fully sorted list, in the order the module documents.
fn reference(s: &Sampling, logits: &[f32], prompt: &[u32], generated: &[u32]) -> Vec<u32> {
    let mut moved = logits.to_vec();
    for (token, logit) in (0_u32..).zip(&mut moved) {
        *logit += s.logit_bias.get(&token).copied().unwrap_or(0.0);
        let times = generated.iter().filter(|t| **t == token).count();
        if s.repeat_penalty != 1.0 && (times > 0 || prompt.contains(&token)) {
            *logit = if *logit > 0.0 { *logit / s.repeat_penalty } else { *logit * s.repeat_penalty };
        }
        if times > 0 {
            *logit -= s.presence_penalty + s.frequency_penalty * times as f32;
        }
    }
    let mut order: Vec<u32> = (0..moved.len() as u32).collect();
    order.sort_by(|&a, &b| moved[b as usize].total_cmp(&moved[a as usize]).then(a.cmp(&b)));
    if s.temperature <= 0.0 {
        return vec![order[0]];
    }
    let best = moved[order[0] as usize];
    let weight = |t: u32| f64::from(((moved[t as usize] - best) / s.temperature).exp());
    if s.top_k > 0 {
        order.truncate(s.top_k as usize);
    }
    let total: f64 = order.iter().map(|t| weight(*t)).sum();
    if s.top_p < 1.0 {
        let mut sum = 0.0;
        let kept = order.iter().take_while(|t| {
            let before = sum;
            sum += weight(**t);
            before < total * f64::from(s.top_p) - 1e-6 * total
        });
        let kept = kept.count().max(1);
        order.truncate(kept);
    }
    order.retain(|t| weight(*t) >= f64::from(s.min_p.min(1.0)) * 0.999_99);
    order
}

proptest! {
    #[test]
    fn a_draw_is_one_the_rules_allow(
        s in sampling(),
        logits in vec(-6.0f32..6.0, 1..300),
        generated in vec(0u32..20, 0..12),
        prompt in vec(0u32..20, 0..6),
        position in any::<u32>(),
    ) {
        let mut sampler = Sampler::new(s.clone(), &prompt);
        generated.iter().for_each(|token| sampler.accept(*token));
        let mut scratch = Scratch::default();
        let token = sampler.draw(&logits, position, &mut scratch).unwrap();
        let allowed = reference(&s, &logits, &prompt, &generated);
        // A nucleus that ends within rounding may take one token more.
        let wider = Sampling { top_p: s.top_p + 1e-4, ..s.clone() };
        let wider = reference(&wider, &logits, &prompt, &generated);
        prop_assert!(allowed.contains(&token) || wider.contains(&token), "{token} of {allowed:?}");
        prop_assert_eq!(sampler.draw(&logits, position, &mut scratch).unwrap(), token);
    }

    #[test]
    fn odd_numbers_are_a_fault_or_a_token_and_no_panic(
        s in sampling(),
        logits in vec(prop_oneof![any::<f32>(), -5.0f32..5.0, Just(f32::NEG_INFINITY)], 0..50),
    ) {
        let drawn = Sampler::new(s, &[]).draw(&logits, 3, &mut Scratch::default());
        match drawn {
            Ok(token) => prop_assert!((token as usize) < logits.len()),
            Err(refusal) => prop_assert_eq!(refusal.code, "engine_fault"),
        }
        let ranked = rank(&logits, 0, 5);
        prop_assert!(ranked.logprob.is_finite() && ranked.top.iter().all(|(_, l)| l.is_finite()));
    }

    #[test]
    fn the_likeliest_are_the_likeliest(logits in vec(-4i8..4, 1..60), top in 0usize..9) {
        let logits: Vec<f32> = logits.into_iter().map(f32::from).collect();
        let mut order: Vec<u32> = (0..logits.len() as u32).collect();
        order.sort_by(|&a, &b| logits[b as usize].total_cmp(&logits[a as usize]).then(a.cmp(&b)));
        let ranked = rank(&logits, order[0], top);
        let got: Vec<u32> = ranked.top.iter().map(|(token, _)| *token).collect();
        prop_assert_eq!(&got[..], &order[..top.min(order.len())]);
        prop_assert_eq!(argmax(&logits).unwrap(), order[0]);
        let all: f32 = rank(&logits, 0, logits.len()).top.iter().map(|(_, logprob)| logprob.exp()).sum();
        prop_assert!((all - 1.0).abs() < 1e-4);
    }
}

/// The known answers its authors published.
#[test]
fn philox_gives_its_known_answers() {
    assert_eq!(philox([0, 0], 0), [0xca00_a045_9843_d731, 0x66c2_4222_c9a8_45b5]);
    assert_eq!(philox([u64::MAX; 2], u64::MAX), [0x65b0_21d6_0cd8_310f, 0x4d02_f322_2f86_df20]);
    let pi = [0x243f_6a88_85a3_08d3, 0x1319_8a2e_0370_7344];
    assert_eq!(philox(pi, 0xa409_3822_299f_31d0), [0x0a5e_742c_2997_341c, 0xb0f8_83d3_8000_de5d]);
}

#[test]
fn draws_are_uniform_over_positions_and_over_seeds() {
    for by_seed in [false, true] {
        let mut buckets = [0_u32; 64];
        let n = 64_000;
        for i in 0..n {
            let u = if by_seed { uniform(i, 5) } else { uniform(42, i) };
            assert!((0.0..1.0).contains(&u));
            buckets[(u * 64.0) as usize] += 1;
        }
        let chi2: f64 = buckets.iter().map(|&c| (f64::from(c) - 1000.0).powi(2) / 1000.0).sum();
        // 63 degrees of freedom: mean 63, deviation 11.
        assert!((25.0..115.0).contains(&chi2), "{chi2}");
    }
}

#[test]
fn tokens_come_as_often_as_their_probability_says() {
    let logits: Vec<f32> = [0.5f32, 0.3, 0.15, 0.05].iter().map(|p| p.ln()).collect();
    let sampler = Sampler::new(Sampling { seed: 9, ..Sampling::default() }, &[]);
    let mut counts = [0_u32; 4];
    for position in 0..20_000 {
        counts[sampler.draw(&logits, position, &mut Scratch::default()).unwrap() as usize] += 1;
    }
    for (count, wanted) in counts.iter().zip([10_000.0, 6_000.0, 3_000.0, 1_000.0]) {
        assert!((f64::from(*count) - wanted).abs() < 250.0, "{counts:?}");
    }
}
