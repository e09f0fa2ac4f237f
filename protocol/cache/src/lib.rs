//! Writer and reader histories: instances, states, limits, ownership, timing.
