//! The table of tensors, each of which must lie inside the file.

use super::GgufError;
use super::reader::{Reader, Stop};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// One tensor's place in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Its name.
    pub name: String,
    /// Its sizes, fastest first; one to four.
    pub shape: Vec<u64>,
    /// Its type's number in ggml.
    pub kind: u32,
    /// Where its data starts, from the start of all data.
    pub offset: u64,
    /// Bytes of its data; `None` for a type this build does not know.
    pub bytes: Option<u64>,
}

pub(super) fn info(reader: &mut Reader<'_>, alignment: u64) -> Result<Tensor, Stop> {
    let name = reader.string("a tensor's name")?;
    if name.len() > 1024 {
        return Err(reader.broken(format!("a tensor's name of {} bytes", name.len())));
    }
    let name = String::from_utf8_lossy(name).into_owned();
    let dimensions = reader.u32(&name)?;
    if !(1..=4).contains(&dimensions) {
        return Err(reader.broken(format!("tensor {name:?} has {dimensions} dimensions")));
    }
    let mut shape = Vec::new();
    for _ in 0..dimensions {
        shape.push(reader.u64(&name)?);
    }
    let kind = reader.u32(&name)?;
    let offset = reader.u64(&name)?;
    if offset % alignment != 0 {
        return Err(
            reader.broken(format!("tensor {name:?} starts at {offset}, off the alignment {alignment}"))
        );
    }
    let bytes =
        match block(kind) {
            None => None,
            Some((items, size)) => Some(bytes(&shape, items, size).ok_or_else(|| {
                reader.broken(format!("tensor {name:?} has the impossible shape {shape:?}"))
            })?),
        };
    Ok(Tensor { name, shape, kind, offset, bytes })
}

/// Fails at the tensor, first in the file's data, that the file does not hold whole.
pub(super) fn inside(tensors: &[Tensor], data_start: u64, file_len: u64) -> Result<(), Stop> {
    let ends = tensors.iter().map(|tensor| {
        let data = data_start.saturating_add(tensor.offset);
        (data.saturating_add(tensor.bytes.unwrap_or(1)), tensor)
    });
    match ends.filter(|(end, _)| *end > file_len).min_by_key(|(end, _)| *end) {
        None => Ok(()),
        Some((needed, tensor)) => {
            Err(Stop::Error(GgufError::DataCut { tensor: tensor.name.clone(), needed, present: file_len }))
        }
    }
}

fn bytes(shape: &[u64], items: u64, size: u64) -> Option<u64> {
    let row = shape.first()?;
    let count = shape.iter().try_fold(1_u64, |count, &next| count.checked_mul(next))?;
    (row % items == 0).then_some(())?;
    (count / items).checked_mul(size)
}

/// Items and bytes of one block of a type, by its number in ggml.
const fn block(kind: u32) -> Option<(u64, u64)> {
    Some(match kind {
        0 | 26 => (1, 4),
        1 | 25 | 30 => (1, 2),
        24 => (1, 1),
        27 | 28 => (1, 8),
        2 | 20 => (32, 18),
        3 => (32, 20),
        6 => (32, 22),
        7 => (32, 24),
        8 => (32, 34),
        9 => (32, 36),
        39 => (32, 17),
        40 => (64, 36),
        41 => (128, 18),
        42 => (64, 18),
        10 => (256, 84),
        11 | 21 => (256, 110),
        12 => (256, 144),
        13 => (256, 176),
        14 => (256, 210),
        15 => (256, 292),
        16 | 35 => (256, 66),
        17 => (256, 74),
        18 => (256, 98),
        19 => (256, 50),
        22 => (256, 82),
        23 => (256, 136),
        29 => (256, 56),
        34 => (256, 54),
        _ => return None,
    })
}
