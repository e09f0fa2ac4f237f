//! RTPS writers and readers as state machines without input or output.
