//! The tar side: one member after the other, extension headers applied, to the very end.

use super::Trouble;
use super::gzip::Gunzip;
use std::fs::File;
use superfluid_core::install::archive::{Budget, Limits, Member, RawMember};

const BLOCK: usize = 512;

/// Everything in the archive. Writes nothing.
pub(crate) fn survey(file: File, limits: Limits) -> Result<Vec<Member>, Trouble> {
    let mut members = Vec::new();
    let mut walk = Walk::new(file, limits)?;
    while let Some(member) = walk.next_member()? {
        members.push(member);
    }
    Ok(members)
}

/// A walk over an archive's members.
pub(super) struct Walk {
    stream: Gunzip,
    /// Bytes of the present member's data not read yet, and the padding after them.
    left: u64,
    padding: u64,
}

/// What extension headers say about the member after them.
#[derive(Default)]
struct Extended {
    name: Option<Vec<u8>>,
    link: Option<Vec<u8>>,
    size: Option<u64>,
}

impl Walk {
    pub(super) fn new(file: File, limits: Limits) -> Result<Self, Trouble> {
        Ok(Self { stream: Gunzip::new(file, Budget::new(limits))?, left: 0, padding: 0 })
    }

    /// The next member, what is left of the one before passed over. `None` once the archive has
    /// ended as it must.
    pub(super) fn next_member(&mut self) -> Result<Option<Member>, Trouble> {
        let mut extended = Extended::default();
        loop {
            self.skip()?;
            let Some(header) = self.header()? else {
                if extended.name.is_some() || extended.link.is_some() || extended.size.is_some() {
                    return Err(Trouble::Bad("the archive ends after an extension header".into()));
                }
                return Ok(None);
            };
            let size = header.entry_size().map_err(|_| bad_header())?;
            match header.as_bytes()[156] {
                b'x' => pax(&self.text(size)?, &mut extended)?,
                b'L' => extended.name = Some(trimmed(self.text(size)?)),
                b'K' => extended.link = Some(trimmed(self.text(size)?)),
                b'g' => {
                    let mut global = Extended::default();
                    pax(&self.text(size)?, &mut global)?;
                    if global.name.is_some() || global.link.is_some() || global.size.is_some() {
                        return Err(Trouble::Bad("a global header of the archive names a path".into()));
                    }
                }
                flag => return self.member(&header, flag, size, extended).map(Some),
            }
        }
    }

    /// Some of the present member's data; 0 at its end.
    pub(super) fn data(&mut self, buffer: &mut [u8]) -> Result<usize, Trouble> {
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        if most == 0 {
            return Ok(0);
        }
        match self.stream.read(&mut buffer[..most])? {
            0 => Err(Trouble::Bad("the archive ends in the middle of a member".into())),
            count => {
                self.left -= count as u64;
                Ok(count)
            }
        }
    }

    fn member(
        &mut self,
        header: &tar::Header,
        flag: u8,
        size: u64,
        extended: Extended,
    ) -> Result<Member, Trouble> {
        self.stream.budget.member()?;
        let size = extended.size.unwrap_or(size);
        let name = extended.name.unwrap_or_else(|| header.path_bytes().into_owned());
        let link = extended.link.or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned));
        let link = link.unwrap_or_default();
        // Old archives give links and folders a size that stands for no data; we take no such one.
        let mode = header.mode().map_err(|_| bad_header())?;
        let member = Member::read(RawMember { name: &name, link: &link, flag, mode, size })?;
        self.expect_data(size);
        Ok(member)
    }

    fn expect_data(&mut self, size: u64) {
        self.left = size;
        self.padding = size.wrapping_neg() % BLOCK as u64;
    }

    /// An extension header's text, bounded.
    fn text(&mut self, size: u64) -> Result<Vec<u8>, Trouble> {
        self.stream.budget.header(size)?;
        self.expect_data(size);
        let length = usize::try_from(size).map_err(|_| bad_header())?;
        let mut text = vec![0; length];
        self.stream.read_exact(&mut text)?;
        self.left = 0;
        Ok(text)
    }

    fn skip(&mut self) -> Result<(), Trouble> {
        let mut buffer = vec![0; 32 << 10];
        self.left += std::mem::take(&mut self.padding);
        while self.data(&mut buffer)? > 0 {}
        Ok(())
    }

    /// The next header; `None` at the end, after which there is nothing but NUL.
    fn header(&mut self) -> Result<Option<tar::Header>, Trouble> {
        let mut header = tar::Header::new_old();
        self.block(header.as_mut_bytes())?;
        if header.as_bytes().iter().any(|byte| *byte != 0) {
            let sum: u32 = (header.as_bytes().iter().enumerate())
                .map(|(at, byte)| u32::from(if (148..156).contains(&at) { b' ' } else { *byte }))
                .sum();
            if header.cksum().ok() != Some(sum) {
                return Err(bad_header());
            }
            return Ok(Some(header));
        }
        self.block(header.as_mut_bytes())?;
        let mut rest = vec![0; 32 << 10];
        let mut seen: &[u8] = header.as_bytes();
        loop {
            if seen.iter().any(|byte| *byte != 0) {
                return Err(Trouble::Bad("the archive has other bytes after its end".into()));
            }
            match self.stream.read(&mut rest)? {
                0 => return Ok(None),
                count => seen = &rest[..count],
            }
        }
    }

    fn block(&mut self, block: &mut [u8; BLOCK]) -> Result<(), Trouble> {
        self.stream.read_exact(block).map_err(|trouble| match trouble {
            Trouble::Bad(what) if what == "the archive ends early" => {
                Trouble::Bad("the archive ends early: its end mark is missing".into())
            }
            other => other,
        })
    }
}

/// A PAX header's records, of which three matter.
fn pax(text: &[u8], extended: &mut Extended) -> Result<(), Trouble> {
    for record in tar::PaxExtensions::new(text) {
        let record = record.map_err(|_| bad_header())?;
        let value = record.value_bytes();
        match record.key_bytes() {
            b"path" => extended.name = Some(value.to_vec()),
            b"linkpath" => extended.link = Some(value.to_vec()),
            b"size" => {
                let size = std::str::from_utf8(value).ok().and_then(|value| value.parse().ok());
                extended.size = Some(size.ok_or_else(bad_header)?);
            }
            key if key.starts_with(b"GNU.sparse.") => {
                return Err(Trouble::Bad("the archive holds a sparse file".into()));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A long name's text ends at its first NUL.
fn trimmed(mut text: Vec<u8>) -> Vec<u8> {
    if text.last() == Some(&0) {
        text.pop();
    }
    text
}

fn bad_header() -> Trouble {
    Trouble::Bad("the archive is damaged: a member's header makes no sense".into())
}
