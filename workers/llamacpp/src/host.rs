//! What the machine offers this process: memory and cores.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

/// Bytes a process can still take without anything being swapped or killed, where the system tells.
pub(crate) fn memory_available() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok()?;
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Threads to compute with: `SUPERFLUID_LLAMA_THREADS`, else one a physical core. Two threads of
/// one core share the units that matrix products keep busy; the second only gets in the way.
pub(crate) fn threads() -> u32 {
    let asked = std::env::var("SUPERFLUID_LLAMA_THREADS").ok().and_then(|text| text.trim().parse().ok());
    let allowed = std::thread::available_parallelism()
        .map_or(1, |count| u32::try_from(count.get()).unwrap_or(u32::MAX));
    asked
        .filter(|count| (1..=1024).contains(count))
        .unwrap_or_else(|| physical_cores().map_or(allowed, |cores| cores.min(allowed)))
}

/// Processor time of the whole process so far.
pub(crate) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn physical_cores() -> Option<u32> {
    let mut cores = BTreeSet::new();
    for entry in fs::read_dir("/sys/devices/system/cpu").ok()?.filter_map(Result::ok) {
        let topology = entry.path().join("topology");
        let read = |file: &str| fs::read_to_string(topology.join(file)).ok()?.trim().parse::<u32>().ok();
        if let (Some(package), Some(core)) = (read("physical_package_id"), read("core_id")) {
            cores.insert((package, core));
        }
    }
    u32::try_from(cores.len()).ok().filter(|count| *count > 0)
}
