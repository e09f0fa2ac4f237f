//! What another process of the same user can do to the files of shared memory.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use crate::field::Field;

fn files(field: &Field) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(field.folder())?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().map(|entry| entry.path()).collect())
}

/// 20,000 files that nobody knows, with names like those of the pair.
pub(super) fn foreign_files(field: &mut Field) -> Result<()> {
    let model = files(field)?.first().and_then(|path| path.file_name()?.to_str().map(str::to_owned));
    let model = model.unwrap_or_else(|| "0000000000000000".into());
    for n in 0..20_000_u64 {
        if field.is_over() {
            break;
        }
        let mut name = model.clone().into_bytes();
        let digits = format!("{n:016x}");
        for (octet, digit) in name.iter_mut().rev().zip(digits.bytes().rev()).take(5) {
            *octet = digit;
        }
        let path = field.folder().join(String::from_utf8_lossy(&name).as_ref());
        // What the pair has is left alone.
        if let Ok(mut file) = File::create_new(path) {
            file.write_all(&[7; 64])?;
            field.count(64);
        }
    }
    field.rest(field.left());
    Ok(())
}

/// All files of the folder are deleted, again and again.
pub(super) fn files_are_deleted(field: &mut Field) -> Result<()> {
    field.again(Duration::from_millis(50), |field, _| {
        for file in files(field)? {
            _ = fs::remove_file(file);
        }
        Ok(())
    })
}

fn cut(field: &Field, len: u64) -> Result<()> {
    for file in files(field)? {
        if let Ok(file) = OpenOptions::new().write(true).open(file) {
            _ = file.set_len(len);
        }
    }
    Ok(())
}

/// All files that the pair has mapped are cut to nothing.
pub(super) fn files_are_cut(field: &mut Field) -> Result<()> {
    cut(field, 0)?;
    field.rest(field.left());
    Ok(())
}

/// All files are cut again and again, to other lengths each time: some lose a part alone, and all that is made anew is cut too.
pub(super) fn files_are_cut_often(field: &mut Field) -> Result<()> {
    field.again(Duration::from_millis(50), |field, round| cut(field, (round * 12_345) % 1_000_000))
}
