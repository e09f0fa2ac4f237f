//! Makes the code of the types under `idl/`.

use dunlin_idl::{Extensibility, Options};

fn main() {
    let build =
        dunlin_idl::build::Build::new().include("idl/common").rust(|rust| rust.cdr = "::dunlin_cdr".into());
    for name in ["kinds", "evolution", "names", "recursive", "video", "tried", "annotated"] {
        build.compile(format!("idl/{name}.idl"));
    }
    // The types that are compared with Cyclone DDS's.
    let cyclone = "../../protocol/xtypes/tests/cyclone";
    let is_final = |options: &mut Options| options.default_extensibility = Extensibility::Final;
    build.clone().options(is_final).compile(format!("{cyclone}/final.idl"));
    build.compile(format!("{cyclone}/appendable.idl"));
    build.compile("idl/station.xml");
}
