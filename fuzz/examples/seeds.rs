//! Writes the seeds to `seeds/<target>/`, where fuzzing and the tests look for them.

use std::path::Path;
use std::{fs, io};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds");
    for seed in dunlin_fuzz::seeds::all() {
        let folder = root.join(&seed.target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(&seed.name), &seed.bytes)?;
    }
    Ok(())
}
