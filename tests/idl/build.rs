//! Makes the code of the types under `idl/`.

fn main() {
    let build =
        dunlin_idl::build::Build::new().include("idl/common").rust(|rust| rust.cdr = "::dunlin_cdr".into());
    for name in ["kinds", "evolution", "names", "recursive", "video"] {
        build.compile(format!("idl/{name}.idl"));
    }
    build.compile("idl/station.xml");
}
