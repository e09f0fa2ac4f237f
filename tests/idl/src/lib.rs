//! Code made from the IDL and XML under `idl/` by `build.rs`.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

/// One of every kind of type.
pub mod kinds {
    include!(concat!(env!("OUT_DIR"), "/kinds.rs"));
}

/// Two versions of types.
pub mod evolution {
    include!(concat!(env!("OUT_DIR"), "/evolution.rs"));
}

/// Names that are special in Rust.
pub mod names {
    include!(concat!(env!("OUT_DIR"), "/names.rs"));
}

/// Types that contain themselves.
pub mod recursive {
    include!(concat!(env!("OUT_DIR"), "/recursive.rs"));
}

/// The type of the video program.
pub mod video {
    include!(concat!(env!("OUT_DIR"), "/video.rs"));
}

/// What becomes of values that do not fit, and names of typedefs.
pub mod tried {
    include!(concat!(env!("OUT_DIR"), "/tried.rs"));
}

/// Annotations that the source declares itself.
pub mod annotated {
    include!(concat!(env!("OUT_DIR"), "/annotated.rs"));
}

/// The types that are compared with Cyclone DDS's, which are final unless they say otherwise.
pub mod cyclone {
    include!(concat!(env!("OUT_DIR"), "/final.rs"));
}

/// The same, which are appendable unless they say otherwise.
pub mod cyclone_appendable {
    include!(concat!(env!("OUT_DIR"), "/appendable.rs"));
}

/// Types in XML.
pub mod station {
    include!(concat!(env!("OUT_DIR"), "/station.rs"));
}
