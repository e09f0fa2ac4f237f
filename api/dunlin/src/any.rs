//! Entities whose type is not known where they are handed over: to listeners of publishers, subscribers and participants.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use dunlin_cdr::TopicType;
use dunlin_core::InstanceHandle;

use crate::reader::{DataReader, ReadCondition};
use crate::reader_inner::ReaderInner;
use crate::serialized::SerializedData;
use crate::topic::{Topic, TopicInner};
use crate::writer::DataWriter;
use crate::writer_inner::WriterInner;

macro_rules! any {
    ($(#[$doc:meta])* $any:ident, $core:ident, $typed:ident, $local:ident) => {
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $any($typed<SerializedData>);

        impl $any {
            pub(crate) fn from_core(core: Arc<$core>) -> Self {
                Self($typed::from_core(core))
            }

            /// Name of the type.
            #[must_use]
            pub fn type_name(&self) -> &str {
                &self.core().topic.type_name
            }

            /// Whether the topic has instances.
            #[must_use]
            pub fn is_keyed(&self) -> bool {
                self.core().topic.keyed
            }

            /// The topic.
            #[must_use]
            pub fn any_topic(&self) -> AnyTopic {
                AnyTopic(Arc::clone(&self.core().topic))
            }

            /// The same with the type of its samples, if that is `T`.
            #[must_use]
            pub fn typed<T: TopicType>(&self) -> Option<$typed<T>> {
                self.core().topic.has_samples::<T>().then(|| $typed::from_core(Arc::clone(self.core())))
            }
        }

        impl Deref for $any {
            type Target = $typed<SerializedData>;

            fn deref(&self) -> &Self::Target {
                &self.0
            }
        }

        impl fmt::Debug for $any {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl<T: TopicType> From<&$typed<T>> for $any {
            fn from(typed: &$typed<T>) -> Self {
                Self::from_core(Arc::clone(typed.core()))
            }
        }

        impl PartialEq for $any {
            fn eq(&self, other: &Self) -> bool {
                Arc::ptr_eq(self.core(), other.core())
            }
        }

        impl Eq for $any {}

        impl sealed::Core for $any {
            fn local(&self) -> sealed::Local {
                sealed::Local::$local(Arc::clone(self.core()))
            }
        }

        impl LocalEndpoint for $any {}
    };
}

any! {
    /// A data writer of any type. Cheap to clone; keeps the writer alive.
    ///
    /// It can do whatever [`DataWriter`] can, with samples that are octets: see [`SerializedData`], and
    /// [`loan_payload`](DataWriter::loan_payload) for memory to fill that readers of the host share. What services and bindings of
    /// other languages use; code that knows the type takes [`typed`](Self::typed).
    AnyDataWriter, WriterInner, DataWriter, Writer
}

any! {
    /// A data reader of any type. Cheap to clone; keeps the reader alive.
    ///
    /// It can do whatever [`DataReader`] can, with samples that are octets: see [`SerializedData`]. What was lent is taken without a
    /// copy, see [`take_payloads`](DataReader::take_payloads). What services and bindings of other languages use; code that knows the type takes [`typed`](Self::typed).
    AnyDataReader, ReaderInner, DataReader, Reader
}

impl ReadCondition {
    /// get_datareader; `None` once its last handle is gone.
    #[must_use]
    pub fn datareader(&self) -> Option<AnyDataReader> {
        self.reader().map(AnyDataReader::from_core)
    }
}

/// A topic of any type: what listeners are handed, and what tools use that do not know the type.
/// [`typed`](AnyTopic::typed) gives it
/// back with its type. Cheap to clone; keeps the topic alive.
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

    /// The same for writers and readers whose samples stay serialized: see [`Topic::serialized`].
    #[must_use]
    pub fn serialized(&self) -> Topic<SerializedData> {
        Topic::new(Arc::clone(&self.0))
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
