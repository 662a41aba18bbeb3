//! The gzip side: joined members are read on, NUL padding is passed over, anything else at the end
//! is a fault.

use super::{Trouble, stream_error};
use flate2::bufread::GzDecoder;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use superfluid_core::install::archive::Budget;

/// The decompressed stream of a file, counted against a budget.
pub(super) struct Gunzip {
    /// The gzip member being read; `None` at the end.
    member: Option<GzDecoder<BufReader<File>>>,
    pub(super) budget: Budget,
}

impl Gunzip {
    pub(super) fn new(file: File, budget: Budget) -> Result<Self, Trouble> {
        let mut file = BufReader::with_capacity(128 << 10, file);
        let start = file.fill_buf().map_err(|error| stream_error(&error))?;
        if !start.starts_with(&[0x1f, 0x8b]) {
            return Err(Trouble::Bad("this is not a gzip-compressed tar archive (.tar.gz, .tgz)".into()));
        }
        Ok(Self { member: Some(GzDecoder::new(file)), budget })
    }

    /// Fills what it can of `buffer`; 0 at the true end alone.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        loop {
            let Some(decoder) = &mut self.member else { return Ok(0) };
            let count = decoder.read(buffer).map_err(|error| stream_error(&error))?;
            if count > 0 || buffer.is_empty() {
                self.budget.unpacked(count as u64)?;
                return Ok(count);
            }
            self.next_member()?;
        }
    }

    /// Fills all of `buffer`, or says that the archive ends early.
    pub(super) fn read_exact(&mut self, buffer: &mut [u8]) -> Result<(), Trouble> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read(&mut buffer[filled..])? {
                0 => return Err(Trouble::Bad("the archive ends early".into())),
                count => filled += count,
            }
        }
        Ok(())
    }

    /// The member's checksum was right: on to what follows it.
    fn next_member(&mut self) -> Result<(), Trouble> {
        let Some(decoder) = self.member.take() else { return Ok(()) };
        let mut file = decoder.into_inner();
        let mut padded = false;
        loop {
            let rest = file.fill_buf().map_err(|error| stream_error(&error))?;
            if rest.is_empty() {
                return Ok(());
            }
            if !padded && rest[0] == 0x1f {
                self.member = Some(GzDecoder::new(file));
                return Ok(());
            }
            if rest.iter().any(|byte| *byte != 0) {
                return Err(Trouble::Bad("the archive has other bytes after its end".into()));
            }
            padded = true;
            let length = rest.len();
            file.consume(length);
        }
    }
}
