//! Instances ended by their handle alone (DDS 1.4 §2.2.2.4.2.7, §2.2.2.4.2.13).

use dunlin_cdr::TopicType;
use dunlin_core::{InstanceHandle, WallTime};
use dunlin_rtps::ChangeKind;

use crate::error::WriteError;
use crate::write_params::WriteParams;
use crate::writer::{DataWriter, at};

impl<T: TopicType> DataWriter<T> {
    /// dispose with a handle: no sample is needed.
    ///
    /// # Errors
    /// [`WriteError::UnknownInstance`]; else as [`DataWriter::dispose`].
    pub fn dispose_handle(&self, handle: InstanceHandle) -> Result<(), WriteError> {
        self.core().end_by_handle(ChangeKind::Disposed, handle, &WriteParams::default()).map(drop)
    }

    /// dispose_w_timestamp with a handle.
    ///
    /// # Errors
    /// As [`DataWriter::dispose_handle`] and [`DataWriter::write_w_timestamp`].
    pub fn dispose_handle_w_timestamp(
        &self,
        handle: InstanceHandle,
        when: WallTime,
    ) -> Result<(), WriteError> {
        self.core().end_by_handle(ChangeKind::Disposed, handle, &at(when)).map(drop)
    }

    /// unregister_instance with a handle.
    ///
    /// # Errors
    /// [`WriteError::UnknownInstance`]; else as [`DataWriter::unregister_instance`].
    pub fn unregister_handle(&self, handle: InstanceHandle) -> Result<(), WriteError> {
        self.core().end_by_handle(self.core().unregistration(), handle, &WriteParams::default()).map(drop)
    }

    /// unregister_instance_w_timestamp with a handle.
    ///
    /// # Errors
    /// As [`DataWriter::unregister_handle`] and [`DataWriter::write_w_timestamp`].
    pub fn unregister_handle_w_timestamp(
        &self,
        handle: InstanceHandle,
        when: WallTime,
    ) -> Result<(), WriteError> {
        self.core().end_by_handle(self.core().unregistration(), handle, &at(when)).map(drop)
    }
}
