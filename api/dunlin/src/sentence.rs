//! Errors whose `Debug` is their sentence: that is what a `main` that returns them prints.

/// `Debug` is the sentence.
macro_rules! debug_is_sentence {
    ($($type:ty),+ $(,)?) => {$(
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+};
}

pub(crate) use debug_is_sentence;
