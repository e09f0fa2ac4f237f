//! The configuration schema: file, environment and code.
