//! The writer of one camera.

use anyhow::{Context, Result};
use dunlin::qos::{DataRepresentationId, DataWriterQos, PublisherQos, ResourceLimits};
use dunlin::{DataWriter, DataWriterListener, MatchedStatus, StatusMask, WriteError};
use dunlin_program::Stop;

use super::{CAMERA, VideoFrame, join};
use crate::frame::Frame;
use crate::publish::{FrameSink, WriterSettings};
use crate::source::KeyRequest;

/// How long one attempt to write waits for viewers; then the wish to stop is looked at.
const WRITE_LOOK: dunlin::Duration = dunlin::Duration::from_millis(200);
/// How long a publisher waits in the end for viewers that have not got everything.
const DRAIN: dunlin::Duration = dunlin::Duration::from_secs(2);

/// Writes the frames of one camera.
pub struct FrameWriter {
    writer: DataWriter<VideoFrame>,
    sample: VideoFrame,
    reliable: bool,
    stop: Stop,
}

/// Asks the encoder for a key frame when a viewer has come.
struct NewViewers(KeyRequest);

impl DataWriterListener<VideoFrame> for NewViewers {
    fn on_publication_matched(&self, _writer: &DataWriter<VideoFrame>, status: MatchedStatus) {
        if status.current_count_change > 0 {
            self.0.for_new_viewer();
        }
    }
}

fn writer_qos(settings: &WriterSettings) -> DataWriterQos {
    let depth = i32::try_from(settings.depth).unwrap_or(i32::MAX);
    // XCDR1 is what every other vendor reads; the type has the same layout in XCDR2.
    let mut qos = DataWriterQos::default()
        .representation(&[DataRepresentationId::Xcdr1])
        .max_blocking_time(WRITE_LOOK)
        .user_data([CAMERA, settings.camera_id.as_bytes()].concat());
    qos = if settings.reliable { qos.reliable() } else { qos.best_effort() };
    qos = if settings.transient_local { qos.transient_local() } else { qos.volatile() };
    if settings.keep_all {
        let limits = ResourceLimits { max_samples: depth, ..ResourceLimits::default() };
        DataWriterQos { resource_limits: limits, ..qos.keep_all() }
    } else {
        qos.keep_last(depth)
    }
}

impl FrameWriter {
    /// Joins the domain and makes the writer.
    ///
    /// # Errors
    /// When the domain cannot be joined or the QoS is not possible.
    pub fn create(settings: &WriterSettings, keys: KeyRequest, stop: Stop) -> Result<Self> {
        let (participant, topic) = join(settings.domain, &settings.topic, "dunlin-video publish")?;
        let publisher = participant.create_publisher(&PublisherQos::default())?;
        let writer = publisher
            .create_datawriter(&topic, &writer_qos(settings))
            .context("cannot make the writer of the camera")?;
        writer.set_listener(NewViewers(keys.clone()), StatusMask::PUBLICATION_MATCHED);
        if !writer.matched_subscriptions().is_empty() {
            // They came before there was a listener.
            keys.for_new_viewer();
        }
        Ok(Self { writer, sample: VideoFrame::default(), reliable: settings.reliable, stop })
    }

    fn write_sample(&self) -> Result<()> {
        loop {
            match self.writer.write(&self.sample) {
                Ok(()) => return Ok(()),
                // A slow viewer holds up a writer that keeps everything; the wish to stop does not wait for it.
                Err(WriteError::Timeout(_)) if !self.stop.is_set() => {}
                Err(WriteError::Timeout(_)) => return Ok(()),
                Err(error) => return Err(error).context("cannot write a frame"),
            }
        }
    }
}

impl FrameSink for FrameWriter {
    fn write(&mut self, frame: &mut Frame) -> Result<()> {
        self.sample.swap(frame);
        let result = self.write_sample();
        self.sample.swap(frame);
        result
    }

    fn viewers(&self) -> usize {
        self.writer.matched_subscriptions().len()
    }

    fn finish(&mut self) -> Result<()> {
        if self.reliable && self.writer.wait_for_acknowledgments(DRAIN).is_err() {
            dunlin_program::tell!("some viewers have not acknowledged everything within {DRAIN}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dunlin::qos::DurabilityKind;

    use super::*;

    #[test]
    fn the_writer_keeps_what_the_settings_say() {
        let settings = WriterSettings {
            domain: 0,
            topic: "Video".to_owned(),
            camera_id: "front".to_owned(),
            reliable: true,
            keep_all: false,
            depth: 132,
            transient_local: true,
        };
        let qos = writer_qos(&settings);
        assert_eq!((qos.history.depth, qos.durability.kind), (132, DurabilityKind::TransientLocal));
        assert_eq!(qos.user_data.0, b"camera=front");
        let qos = writer_qos(&WriterSettings { keep_all: true, depth: 2, ..settings });
        assert_eq!(qos.resource_limits.max_samples, 2);
        assert!(qos.check_consistency().is_ok());
    }
}
