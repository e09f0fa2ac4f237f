//! Entities whose type is not known where they are handed over: to listeners of publishers, subscribers and participants.

use crate::reader::DataReader;
use crate::reader_inner::ReaderInner;
use crate::status::StatusMask;
use crate::topic::{Topic, TopicInner};
use crate::writer::DataWriter;
use crate::writer_inner::WriterInner;
use dunlin_cdr::TopicType;
use dunlin_core::{Guid, InstanceHandle};
use std::fmt;
use std::sync::Arc;

macro_rules! any {
    ($(#[$doc:meta])* $any:ident, $core:ident, $typed:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $any(pub(crate) Arc<$core>);

        impl $any {
            /// Name of the topic.
            #[must_use]
            pub fn topic_name(&self) -> &str {
                &self.0.topic.name
            }

            /// Name of the type.
            #[must_use]
            pub fn type_name(&self) -> &str {
                &self.0.topic.type_name
            }

            /// The GUID on the wire; `None` while it is disabled.
            #[must_use]
            pub fn guid(&self) -> Option<Guid> {
                self.0.slot().map(|slot| slot.guid())
            }

            /// get_instance_handle; [`InstanceHandle::NIL`] while it is disabled.
            #[must_use]
            pub fn instance_handle(&self) -> InstanceHandle {
                self.guid().map(InstanceHandle::from).unwrap_or_default()
            }

            /// get_status_changes.
            #[must_use]
            pub fn status_changes(&self) -> StatusMask {
                self.0.changes()
            }

            /// The same with its type, if that is `T`.
            #[must_use]
            pub fn typed<T: TopicType>(&self) -> Option<$typed<T>> {
                self.0.topic.has_samples::<T>().then(|| $typed::from_core(Arc::clone(&self.0)))
            }
        }

        impl fmt::Debug for $any {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($typed), "('{}', {:?})"), self.topic_name(), self.0.id())
            }
        }

        impl<T: TopicType> From<&$typed<T>> for $any {
            fn from(typed: &$typed<T>) -> Self {
                Self(Arc::clone(typed.core()))
            }
        }

        impl PartialEq for $any {
            fn eq(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }
        }

        impl Eq for $any {}
    };
}

any! {
    /// A data writer of any type. Cheap to clone; keeps the writer alive.
    AnyDataWriter, WriterInner, DataWriter
}

any! {
    /// A data reader of any type. Cheap to clone; keeps the reader alive.
    AnyDataReader, ReaderInner, DataReader
}

impl sealed::Core for AnyDataWriter {
    fn local(&self) -> sealed::Local {
        sealed::Local::Writer(Arc::clone(&self.0))
    }
}

impl sealed::Core for AnyDataReader {
    fn local(&self) -> sealed::Local {
        sealed::Local::Reader(Arc::clone(&self.0))
    }
}

impl LocalEndpoint for AnyDataWriter {}
impl LocalEndpoint for AnyDataReader {}

/// A topic of any type. Cheap to clone; keeps the topic alive.
#[derive(Clone)]
pub struct AnyTopic(pub(crate) Arc<TopicInner>);

impl AnyTopic {
    /// get_name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// get_type_name.
    #[must_use]
    pub fn type_name(&self) -> &str {
        &self.0.type_name
    }

    /// get_instance_handle.
    #[must_use]
    pub fn instance_handle(&self) -> InstanceHandle {
        self.0.entity.handle
    }

    /// The same with its type, if that is `T`.
    #[must_use]
    pub fn typed<T: TopicType>(&self) -> Option<Topic<T>> {
        self.0.has_samples::<T>().then(|| Topic::new(Arc::clone(&self.0)))
    }
}

impl fmt::Debug for AnyTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic('{}', {})", self.name(), self.type_name())
    }
}

/// A writer or reader of this process, for [`DomainParticipant::explain`](crate::DomainParticipant::explain).
pub trait LocalEndpoint: sealed::Core {}

impl<T: TopicType> LocalEndpoint for DataWriter<T> {}
impl<T: TopicType> LocalEndpoint for DataReader<T> {}

pub(crate) mod sealed {
    use super::*;

    /// An endpoint without the type of its samples.
    pub enum Local {
        /// A writer.
        #[doc(hidden)]
        Writer(#[allow(private_interfaces, reason = "the module is private")] Arc<WriterInner>),
        /// A reader.
        #[doc(hidden)]
        Reader(#[allow(private_interfaces, reason = "the module is private")] Arc<ReaderInner>),
    }

    pub trait Core {
        #[doc(hidden)]
        fn local(&self) -> Local;
    }

    impl<T: TopicType> Core for DataWriter<T> {
        fn local(&self) -> Local {
            Local::Writer(Arc::clone(self.core()))
        }
    }

    impl<T: TopicType> Core for DataReader<T> {
        fn local(&self) -> Local {
            Local::Reader(Arc::clone(self.core()))
        }
    }
}
