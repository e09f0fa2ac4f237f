//! Instances ended by their handle alone (DDS 1.4 §2.2.2.4.2.7, §2.2.2.4.2.13).

use crate::error::WriteError;
use crate::writer::DataWriter;
use dunlin_cdr::TopicType;
use dunlin_core::{InstanceHandle, WallTime};
use dunlin_rtps::ChangeKind;

impl<T: TopicType> DataWriter<T> {
    fn key_of(&self, handle: InstanceHandle) -> Result<T, WriteError> {
        if !T::has_key(self.support()) {
            return Err(WriteError::NoKey);
        }
        self.key_value(handle)
    }

    /// dispose with a handle: no sample is needed.
    ///
    /// # Errors
    /// [`WriteError::UnknownInstance`]; else as [`DataWriter::dispose`].
    pub fn dispose_handle(&self, handle: InstanceHandle) -> Result<(), WriteError> {
        self.end_instance(ChangeKind::Disposed, &self.key_of(handle)?, None)
    }

    /// dispose_w_timestamp with a handle.
    ///
    /// # Errors
    /// As [`DataWriter::dispose_handle`] and [`DataWriter::write_w_timestamp`].
    pub fn dispose_handle_w_timestamp(&self, handle: InstanceHandle, at: WallTime) -> Result<(), WriteError> {
        self.end_instance(ChangeKind::Disposed, &self.key_of(handle)?, Some(at))
    }

    /// unregister_instance with a handle.
    ///
    /// # Errors
    /// [`WriteError::UnknownInstance`]; else as [`DataWriter::unregister_instance`].
    pub fn unregister_handle(&self, handle: InstanceHandle) -> Result<(), WriteError> {
        self.unregister(&self.key_of(handle)?, None)
    }

    /// unregister_instance_w_timestamp with a handle.
    ///
    /// # Errors
    /// As [`DataWriter::unregister_handle`] and [`DataWriter::write_w_timestamp`].
    pub fn unregister_handle_w_timestamp(
        &self,
        handle: InstanceHandle,
        at: WallTime,
    ) -> Result<(), WriteError> {
        self.unregister(&self.key_of(handle)?, Some(at))
    }
}
