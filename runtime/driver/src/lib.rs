//! Threads, clock, timers and event dispatch for an engine over transports.
