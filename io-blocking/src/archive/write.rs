//! An archive's files, written where core said they go.

use super::Trouble;
use super::walk::Walk;
use crate::files::Dir;
use std::fs::File;
use std::io::Write;
use superfluid_core::install::archive::{Kind, Limits, Placement};

/// Writes the placed members below `into`, each a new file.
pub(crate) fn unpack(file: File, limits: Limits, into: &Dir, files: &[Placement]) -> Result<(), Trouble> {
    let mut walk = Walk::new(file, limits)?;
    let mut wanted = files.iter().peekable();
    let mut buffer = vec![0; 256 << 10];
    let mut number = 0;
    while let Some(member) = walk.next_member()? {
        if let Some(placement) = wanted.next_if(|placement| placement.member == number) {
            if !matches!(member.kind, Kind::File { .. }) || member.size != placement.size {
                return Err(changed());
            }
            write(&mut walk, into, placement, &mut buffer)?;
        }
        number += 1;
    }
    if wanted.next().is_some() { Err(changed()) } else { Ok(()) }
}

fn write(walk: &mut Walk, into: &Dir, placement: &Placement, buffer: &mut [u8]) -> Result<(), Trouble> {
    let io = |error| Trouble::Io(format!("cannot write {}", into.show(&placement.path)), error);
    let mut out = into.create(&placement.path, placement.executable).map_err(io)?;
    loop {
        match walk.data(buffer)? {
            0 => return Ok(()),
            count => out.write_all(&buffer[..count]).map_err(io)?,
        }
    }
}

fn changed() -> Trouble {
    Trouble::Bad("the archive changed while it was read".into())
}
